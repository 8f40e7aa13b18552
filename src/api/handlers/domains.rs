//! `/v1/domains`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::domains;
use crate::wire::domains as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let page = wire::read_list(&context.query)?;
    let snapshot = context.model().snapshot().await?;
    let found = domains::of_dimension(&snapshot, &page.dimension);
    Ok(Reply::json(wire::write_list(&page, &found)))
}
