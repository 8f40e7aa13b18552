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
    let reply = context.write(found.usages.len(), move || wire::write_provider(&found));
    Ok(reply.await?.modified(None))
}

/// From the version that has consumer types on, usages are grouped by them.
pub async fn total(context: RequestContext) -> Result<Reply> {
    let (query, types) = wire::read_total(context.version, &context.query)?;
    let reader = context.reader();
    let reply = match types {
        None => {
            let found = reader.read(move |conn| usages::total(conn, &query)).await?;
            context.write(found.len(), move || wire::write_total(&found)).await?
        }
        Some(types) => {
            let found = reader.read(move |conn| usages::by_type(conn, &query, &types)).await?;
            context.write(found.len(), move || wire::write_by_type(&found)).await?
        }
    };
    Ok(reply.modified(None))
}
