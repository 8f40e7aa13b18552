//! `/allocation_candidates`

use std::sync::Arc;

use crate::api::http::access::shortened;
use crate::api::http::chunks::ChunkSource;
use crate::api::http::first_chunks::ChunkWork;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::api::http::statistics::HttpStatistics;
use crate::api::http::streaming::BrokenAnswerContext;
use crate::error::Result;
use crate::log_context::{self, LogContext};
use crate::model::reads::unknown_names::Names;
use crate::model::refusals::{EmptyAnswer, RefusalLog};
use crate::search::{self, Interrupt, Rank, Snapshot};
use crate::version::Version;
use crate::wire::allocation_candidates as wire;
use crate::wire::candidates::CandidatesQuery;

/// With a limit, up to this many bytes of the answer are buffered before the first byte is sent, enough for many
/// thousands of candidates. Until then an error is a refusal instead of a broken connection. The bound is in bytes
/// because a number of candidates does not bound memory: a candidate of many groups has some kilobytes, and a limit may
/// be any number.
const MAX_BUFFERED_BYTES: usize = 4 * 1024 * 1024;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let request = wire::read_list(context.version, &context.query)?;
    let asked = CandidatesQuery {
        request,
        rank: None,
        purpose: None,
        has_summaries: true,
        has_names: false,
    };
    answer(context, asked, "/allocation_candidates").await
}

/// Answers a request for candidates, which came to `path`.
pub async fn answer(context: RequestContext, asked: CandidatesQuery, path: &str) -> Result<Reply> {
    let stale_reads = context.settings().stale_reads;
    let request = asked.request;
    let names = Names::of_candidates([&request]);
    let prepared = context.model().prepare_search(names, stale_reads).await?;
    let snapshot = prepared.snapshot;
    let settings = match asked.rank {
        Some(_) => context.settings().shuffled_search(),
        None => context.settings().search(&request),
    };
    let (version, query) = (context.version, context.query.clone());
    let has_limit = request.limit.is_some() || settings.max.is_some();
    let statistics = context.statistics();
    let request = Arc::new(request);
    let (refusals, log_context) = (Arc::clone(&context.model().refusals), log_context::current());
    let make_source = move |interrupt: Interrupt| {
        let settings = search::SearchSettings {
            interrupt: interrupt.clone(),
            ..settings.clone()
        };
        let limited = match asked.purpose {
            Some(purpose) => search::for_purpose(&snapshot, purpose, &request, &settings)?,
            None => Arc::clone(&snapshot),
        };
        let found = find(version, &limited, &request, asked.rank, &settings)?.interrupted_by(interrupt.clone())?;
        let answer = found.with_parts(asked.has_summaries, asked.has_names);
        let source: Box<dyn ChunkSource> = Box::new(CandidatesSource {
            answer: if has_limit { answer.measured() } else { answer },
            query: query.clone(),
            ceiling: settings.ceiling,
            interrupt,
            statistics: Arc::clone(&statistics),
            refusals: Arc::clone(&refusals),
            when_empty: EmptyAnswer {
                request: Arc::clone(&request),
                snapshot: Arc::clone(&snapshot),
                is_normal: asked.purpose.is_some_and(|purpose| !purpose.may_exceed_normal()),
            },
            log_context: log_context.clone(),
        });
        Ok(source)
    };
    let log_context = BrokenAnswerContext {
        what: format!("{path}?{}", context.query),
        advice: " Ask with a limit, so that it is found before it is sent.",
    };
    let reply = context
        .stream(
            log_context,
            ChunkWork::Search,
            has_limit.then_some(MAX_BUFFERED_BYTES),
            make_source,
        )
        .await?;
    Ok(reply.modified(None).stale(prepared.stale))
}

/// Begins the search for an answer. If candidates are scored, all of them are searched.
fn find(
    version: Version,
    snapshot: &Arc<Snapshot>,
    request: &search::Request,
    rank: Option<Rank>,
    settings: &search::SearchSettings,
) -> Result<wire::CandidatesAnswer> {
    let snapshot = Arc::clone(snapshot);
    match rank.and_then(Rank::scoring) {
        Some(scoring) => {
            let (count, _) = settings.max_candidates(request);
            let ranked = search::best(&*snapshot, request, scoring, count, settings)?;
            Ok(wire::CandidatesAnswer::ranked(version, snapshot, request, ranked))
        }
        None => {
            let found = search::candidates(Arc::clone(&snapshot), request, settings)?.select();
            Ok(wire::CandidatesAnswer::new(version, snapshot, request, found))
        }
    }
}

/// The source of an answer, and the request for its log line.
struct CandidatesSource {
    answer: wire::CandidatesAnswer,
    query: String,
    ceiling: usize,
    interrupt: Interrupt,
    statistics: Arc<HttpStatistics>,
    refusals: Arc<RefusalLog>,
    when_empty: EmptyAnswer,
    log_context: Option<Arc<LogContext>>,
}

/// Also counts a search whose answer was broken off.
impl Drop for CandidatesSource {
    fn drop(&mut self) {
        self.statistics.candidates.steps.add(self.interrupt.spent());
    }
}

impl ChunkSource for CandidatesSource {
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        let more = self.answer.write(out, length)?;
        if !more {
            self.statistics.candidates.answers.increment();
            self.statistics.candidates.found.add(self.answer.found());
            if self.answer.found() == 0 {
                let (answer, context) = (self.when_empty.clone(), self.log_context.as_deref());
                self.refusals.empty.note(answer, context);
            }
        }
        if !more && self.answer.is_cut() {
            log::warn!(
                "More than {} candidates for {:?}: the answer ends there; ask with a limit, or raise [placet] \
                 max_candidates",
                self.ceiling,
                shortened(&self.query)
            );
        }
        Ok(more)
    }

    fn is_search_done(&self) -> bool {
        self.answer.is_search_done()
    }

    fn remaining_bytes(&self) -> Option<usize> {
        self.answer.remaining_bytes()
    }
}
