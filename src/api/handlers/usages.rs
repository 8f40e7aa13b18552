//! `/usages` and `/resource_providers/{uuid}/usages`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::usages;
use crate::wire::usages as wire;

pub async fn of_provider(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid").to_owned();
    let found = context
        .reader()
        .read(move |conn| usages::of_provider(conn, &uuid))
        .await?;
    Ok(Reply::json(wire::write_provider(&found)).modified(None))
}

/// From the version that has consumer types on, usages are grouped by them.
pub async fn total(context: RequestContext) -> Result<Reply> {
    let (query, types) = wire::read_total(context.version, &context.query)?;
    let reader = context.reader();
    let body = match types {
        None => wire::write_total(&reader.read(move |conn| usages::total(conn, &query)).await?),
        Some(types) => wire::write_by_type(&reader.read(move |conn| usages::by_type(conn, &query, &types)).await?),
    };
    Ok(Reply::json(body).modified(None))
}
