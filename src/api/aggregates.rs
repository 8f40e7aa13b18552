//! `/resource_providers/{uuid}/aggregates`

use super::call::Call;
use super::reply::Reply;
use super::resource_providers::of_provider;
use crate::error::Result;
use crate::wire::aggregates as wire;

pub async fn list(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let found = call.reader().aggregates(uuid).await?;
    Ok(Reply::json(wire::write(call.version, &found)).modified(None))
}

pub async fn replace(call: Call) -> Result<Reply> {
    let read = wire::read_replace(call.version, call.field("uuid"), &call.body);
    let replace = of_provider(&call, read).await?;
    let found = call.model().submit(replace).await?;
    Ok(Reply::json(wire::write(call.version, &found)).modified(None))
}
