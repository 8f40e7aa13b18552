//! `/usages` and `/resource_providers/{uuid}/usages`

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::model::usages;
use crate::wire::usages as wire;

pub async fn of_provider(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let found = call.model().read(move |conn| usages::of_provider(conn, &uuid)).await?;
    Ok(Reply::json(wire::write_of_provider(&found)).modified(None))
}

/// Before 1.38.
pub async fn total(call: Call) -> Result<Reply> {
    let query = wire::read_total(call.version, &call.query)?;
    let found = call.model().read(move |conn| usages::total(conn, &query)).await?;
    Ok(Reply::json(wire::write_total(&found)).modified(None))
}

/// From 1.38.
pub async fn by_type(call: Call) -> Result<Reply> {
    let (query, types) = wire::read_by_type(call.version, &call.query)?;
    let found = call.model().read(move |conn| usages::by_type(conn, &query, &types)).await?;
    Ok(Reply::json(wire::write_by_type(&found)).modified(None))
}
