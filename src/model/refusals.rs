//! The last refusals of this process: searches without a candidate, and claims and workloads without a place.
//!
//! An empty answer costs a search next to nothing, because zone maps skip hosts that cannot fit. An explanation takes
//! many times as long. So a request only notes an empty answer (`empty_answers`). A thread of low priority explains the
//! notes on the version of the snapshot that answered (`explainer`). Refused claims and workloads bring reasons
//! (`answers`).

mod answers;
mod empty_answers;
mod explainer;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, SecondsFormat, Utc};

pub(super) use self::answers::claiming_consumer;
pub use self::empty_answers::{EmptyAnswer, EmptyAnswers};
pub use self::explainer::RefusalExplainer;
use super::explain::QueryText;
use crate::error::Reasons;
use crate::log_context::LogContext;

/// The number of kept refusals.
const MAX_REFUSALS: usize = 1_000;
/// The most ids of requests of a refusal.
const MAX_IDS: usize = 100;
/// The longest query of a refusal, in bytes.
const MAX_QUERY_BYTES: usize = 2_000;
/// The most reasons of a refusal, and the longest text of a reason, in bytes.
const MAX_REASONS: usize = 20;
const MAX_REASON_BYTES: usize = 500;

/// The kind of a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// A search of OpenStack's API.
    AllocationCandidates,
    /// A search of the native API.
    Candidates,
    /// A claim, of either API.
    Claim,
    Workload,
}

/// A refusal.
#[derive(Clone, Debug)]
pub struct RefusalRecord {
    /// Rises with each refusal of the process.
    pub id: u64,
    pub time: DateTime<Utc>,
    pub kind: RefusalKind,
    /// The uuid of the first refused consumer, or of the workload.
    pub subject: Option<String>,
    /// The query, if there is one.
    pub query: Option<QueryText>,
    /// Whether the purpose of the query may exceed normal limits.
    pub may_exceed_normal: bool,
    /// The number of refused requests, consumers or replicas.
    pub count: u64,
    /// The project of the token for a search, else of the consumer or the workload.
    pub project: Option<String>,
    /// The ids of the requests, and the ids given by the senders. At most [`MAX_IDS`].
    pub request_ids: Vec<String>,
    pub reasons: Reasons,
}

impl RefusalRecord {
    /// The time in the form of RFC 3339, to the millisecond.
    pub fn time_text(&self) -> String {
        self.time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

/// Which refusals are listed, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The refusals of this project alone.
    pub project: Option<String>,
    pub kind: Option<RefusalKind>,
    /// The refusals with the id of this request.
    pub request_id: Option<String>,
    pub limit: usize,
}

/// The refusals of a process.
#[derive(Debug, Default)]
pub struct RefusalLog {
    refusals: Mutex<NumberedRefusals>,
    pub empty: EmptyAnswers,
}

#[derive(Debug, Default)]
struct NumberedRefusals {
    /// The oldest first.
    all: VecDeque<Arc<RefusalRecord>>,
    last_id: u64,
}

impl RefusalLog {
    /// The newest refusals that pass the filter, the newest first.
    pub fn list(&self, filter: &Filter) -> Vec<Arc<RefusalRecord>> {
        let refusals = self.lock();
        let passing = refusals.all.iter().rev().filter(|refusal| filter.passes(refusal));
        passing.take(filter.limit).cloned().collect()
    }

    /// Keeps a refusal, with bounded texts and its own id. Returns what is kept.
    fn add(&self, refusal: RefusalRecord) -> Arc<RefusalRecord> {
        let mut refusals = self.lock();
        refusals.last_id += 1;
        let refusal = Arc::new(RefusalRecord {
            id: refusals.last_id,
            ..refusal
        });
        if refusals.all.len() == MAX_REFUSALS {
            refusals.all.pop_front();
        }
        refusals.all.push_back(Arc::clone(&refusal));
        refusal
    }

