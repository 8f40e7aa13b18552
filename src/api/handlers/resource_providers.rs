//! `/resource_providers`

use std::sync::{Arc, OnceLock};

use chrono::DateTime;

use crate::api::http::chunks::ChunkSource;
use crate::api::http::first_chunks::ChunkWork;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::api::http::streaming::BrokenAnswerContext;
use crate::error::Result;
use crate::model::reads::unknown_names::Names;
use crate::model::resource_providers::{self, Delete, Provider};
use crate::search::{self, Interrupt};
use crate::version::Version;
use crate::wire::resource_providers as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let mut query = wire::read_list(context.version, &context.query)?;
    let strict = context.settings().search.strict_step;
    let stale_reads = context.settings().stale_reads;
    let prepared = context
        .model()
        .prepare_search(Names::of_providers(&query), stale_reads)
        .await?;
    let snapshot = prepared.snapshot;
    query.name = prepared.provider_name.or(query.name);
    let (version, prefix) = (context.version, context.prefix().to_owned());
    let broken = BrokenAnswerContext {
        what: format!("/resource_providers?{}", context.query),
        advice: "",
    };
    let newest = Arc::new(OnceLock::new());
    let make_source = {
        let newest = Arc::clone(&newest);
        move |interrupt: Interrupt| {
            let found = search::providers(&snapshot, &query, strict, &interrupt)?;
            interrupt.spend(found.len() as u64);
            newest.get_or_init(|| found.iter().map(|&slot| snapshot.modified(slot)).max());
            let list = wire::List::new(version, &prefix, Arc::clone(&snapshot), found);
            let source: Box<dyn ChunkSource> = Box::new(ProvidersSource(list));
            Ok(source)
        }
    };
    let reply = context.stream(broken, ChunkWork::Listing, None, make_source).await?;
    let newest = newest.get().copied().flatten();
    let newest = newest.map(|micros| DateTime::from_timestamp_micros(micros).unwrap_or_default());
    Ok(reply.modified(newest).stale(prepared.stale))
}

struct ProvidersSource(wire::List);

impl ChunkSource for ProvidersSource {
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        Ok(self.0.write(out, length))
    }

    fn is_search_done(&self) -> bool {
        true
    }

    fn remaining_bytes(&self) -> Option<usize> {
        None
    }
}

/// From 1.20 the answer shows the provider.
pub async fn create(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let provider = context
        .submit_body(move |body| wire::read_create(version, body))
        .await?;
    Ok(provider_reply(&context, &provider).location(url(&context, &provider)))
}

/// Before 1.20 the answer has only the provider's location.
pub async fn create_without_body(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let provider = context
        .submit_body(move |body| wire::read_create(version, body))
        .await?;
    Ok(Reply::created(true).location(url(&context, &provider)))
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    let provider = resource_providers::fetch(context.reader(), context.field("uuid")).await?;
    Ok(provider_reply(&context, &provider))
}

/// `Last-Modified` is the time of the update before this one, as in OpenStack Placement; absent if there was none.
pub async fn update(mut context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid");
    let before = resource_providers::fetch_last_update(context.current_reader(), uuid.clone()).await?;
    let version = context.version;
    let provider = context
        .submit_body(move |body| wire::read_update(version, &uuid, body))
        .await?;
    Ok(provider_reply(&context, &provider).modified_if(before))
}

pub async fn delete(context: RequestContext) -> Result<Reply> {
    let uuid = context.field("uuid");
    context.submit(Delete { uuid }).await?;
    Ok(Reply::no_content())
}

/// Reads a body about the provider of the path. If the body is bad and the provider does not exist, the missing
/// provider is the error instead. For a good body the command checks that the provider exists.
pub async fn read_body_of_provider<T: Send + 'static>(
    context: &mut RequestContext,
    read: impl FnOnce(Version, &str, &[u8]) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (version, uuid) = (context.version, context.field("uuid"));
    let value = context.read_body(move |body| read(version, &uuid, body)).await;
    if value.is_err() {
        resource_providers::check_existence(context.current_reader(), context.field("uuid")).await?;
    }
    value
}

fn provider_reply(context: &RequestContext, provider: &Provider) -> Reply {
    Reply::json(wire::write_one(context.version, context.prefix(), provider)).modified(provider.modified)
}

fn url(context: &RequestContext, provider: &Provider) -> String {
    context.location(&format!("/resource_providers/{}", provider.uuid))
}
