//! `/allocations` and `/resource_providers/{uuid}/allocations`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::allocations::{self, Release};
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
    let read = move |body: &[u8]| wire::read_put(version, &consumer, body);
    let ((), granted) = context.submit_grant(read, granted::by_claim).await?;
    Ok(Reply::no_content().granted(granted))
}

pub async fn replace_many(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let read = move |body: &[u8]| wire::read_post(version, body);
    let ((), granted) = context.submit_grant(read, granted::by_claim).await?;
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
