//! `/resource_providers/{uuid}/aggregates`

use super::resource_providers::prefer_not_found;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::wire::aggregates as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid").to_owned();
    let found = context.provider_reader().aggregates(uuid).await?;
    let version = context.version;
    let reply = context.write(found.aggregates.len(), move || wire::write(version, &found));
    Ok(reply.await?.modified(None))
}

pub async fn replace(mut context: RequestContext) -> Result<Reply> {
    let (version, uuid) = (context.version, context.field("uuid").to_owned());
    let read = context
        .read_body(move |body| wire::read_replace(version, &uuid, body))
        .await;
    let replace = prefer_not_found(&context, read).await?;
    let found = context.model().submit(replace).await?;
    let version = context.version;
    let reply = context.write(found.aggregates.len(), move || wire::write(version, &found));
    Ok(reply.await?.modified(None))
}
