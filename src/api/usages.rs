//! `/usages` and `/resource_providers/{uuid}/usages`

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::model::usages;
use crate::wire::usages as wire;

pub async fn of_provider(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let found = call.reader().read(move |conn| usages::of_provider(conn, &uuid)).await?;
    Ok(Reply::json(wire::write_provider(&found)).modified(None))
}

/// Grouped by the types of consumers, where the version knows them.
pub async fn total(call: Call) -> Result<Reply> {
    let (query, types) = wire::read_total(call.version, &call.query)?;
    let reader = call.reader();
    let body = match types {
        None => wire::write_total(&reader.read(move |conn| usages::total(conn, &query)).await?),
        Some(types) => wire::write_by_type(&reader.read(move |conn| usages::by_type(conn, &query, &types)).await?),
    };
    Ok(Reply::json(body).modified(None))
}