    fn lock(&self) -> MutexGuard<'_, NumberedRefusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filter {
    fn passes(&self, refusal: &RefusalRecord) -> bool {
        let has_project = |project: &String| refusal.project.as_ref() == Some(project);
        self.project.as_ref().is_none_or(has_project)
            && self.kind.is_none_or(|kind| kind == refusal.kind)
            && self
                .request_id
                .as_ref()
                .is_none_or(|id| refusal.request_ids.contains(id))
    }
}

/// Adds the ids of a request.
fn add_ids(ids: &mut Vec<String>, context: Option<&LogContext>) {
    let Some(context) = context else { return };
    for id in context.global_id.iter().chain([&context.request_id]) {
        if ids.len() < MAX_IDS && !ids.contains(id) {
            ids.push(id.clone());
        }
    }
}

/// Reasons with a bounded length. Names in a request may be long.
fn bounded(reasons: &Reasons) -> Reasons {
    reasons.shortened(MAX_REASONS, MAX_REASON_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(request_id: &str) -> LogContext {
        LogContext {
            request_id: request_id.to_owned(),
            global_id: Some(format!("global-{request_id}")),
            ..LogContext::default()
        }
    }

    fn refusal(kind: RefusalKind, request_id: &str, project: &str) -> RefusalRecord {
        let mut request_ids = Vec::new();
        add_ids(&mut request_ids, Some(&context(request_id)));
        RefusalRecord {
            id: 0,
            time: Utc::now(),
            kind,
            subject: None,
            query: None,
            may_exceed_normal: false,
            count: 1,
            project: Some(project.to_owned()),
            request_ids,
            reasons: Reasons::default(),
        }
    }

    fn ids(log: &RefusalLog, filter: Filter) -> Vec<u64> {
        log.list(&filter).iter().map(|refusal| refusal.id).collect()
    }

    #[test]
    fn the_newest_thousand_are_kept_and_listed_first() {
        let log = RefusalLog::default();
        for _ in 0..MAX_REFUSALS + 5 {
            log.add(refusal(RefusalKind::Claim, "a", "p"));
        }
        let at_most = |limit| Filter {
            limit,
            ..Filter::default()
        };
        let all = ids(&log, at_most(usize::MAX));
        assert_eq!(
            (all.len(), all[0], all[MAX_REFUSALS - 1]),
            (MAX_REFUSALS, MAX_REFUSALS as u64 + 5, 6)
        );
        assert_eq!(ids(&log, at_most(2)), all[..2]);
    }

    #[test]
    fn a_list_has_the_refusals_of_a_project_a_kind_or_a_request() {
        let log = RefusalLog::default();
        log.add(refusal(RefusalKind::Claim, "a", "p"));
        log.add(refusal(RefusalKind::Candidates, "b", "p"));
        log.add(refusal(RefusalKind::Candidates, "c", "q"));
        let all = || Filter {
            limit: 10,
            ..Filter::default()
        };
        let of_project = |project: &str| Filter {
            project: Some(project.to_owned()),
            ..all()
        };
        let of_request = |id: &str| Filter {
            request_id: Some(id.to_owned()),
            ..all()
        };
        let of_kind = Filter {
            kind: Some(RefusalKind::Candidates),
            ..all()
        };
        assert_eq!(ids(&log, all()), [3, 2, 1]);
        assert_eq!(ids(&log, of_project("p")), [2, 1]);
        assert_eq!(ids(&log, of_project("r")), [0; 0]);
        assert_eq!(ids(&log, of_kind), [3, 2]);
        assert_eq!(ids(&log, of_request("global-c")), [3]);
        assert_eq!(ids(&log, of_request("c")), [3]);
    }

    #[test]
    fn the_ids_of_many_requests_are_bounded() {
        let mut all = Vec::new();
        add_ids(&mut all, Some(&context("a")));
        add_ids(&mut all, Some(&context("a")));
        assert_eq!(all, ["global-a", "a"]);
        for number in 0..MAX_IDS {
            add_ids(&mut all, Some(&context(&number.to_string())));
        }
        assert_eq!(all.len(), MAX_IDS);
    }
}
