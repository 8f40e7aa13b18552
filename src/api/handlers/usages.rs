//! `/usages` and `/resource_providers/{uuid}/usages`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::usages;
use crate::wire::usages as wire;

pub async fn of_provider(context: RequestContext) -> Result<Reply> {
    let found = usages::fetch_of_provider(context.reader(), context.field("uuid")).await?;
    let reply = context.write(found.usages.len(), move || wire::write_provider(&found));
    Ok(reply.await?.modified(None))
}

/// From the version that has consumer types on, usages are grouped by them.
pub async fn total(context: RequestContext) -> Result<Reply> {
    let (query, types) = wire::read_total(context.version, &context.query)?;
    let reader = context.reader();
    let reply = match types {
        None => {
            let found = usages::fetch_total(reader, query).await?;
            context.write(found.len(), move || wire::write_total(&found)).await?
        }
        Some(types) => {
            let found = usages::fetch_by_type(reader, query, types).await?;
            context.write(found.len(), move || wire::write_by_type(&found)).await?
        }
    };
    Ok(reply.modified(None))
}
