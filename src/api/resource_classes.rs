//! `/resource_classes`

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::model::resource_classes::{self, Delete};
use crate::wire::resource_classes as wire;

pub async fn list(call: Call) -> Result<Reply> {
    let found = call.reader().read(resource_classes::list).await?;
    let newest = found.iter().filter_map(|it| it.modified).max();
    Ok(Reply::json(wire::write_list(call.prefix(), &found)).modified(newest))
}

pub async fn create(call: Call) -> Result<Reply> {
    let create = wire::read_create(call.version, &call.body)?;
    let url = url(&call, &create.name);
    call.model().submit(create).await?;
    Ok(Reply::created(true).location(url))
}

pub async fn show(call: Call) -> Result<Reply> {
    let name = call.field("name").to_owned();
    let found = call
        .reader()
        .ask(move |conn| resource_classes::show(conn, &name))
        .await?;
    Ok(Reply::json(wire::write_one(call.prefix(), &found.name)).modified(found.modified))
}

/// From 1.7.
pub async fn ensure(call: Call) -> Result<Reply> {
    let ensure = wire::read_ensure(call.version, call.field("name"))?;
    let url = url(&call, &ensure.name);
    let ensured = call.model().submit(ensure).await?;
    Ok(Reply::created(ensured.created).location(url))
}

/// Before 1.7.
pub async fn rename(call: Call) -> Result<Reply> {
    let rename = wire::read_rename(call.version, call.field("name"), &call.body)?;
    let name = rename.to.clone();
    call.model().submit(rename).await?;
    Ok(Reply::json(wire::write_one(call.prefix(), &name)))
}

pub async fn delete(call: Call) -> Result<Reply> {
    call.model()
        .submit(Delete {
            name: call.field("name").to_owned(),
        })
        .await?;
    Ok(Reply::no_content())
}

fn url(call: &Call, name: &str) -> String {
    call.location(&format!("/resource_classes/{name}"))
}
