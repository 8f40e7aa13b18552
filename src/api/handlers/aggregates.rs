//! `/resource_providers/{uuid}/aggregates`

use std::sync::Arc;

use super::resource_providers::read_body_of_provider;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::aggregates::ProviderAggregates;
use crate::wire::aggregates as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid");
    let found = context.provider_reader().aggregates(uuid).await?;
    list_reply(&context, found).await
}

pub async fn replace(mut context: RequestContext) -> Result<Reply> {
    let replace = read_body_of_provider(&mut context, wire::read_replace).await?;
    let found = context.submit(replace).await?;
    list_reply(&context, Arc::new(found)).await
}

async fn list_reply(context: &RequestContext, found: Arc<ProviderAggregates>) -> Result<Reply> {
    let version = context.version;
    let reply = context.write(found.aggregates.len(), move || wire::write(version, &found));
    Ok(reply.await?.modified(None))
}
