//! `/resource_providers`

use std::sync::{Arc, OnceLock};

use chrono::DateTime;

use super::call::Call;
use super::pieces::{About, Source};
use super::reply::Reply;
use crate::error::Result;
use crate::model::Shown;
use crate::model::resource_providers::{self, Delete, Provider};
use crate::search::{self, Interrupt};
use crate::wire::resource_providers as wire;

/// So many providers are listed by the thread that read the request, and no more: each is a round.
const ROUNDS: u64 = 1024;

pub async fn list(call: Call) -> Result<Reply> {
    let query = wire::read_list(call.version, &call.query)?;
    let strict = call.settings().search.strict_step;
    let Shown { snapshot, stale } = call.model().shown(&query, call.settings().stale_reads).await?;
    let (version, prefix) = (call.version, call.prefix().to_owned());
    let about = About {
        what: format!("/resource_providers?{}", call.query),
        advice: "",
    };
    let newest = Arc::new(OnceLock::new());
    let names_few = query.in_tree.is_some() || query.uuid.is_some() || query.name.is_some();
    let rounds = if names_few { ROUNDS } else { 0 };
    let make = {
        let newest = Arc::clone(&newest);
        move |interrupt: Interrupt| {
            let found = search::providers(&snapshot, &query, strict)?;
            interrupt.spend(found.len() as u64);
            newest.get_or_init(|| found.iter().map(|&slot| snapshot.modified(slot)).max());
            let list = wire::List::new(version, &prefix, Arc::clone(&snapshot), found);
            let source: Box<dyn Source> = Box::new(Listed(list));
            Ok(source)
        }
    };
    let reply = call.stream(about, rounds, None, make).await?;
    let newest = newest.get().copied().flatten();
    let newest = newest.map(|micros| DateTime::from_timestamp_micros(micros).unwrap_or_default());
    Ok(reply.modified(newest).stale(stale))
}

struct Listed(wire::List);

impl Source for Listed {
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        Ok(self.0.write(out, length))
    }

    fn is_found(&self) -> bool {
        true
    }

    fn left(&self) -> Option<usize> {
        None
    }
}

/// From 1.20 the answer shows the provider.
pub async fn create(call: Call) -> Result<Reply> {
    let provider = call
        .model()
        .submit(wire::read_create(call.version, &call.body)?)
        .await?;
    Ok(shown(&call, &provider).location(url(&call, &provider)))
}

/// Before 1.20 the answer is where the provider is.
pub async fn create_silently(call: Call) -> Result<Reply> {
    let provider = call
        .model()
        .submit(wire::read_create(call.version, &call.body)?)
        .await?;
    Ok(Reply::created(true).location(url(&call, &provider)))
}

pub async fn show(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let provider = call
        .reader()
        .ask(move |conn| resource_providers::show(conn, &uuid))
        .await?;
    Ok(shown(&call, &provider))
}

/// The answer shows the provider as it is now, and as clients know it since when it was as it has been.
/// The time that the answer tells is that of the update before, as clients know it; none where there was none.
pub async fn update(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let before = call
        .model()
        .ask(move |conn| resource_providers::last_update(conn, &uuid))
        .await?;
    let update = wire::read_update(call.version, call.field("uuid"), &call.body)?;
    let provider = call.model().submit(update).await?;
    Ok(Reply::json(wire::write_one(call.version, call.prefix(), &provider)).modified_if(before))
}

pub async fn delete(call: Call) -> Result<Reply> {
    call.model()
        .submit(Delete {
            uuid: call.field("uuid").to_owned(),
        })
        .await?;
    Ok(Reply::no_content())
}

/// What was read of a body that says something of the call's provider. Where that does not exist it is said before it is
/// said what is wrong with the body; of a good body whoever carries it out says so.
pub async fn of_provider<T>(call: &Call, read: Result<T>) -> Result<T> {
    if read.is_err() {
        let uuid = call.field("uuid").to_owned();
        let look = move |conn: &mut _| resource_providers::exists(conn, &uuid);
        call.model().ask(look).await?;
    }
    read
}

fn shown(call: &Call, provider: &Provider) -> Reply {
    Reply::json(wire::write_one(call.version, call.prefix(), provider)).modified(provider.modified)
}

fn url(call: &Call, provider: &Provider) -> String {
    call.location(&format!("/resource_providers/{}", provider.uuid))
}
