//! `/resource_classes`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::resource_classes::{self, Delete};
use crate::wire::resource_classes as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let found = resource_classes::fetch_list(context.reader()).await?;
    let newest = found.iter().filter_map(|class| class.modified).max();
    let prefix = context.prefix().to_owned();
    let reply = context.write(found.len(), move || wire::write_list(&prefix, &found));
    Ok(reply.await?.modified(newest))
}

pub async fn create(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let create = context.read_body(move |body| wire::read_create(version, body)).await?;
    let url = url(&context, &create.name);
    context.submit(create).await?;
    Ok(Reply::created(true).location(url))
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    let found = resource_classes::fetch(context.reader(), context.field("name")).await?;
    Ok(Reply::json(wire::write_one(context.prefix(), &found.name)).modified(found.modified))
}

/// From 1.7.
pub async fn ensure(context: RequestContext) -> Result<Reply> {
    let ensure = wire::read_ensure(context.version, &context.field("name"))?;
    let url = url(&context, &ensure.name);
    let ensured = context.submit(ensure).await?;
    Ok(Reply::created(ensured.created).location(url))
}

/// Before 1.7.
pub async fn rename(mut context: RequestContext) -> Result<Reply> {
    let (version, from) = (context.version, context.field("name"));
    let rename = context
        .read_body(move |body| wire::read_rename(version, &from, body))
        .await?;
    let name = rename.to.clone();
    context.submit(rename).await?;
    Ok(Reply::json(wire::write_one(context.prefix(), &name)))
}

pub async fn delete(context: RequestContext) -> Result<Reply> {
    let name = context.field("name");
    context.submit(Delete { name }).await?;
    Ok(Reply::no_content())
}

fn url(context: &RequestContext, name: &str) -> String {
    context.location(&format!("/resource_classes/{name}"))
}
