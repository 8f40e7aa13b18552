//! `/v1/consumers`

use super::workloads::visible_project;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::consumers;
use crate::policy::rules::{self, PolicyRule};
use crate::wire::consumers as wire;

/// The rules of the routes that show who uses which provider.
const PLACES: [&PolicyRule; 3] = [
    &rules::ALLOCATIONS_LIST,
    &rules::PROVIDERS_LIST,
    &rules::PROVIDER_ALLOCATIONS_LIST,
];

/// Callers who may not see all projects see their own. Places need the rules of OpenStack's routes with places.
pub async fn list(context: RequestContext) -> Result<Reply> {
    let mut filter = wire::read_list(&context.query)?;
    if filter.has_allocations || filter.provider.is_some() {
        context.authorize_parts(PLACES)?;
    }
    filter.project = visible_project(&context, &rules::CONSUMERS_LIST, filter.project)?;
    let found = consumers::fetch_list(context.model(), context.reader(), filter);
    let (found, next) = context.while_connected(found).await?;
    context
        .write_list(move |form| wire::write_list(form, &found, next.as_deref()))
        .await
}
