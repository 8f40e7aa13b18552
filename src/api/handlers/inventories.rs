//! `/resource_providers/{uuid}/inventories`

use super::resource_providers::read_body_of_provider;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::{Error, Result};
use crate::model::inventories::{self, Clear, Inventories, Remove};
use crate::wire::inventories as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid");
    let found = context.provider_reader().inventories(uuid).await?;
    list_reply(&context, found, None).await
}

pub async fn replace(mut context: RequestContext) -> Result<Reply> {
    let (replace, raw) = read_body_of_provider(&mut context, wire::read_replace).await?;
    list_reply(&context, context.submit(replace).await?, Some(raw)).await
}

pub async fn add(mut context: RequestContext) -> Result<Reply> {
    let (add, raw) = read_body_of_provider(&mut context, wire::read_add).await?;
    let url = context.location(&format!(
        "/resource_providers/{}/inventories/{}",
        add.provider, add.class
    ));
    let added = context.submit(add).await?;
    Ok(inventory_reply(&added, Some(&raw))?.created_at(url))
}

pub async fn clear(context: RequestContext) -> Result<Reply> {
    let provider = context.field("uuid");
    context.submit(Clear { provider }).await?;
    Ok(Reply::no_content())
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    let (uuid, class) = (context.field("uuid"), context.field("resource_class"));
    let found = inventories::fetch(context.reader(), uuid, class).await?;
    inventory_reply(&found, None)
}

pub async fn update(mut context: RequestContext) -> Result<Reply> {
    let class = context.field("resource_class");
    let read = move |version, uuid: &str, body: &[u8]| wire::read_update(version, uuid, &class, body);
    let (update, raw) = read_body_of_provider(&mut context, read).await?;
    inventory_reply(&context.submit(update).await?, Some(&raw))
}

pub async fn remove(context: RequestContext) -> Result<Reply> {
    let (provider, class) = (context.field("uuid"), context.field("resource_class"));
    context.submit(Remove { provider, class }).await?;
    Ok(Reply::no_content())
}

/// A reply with all inventories. It has a time of modification only if there are inventories.
async fn list_reply(context: &RequestContext, found: Inventories, raw: Option<wire::RawNumbers>) -> Result<Reply> {
    let (things, modified) = (found.inventories.len(), found.modified);
    let reply = context.write(things, move || wire::write_all(&found, raw.as_ref()));
    Ok(reply.await?.modified_if(modified))
}

/// A reply with one inventory.
fn inventory_reply(found: &Inventories, raw: Option<&wire::RawNumbers>) -> Result<Reply> {
    let body = wire::write_one(found, raw).ok_or_else(|| Error::Internal {
        detail: "an answer lacks its inventory".into(),
    });
    Ok(Reply::json(body?).modified(found.modified))
}
