//! `/traits` and `/resource_providers/{uuid}/traits`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::traits::{self, Clear, Delete, ProviderTraits};
use crate::wire::traits as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let filter = wire::read_list(context.version, &context.query)?;
    let found = traits::fetch_list(context.reader(), filter).await?;
    let newest = found.iter().map(|each| each.modified).max();
    let reply = context.write(found.len(), move || wire::write_list(&found)).await?;
    Ok(reply.modified(newest))
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    let found = traits::fetch(context.reader(), context.field("name")).await?;
    Ok(Reply::no_content().modified(found.modified))
}

pub async fn ensure(context: RequestContext) -> Result<Reply> {
    let ensure = wire::read_ensure(context.version, &context.field("name"))?;
    let url = context.location(&format!("/traits/{}", ensure.name));
    let ensured = context.submit(ensure).await?;
    Ok(Reply::created(ensured.created).location(url).modified(ensured.since))
}

pub async fn delete(context: RequestContext) -> Result<Reply> {
    let name = context.field("name");
    context.submit(Delete { name }).await?;
    Ok(Reply::no_content())
}

pub async fn list_of_provider(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid");
    let found = context.provider_reader().traits(uuid).await?;
    provider_traits_reply(&context, found).await
}

/// Unlike on other routes, the body is validated before the provider is looked up.
pub async fn replace_of_provider(mut context: RequestContext) -> Result<Reply> {
    let (version, uuid) = (context.version, context.field("uuid"));
    let replaced = context
        .submit_body(move |body| wire::read_replace(version, &uuid, body))
        .await?;
    provider_traits_reply(&context, replaced).await
}

pub async fn clear_of_provider(context: RequestContext) -> Result<Reply> {
    let provider = context.field("uuid");
    context.submit(Clear { provider }).await?;
    Ok(Reply::no_content())
}

async fn provider_traits_reply(context: &RequestContext, found: ProviderTraits) -> Result<Reply> {
    let newest = found.traits.iter().map(|each| each.modified).max();
    let reply = context.write(found.traits.len(), move || wire::write_provider(&found));
    Ok(reply.await?.modified(newest))
}
