//! `/v1/violations`

use super::workloads::visible_project;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::violations;
use crate::policy::rules;
use crate::wire::violations as wire;

/// Callers who may not see all projects see their own.
pub async fn list(context: RequestContext) -> Result<Reply> {
    let mut page = wire::read_list(&context.query)?;
    page.project = visible_project(&context, &rules::VIOLATIONS_LIST, page.project)?;
    let (settings, caller) = (context.settings().workload_search(), context.caller_key());
    let reader = context.reader();
    let found = violations::list(context.model(), &reader, page, &settings, &caller);
    let listed = context.while_connected(found).await?;
    context.write_page(move || wire::write_list(&listed)).await
}
