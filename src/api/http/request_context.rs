//! The argument of a handler: a request that passed dispatch.

use std::future::pending;
use std::sync::Arc;

use actix_web::web::Bytes;

use super::base_url::BaseUrl;
use super::body::SMALL_BODY_BYTES;
use super::chunks::{ChunkSource, FirstChunks, InlineResult, PartialAnswer};
use super::disconnect::DisconnectWatch;
use super::reply::Reply;
use super::statistics::HttpStatistics;
use super::streaming::{self, InterruptOnDrop, LogContext, StreamingBody, attempt};
use super::thread_pools::ThreadPools;
use crate::api::service::{Service, Settings};
use crate::error::{Error, Result};
use crate::model::{Model, Reader};
use crate::mutants::{self, Mutant};
use crate::policy::rules::Rule;
use crate::policy::{Caller, Target, Verdict};
use crate::search::Interrupt;
use crate::version::Version;

/// How long the beginning of an answer may take, and so on which thread it is made.
pub enum Effort {
    /// A list, whose cost is bounded by the number of providers. With at most this many the worker makes it.
    Listing { inline_rounds: u64 },
    /// A search, whose cost has no useful bound. With at most this many rounds it does not wait behind longer ones.
    Search { short_rounds: u64 },
}

/// A request that may be answered: it is authenticated and authorized, its route and version are known, its body is
/// read.
pub struct RequestContext {
    /// The microversion; the newest one for the native API, whose handlers do not use it.
    pub version: Version,
    /// The query string as it was sent.
    pub query: String,
    /// The owner of the token; without credentials on a public route.
    pub caller: Arc<Caller>,
    pub(in crate::api) body: Bytes,
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

    /// Reads the body with `read`. A large body would delay the other requests of this worker, so another thread reads
    /// it.
    pub async fn read_body<T: Send + 'static>(
        &self,
        read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.body.len() <= SMALL_BODY_BYTES {
            mutants::panic_as(Mutant::PanicInHandler);
            return read(&self.body);
        }
        let body = self.body.clone();
        self.service.pools.bodies.start(move || read(&body)).await
    }

    pub fn statistics(&self) -> Arc<HttpStatistics> {
        Arc::clone(&self.service.statistics)
    }

    pub fn settings(&self) -> &Settings {
        &self.service.settings
    }

    /// Checks a rule beyond that of the route, about a project.
    ///
    /// # Errors
    /// [`Error::Forbidden`].
    pub fn authorize_project(&self, rule: &Rule, project: &str) -> Result<()> {
        let target = Target::Project(Some(project));
        match self.service.policy.current().authorize(rule, &self.caller, &target) {
            Verdict::Allowed => Ok(()),
            Verdict::Denied | Verdict::WrongScope => Err(Error::Forbidden {
                rule: rule.name.to_owned(),
            }),
            Verdict::Undecided(reason) => Err(Error::Internal {
                detail: format!("The policy {} cannot be decided: {reason}.", rule.name),
            }),
        }
    }

    /// Searches on the worker that read the request, or if that takes more than `short_rounds`, on another thread.
    ///
    /// # Errors
    /// [`Error::Busy`] if too many searches wait.
    pub async fn search<T: Send + 'static>(
        &self,
        short_rounds: u64,
        search: impl Fn(&Interrupt) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let pools = &self.service.pools;
        let search = Arc::new(search);
        if pools.searches.is_saturated() {
            pools.attempts.check_queue()?;
            let search = Arc::clone(&search);
            let tried = pools
                .attempts
                .start(move || Ok(attempt(short_rounds, |interrupt| search(&interrupt))));
            if let Some((_, found)) = tried.await? {
                return found;
            }
            pools.searches.check_queue()?;
        } else if let Some((_, found)) = attempt(short_rounds, |interrupt| search(&interrupt)) {
            return found;
        }
        let interrupt = InterruptOnDrop(Interrupt::default());
        let its_interrupt = interrupt.0.clone();
        pools.searches.start(move || search(&its_interrupt)).await
    }

    /// Answers with a body that is sent in chunks while it is made. A short body is sent whole.
    ///
    /// Up to `bound` bytes are made before the first is sent, so that an error until then is a refusal. A later error
    /// truncates the answer. The interrupt that `make_source` gets is set when the response is dropped.
    ///
    /// # Errors
    /// [`Error::Busy`] if too many searches wait.
    pub async fn stream(
        self,
        log_context: LogContext,
        effort: Effort,
        bound: Option<usize>,
        make_source: impl Fn(Interrupt) -> Result<Box<dyn ChunkSource>> + Send + Sync + 'static,
    ) -> Result<Reply> {
        let (client, pools) = (self.client.clone(), Arc::clone(&self.service.pools));
        let disconnected = async move {
            match client {
                Some(client) => client.disconnected().await,
                None => pending().await,
            }
        };
        let (interrupt, first) = tokio::select! {
            made = first_chunks(&pools, effort, bound, Arc::new(make_source)) => made?,
            () = disconnected => return Err(streaming::client_disconnected()),
        };
        Ok(self.reply(log_context, interrupt, first))
    }

    fn reply(self, log_context: LogContext, interrupt: InterruptOnDrop, mut first: FirstChunks) -> Reply {
        match &mut first {
            FirstChunks { chunks, rest: None, .. } if chunks.len() == 1 => {
                Reply::json(chunks.remove(0).unwrap_or_default())
            }
            _ => Reply::streaming(StreamingBody::new(
                log_context,
                self.client,
                Arc::clone(&self.service.pools),
                interrupt,
                first,
            )),
        }
    }
}

/// Makes the first chunks of an answer, on the worker that read the request or on another thread.
async fn first_chunks(
    pools: &ThreadPools,
    effort: Effort,
    bound: Option<usize>,
    make_source: Arc<impl Fn(Interrupt) -> Result<Box<dyn ChunkSource>> + Send + Sync + 'static>,
) -> Result<(InterruptOnDrop, FirstChunks)> {
    let (inline_rounds, pool) = match effort {
        Effort::Listing { inline_rounds } => (inline_rounds, &pools.answers),
        // While every thread searches, there may be many more to come, and their attempts would delay this worker.
        Effort::Search { short_rounds } if pools.searches.is_saturated() => {
            pools.attempts.check_queue()?;
            let make_source = Arc::clone(&make_source);
            let attempt = move || {
                Ok(attempt(short_rounds, |interrupt| {
                    PartialAnswer::new(make_source(interrupt)?).finish(bound)
                }))
            };
            if let Some((interrupt, first)) = pools.attempts.start(attempt).await? {
                return Ok((interrupt, first?));
            }
            pools.searches.check_queue()?;
            (0, &pools.searches)
        }
        Effort::Search { short_rounds } => (short_rounds, &pools.searches),
    };
    let begun = attempt(inline_rounds, |interrupt| {
        PartialAnswer::new(make_source(interrupt)?).begin(bound)
    });
    let (interrupt, partial) = match begun {
        Some((interrupt, result)) => match result? {
            InlineResult::SearchDone(first) => return Ok((interrupt, first)),
            InlineResult::Unfinished(partial) => (interrupt, Some(partial)),
        },
        None => (InterruptOnDrop(Interrupt::default()), None),
    };
    let search_interrupt = interrupt.0.clone();
    let job = pool.start(move || match partial {
        Some(partial) => partial.finish(bound),
        None => PartialAnswer::new(make_source(search_interrupt)?).finish(bound),
    });
    Ok((interrupt, job.await?))
}
