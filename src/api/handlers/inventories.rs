//! `/resource_providers/{uuid}/inventories`

use super::resource_providers::prefer_not_found;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::{Error, Result};
use crate::model::inventories::{self, Clear, Inventories, Remove};
use crate::wire::inventories as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid").to_owned();
    let found = context.provider_reader().inventories(uuid).await?;
    list_reply(&context, found, None).await
}

pub async fn replace(mut context: RequestContext) -> Result<Reply> {
    let (version, uuid) = (context.version, context.field("uuid").to_owned());
    let read = context
        .read_body(move |body| wire::read_replace(version, &uuid, body))
        .await;
    let (replace, raw) = prefer_not_found(&context, read).await?;
    list_reply(&context, context.model().submit(replace).await?, Some(raw)).await
}

pub async fn add(mut context: RequestContext) -> Result<Reply> {
    let (version, uuid) = (context.version, context.field("uuid").to_owned());
    let read = context
        .read_body(move |body| wire::read_add(version, &uuid, body))
        .await;
    let (add, raw) = prefer_not_found(&context, read).await?;
    let url = context.location(&format!(
        "/resource_providers/{}/inventories/{}",
        add.provider, add.class
    ));
    let added = context.model().submit(add).await?;
    Ok(inventory_reply(&added, Some(&raw))?.created_at(url))
}

pub async fn clear(context: RequestContext) -> Result<Reply> {
    context
        .model()
        .submit(Clear {
            provider: context.field("uuid").to_owned(),
        })
        .await?;
    Ok(Reply::no_content())
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    let (uuid, class) = (
        context.field("uuid").to_owned(),
        context.field("resource_class").to_owned(),
    );
    let found = inventories::fetch(context.reader(), uuid, class).await?;
    inventory_reply(&found, None)
}

pub async fn update(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let (uuid, class) = (
        context.field("uuid").to_owned(),
        context.field("resource_class").to_owned(),
    );
    let read = context
        .read_body(move |body| wire::read_update(version, &uuid, &class, body))
        .await;
    let (update, raw) = prefer_not_found(&context, read).await?;
    inventory_reply(&context.model().submit(update).await?, Some(&raw))
}

pub async fn remove(context: RequestContext) -> Result<Reply> {
    let (provider, class) = (
        context.field("uuid").to_owned(),
        context.field("resource_class").to_owned(),
    );
    context.model().submit(Remove { provider, class }).await?;
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
