//! `/allocations` and `/resource_providers/{uuid}/allocations`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::allocations::{self, Claim, Release};
use crate::model::granted;
use crate::wire::allocations as wire;

pub async fn show(context: RequestContext) -> Result<Reply> {
    let consumer = context.field("consumer_uuid");
    let found = allocations::fetch_of_consumer(context.reader(), consumer).await?;
    let (version, modified) = (context.version, found.modified);
    let amounts = found.providers.iter().map(|share| share.resources.len()).sum();
    let reply = context.write(amounts, move || wire::write_consumer(version, &found));
    Ok(reply.await?.modified(modified))
}

pub async fn replace(mut context: RequestContext) -> Result<Reply> {
    let (version, consumer) = (context.version, context.field("consumer_uuid"));
    let claim = context
        .read_body(move |body| wire::read_put(version, &consumer, body))
        .await?;
    submit(&context, claim).await
}

pub async fn replace_many(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let claim = context.read_body(move |body| wire::read_post(version, body)).await?;
    submit(&context, claim).await
}

async fn submit(context: &RequestContext, claim: Claim) -> Result<Reply> {
    let granted = context.log_text(|model| Some(granted::by_claim(model, &claim.consumers)));
    context.submit(claim).await?;
    Ok(Reply::no_content().granted(granted))
}

pub async fn release(context: RequestContext) -> Result<Reply> {
    let consumer = context.field("consumer_uuid");
    let release = Release {
        consumer: consumer.clone(),
    };
    let shares = context.submit(release).await?;
    let released = context.log_text(|model| Some(granted::by_release(model, &consumer, &shares)));
    Ok(Reply::no_content().released(released))
}

pub async fn list_of_provider(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid");
    let found = context.provider_reader().allocations(uuid).await?;
    let (version, modified) = (context.version, found.modified);
    let reply = context.write(found.consumers.len(), move || wire::write_provider(version, &found));
    Ok(reply.await?.modified(modified))
}
