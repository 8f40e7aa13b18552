//! `/allocations` and `/resource_providers/{uuid}/allocations`

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::model::allocations::{self, Release};
use crate::wire::allocations as wire;

pub async fn show(call: Call) -> Result<Reply> {
    let consumer = call.field("consumer_uuid").to_owned();
    let found = call
        .reader()
        .read(move |conn| allocations::of_consumer(conn, &consumer))
        .await?;
    Ok(Reply::json(wire::write_consumer(call.version, &found)).modified(found.modified))
}

pub async fn replace(call: Call) -> Result<Reply> {
    let claim = wire::read_put(call.version, call.field("consumer_uuid"), &call.body)?;
    call.model().submit(claim).await?;
    Ok(Reply::no_content())
}

pub async fn replace_many(call: Call) -> Result<Reply> {
    let claim = wire::read_post(call.version, &call.body)?;
    call.model().submit(claim).await?;
    Ok(Reply::no_content())
}

pub async fn release(call: Call) -> Result<Reply> {
    call.model()
        .submit(Release {
            consumer: call.field("consumer_uuid").to_owned(),
        })
        .await?;
    Ok(Reply::no_content())
}

pub async fn list_of_provider(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let found = call.reader().allocations(uuid).await?;
    Ok(Reply::json(wire::write_provider(call.version, &found)).modified(found.modified))
}
