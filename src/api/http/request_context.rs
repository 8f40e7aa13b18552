//! The argument of a handler: a request that passed dispatch.

use std::future::pending;
use std::sync::Arc;

use actix_web::web::Bytes;

use tokio::task::spawn_blocking;

use super::base_url::BaseUrl;
use super::disconnect::DisconnectWatch;
use super::reply::Reply;
use super::streaming::{
    self, ChunkSource, FirstChunks, InlineResult, InterruptOnDrop, LogContext, PartialAnswer, StreamingBody,
};
use crate::api::service::{Service, Settings};
use crate::error::Result;
use crate::model::{Model, Reader};
use crate::search::Interrupt;
use crate::version::Version;

/// A request that may be answered: it is authenticated and authorized, its route and version are known, its body is read.
pub struct RequestContext {
    /// The microversion; the newest one for the native API, whose handlers do not use it.
    pub version: Version,
    /// The query string as it was sent.
    pub query: String,
    pub body: Bytes,
    pub(in crate::api) base_url: BaseUrl,
    /// Watches the client that waits for the answer; `None` in tests, which have no connection.
    pub(in crate::api) client: Option<DisconnectWatch>,
    pub(in crate::api) fields: Vec<(&'static str, String)>,
    /// Whether the answer may be read from a replica that lags: `[placet] slave_routes`.
    pub(in crate::api) may_lag: bool,
    pub(in crate::api) service: Arc<Service>,
}

impl RequestContext {
    /// The part of the path that the route calls `{name}`.
    pub fn field(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(known, _)| *known == name);
        field.map_or("", |(_, value)| value.as_str())
    }

    /// The prefix of a route in a link.
    pub fn prefix(&self) -> &str {
        &self.base_url.prefix
    }

    /// The URL of `path` below the prefix, for `Location`.
    pub fn location(&self, path: &str) -> String {
        format!("{}{}{path}", self.base_url.origin, self.base_url.prefix)
    }

    pub fn model(&self) -> &Model {
        &self.service.model
    }

    /// Reads the rows of an answer, perhaps from a replica. A change reads its preconditions with `model` instead.
    pub fn reader(&self) -> Reader {
        self.model().reader(self.may_lag)
    }

    pub fn settings(&self) -> &Settings {
        &self.service.settings
    }

    /// Answers with a body that is sent in chunks while it is made. A short body is sent whole.
    ///
    /// Up to `bound` bytes are made before the first is sent, so that an error until then is a refusal. A later error
    /// truncates the answer. A search of at most `rounds` rounds runs on this worker. A longer one would delay the other
    /// requests of the worker, so it runs on a blocking thread. The interrupt that `make_source` gets is set when the
    /// response is dropped.
    pub async fn stream(
        self,
        log_context: LogContext,
        rounds: u64,
        bound: Option<usize>,
        make_source: impl Fn(Interrupt) -> Result<Box<dyn ChunkSource>> + Send + 'static,
    ) -> Result<Reply> {
        let (interrupt, partial) = match streaming::try_inline(&make_source, rounds, bound) {
            Some((interrupt, result)) => match result? {
                InlineResult::SearchDone(first) => {
                    return Ok(self.reply(log_context, InterruptOnDrop(interrupt), first));
                }
                InlineResult::Unfinished(partial) => (InterruptOnDrop(interrupt), Some(partial)),
            },
            None => (InterruptOnDrop(Interrupt::default()), None),
        };
        let search_interrupt = interrupt.0.clone();
        let job = spawn_blocking(move || match partial {
            Some(partial) => partial.finish(bound),
            None => PartialAnswer::new(make_source(search_interrupt)?).finish(bound),
        });
        let client = self.client.clone();
        let disconnected = async move {
            match client {
                Some(client) => client.disconnected().await,
                None => pending().await,
            }
        };
        let first = tokio::select! {
            joined = job => streaming::job_result(joined)?,
            () = disconnected => return Err(streaming::client_disconnected()),
        };
        Ok(self.reply(log_context, interrupt, first))
    }

    fn reply(self, log_context: LogContext, interrupt: InterruptOnDrop, mut first: FirstChunks) -> Reply {
        match &mut first {
            FirstChunks { chunks, rest: None, .. } if chunks.len() == 1 => {
                Reply::json(chunks.remove(0).unwrap_or_default())
            }
            _ => Reply::streaming(StreamingBody::new(log_context, self.client, interrupt, first)),
        }
    }
}
