//! `/v1/domains`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::domains;
use crate::wire::domains as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let page = wire::read_list(&context.query)?;
    let (dimension, caller) = (page.dimension.clone(), context.caller_key());
    let found = domains::list(context.model(), page, &caller);
    let (found, next) = context.while_connected(found).await?;
    context
        .write_page(move || wire::write_list(&dimension, &found, next.as_deref()))
        .await
}
