//! `/resource_providers/{uuid}/inventories`

use super::call::Call;
use super::reply::Reply;
use super::resource_providers::of_provider;
use crate::error::{Error, Result};
use crate::model::inventories::{self, Clear, Inventories, Remove};
use crate::wire::inventories as wire;

pub async fn list(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let found = call.reader().inventories(uuid).await?;
    Ok(listed(&found, None))
}

pub async fn replace(call: Call) -> Result<Reply> {
    let read = wire::read_replace(call.version, call.field("uuid"), &call.body);
    let (replace, spelled) = of_provider(&call, read).await?;
    Ok(listed(&call.model().submit(replace).await?, Some(&spelled)))
}

pub async fn add(call: Call) -> Result<Reply> {
    let read = wire::read_add(call.version, call.field("uuid"), &call.body);
    let (add, spelled) = of_provider(&call, read).await?;
    let url = call.location(&format!(
        "/resource_providers/{}/inventories/{}",
        add.provider, add.class
    ));
    let added = call.model().submit(add).await?;
    Ok(shown(&added, Some(&spelled))?.created_at(url))
}

pub async fn clear(call: Call) -> Result<Reply> {
    call.model()
        .submit(Clear {
            provider: call.field("uuid").to_owned(),
        })
        .await?;
    Ok(Reply::no_content())
}

pub async fn show(call: Call) -> Result<Reply> {
    let (uuid, class) = (call.field("uuid").to_owned(), call.field("resource_class").to_owned());
    let found = call
        .reader()
        .ask(move |conn| inventories::show(conn, &uuid, &class))
        .await?;
    shown(&found, None)
}

pub async fn update(call: Call) -> Result<Reply> {
    let (uuid, class) = (call.field("uuid"), call.field("resource_class"));
    let read = wire::read_update(call.version, uuid, class, &call.body);
    let (update, spelled) = of_provider(&call, read).await?;
    shown(&call.model().submit(update).await?, Some(&spelled))
}

pub async fn remove(call: Call) -> Result<Reply> {
    let (provider, class) = (call.field("uuid").to_owned(), call.field("resource_class").to_owned());
    call.model().submit(Remove { provider, class }).await?;
    Ok(Reply::no_content())
}

/// Where there are none, there is no time at which they were modified.
fn listed(found: &Inventories, spelled: Option<&wire::Spelled>) -> Reply {
    Reply::json(wire::write_all(found, spelled)).modified_if(found.modified)
}

fn shown(found: &Inventories, spelled: Option<&wire::Spelled>) -> Result<Reply> {
    let body = wire::write_one(found, spelled).ok_or_else(|| Error::Internal {
        detail: "an answer lacks its inventory".into(),
    });
    Ok(Reply::json(body?).modified(found.modified))
}
