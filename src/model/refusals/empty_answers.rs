//! Answers without a candidate: requests note them, and a thread explains the notes later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use super::add_ids;
use crate::error::{ReasonCode, Reasons};
use crate::log_context::LogContext;
use crate::search::{Request, Snapshot};
use crate::statistics::Counter;

/// The most different queries that wait for an explanation. A further empty answer is only counted.
const MAX_NOTES: usize = 50;

/// The codes of the cause of an empty answer. The hosts of the cause meet all other conditions.
const CAUSES: [ReasonCode; 14] = [
    ReasonCode::NoInventory,
    ReasonCode::ClassNotFound,
    ReasonCode::InTree,
    ReasonCode::State,
    ReasonCode::Domain,
    ReasonCode::Aggregates,
    ReasonCode::RootTraits,
    ReasonCode::Traits,
    ReasonCode::Condition,
    ReasonCode::Units,
    ReasonCode::NoRoom,
    ReasonCode::NoRoomNormal,
    ReasonCode::Groups,
    // There is no host.
    ReasonCode::NoCandidate,
];

/// A search without a candidate.
#[derive(Clone, Debug)]
pub struct EmptyAnswer {
    pub request: Arc<Request>,
    /// The version that answered.
    pub snapshot: Arc<Snapshot>,
    /// Whether normal limits counted.
    pub is_normal: bool,
}

/// Equal queries of a project without a candidate, since the last look at the notes.
#[derive(Debug)]
pub struct EmptyAnswerNote {
    pub answer: EmptyAnswer,
    pub time: DateTime<Utc>,
    pub count: u64,
    pub project: Option<String>,
    pub request_ids: Vec<String>,
}

/// The project, the query, and whether normal limits counted.
type NoteKey = (Option<String>, Arc<Request>, bool);

/// The notes of a process, and the counts of its empty answers.
#[derive(Debug, Default)]
pub struct EmptyAnswers {
    notes: Mutex<HashMap<NoteKey, EmptyAnswerNote>>,
    /// In the order of [`CAUSES`].
    by_cause: [Counter; CAUSES.len()],
    unexplained: Counter,
}

impl EmptyAnswers {
    /// Notes an empty answer to the request of `context`.
    pub fn note(&self, answer: EmptyAnswer, context: Option<&LogContext>) {
        let caller = context.and_then(|context| context.caller.get());
        let project = caller.and_then(|caller| caller.project.clone());
        let key = (project.clone(), Arc::clone(&answer.request), answer.is_normal);
        let mut notes = self.lock();
        let is_full = notes.len() >= MAX_NOTES;
        let note = match notes.get_mut(&key) {
            Some(note) => note,
            None if is_full => {
                self.count_unexplained(1);
                return;
            }
            None => notes.entry(key).or_insert(EmptyAnswerNote {
                answer,
                time: Utc::now(),
                count: 0,
                project,
                request_ids: Vec::new(),
            }),
        };
        note.count += 1;
        add_ids(&mut note.request_ids, context);
    }

    /// The notes since the last call, the oldest first.
    pub(super) fn take(&self) -> Vec<EmptyAnswerNote> {
        let mut notes: Vec<EmptyAnswerNote> = std::mem::take(&mut *self.lock()).into_values().collect();
        notes.sort_by_key(|note| note.time);
        notes
    }

    /// The numbers of empty answers by the name of the cause.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let by_cause = CAUSES.iter().zip(&self.by_cause);
        let by_cause = by_cause.map(|(code, count)| (code.short_name(), count.value()));
        by_cause.chain([("unexplained", self.unexplained.value())])
    }

    /// Counts answers by their cause.
    pub(super) fn count(&self, reasons: &Reasons, answers: u64) {
        // The first reason is the missing candidate.
        let cause = reasons
            .kept()
            .get(1)
            .map_or(ReasonCode::NoCandidate, |reason| reason.code);
        match CAUSES.iter().position(|code| *code == cause) {
            Some(at) => self.by_cause[at].add(answers),
            None => self.count_unexplained(answers),
        }
    }

    pub(super) fn count_unexplained(&self, answers: u64) {
        self.unexplained.add(answers);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NoteKey, EmptyAnswerNote>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::log_context::CallerIds;
    use crate::search::Group;

    pub fn empty(amount: i64) -> EmptyAnswer {
        let group = Group {
            resources: vec![("VCPU".to_owned(), amount)],
            ..Group::default()
        };
        let request = Request::of_groups(vec![group]);
        EmptyAnswer {
            request: Arc::new(request),
            snapshot: Arc::default(),
            is_normal: false,
        }
    }

    fn of_project(project: &str) -> LogContext {
        let context = LogContext {
            request_id: format!("req-{project}"),
            ..LogContext::default()
        };
        let caller = CallerIds {
            project: Some(project.to_owned()),
            ..CallerIds::default()
        };
        context.caller.set(caller).expect("the context is new");
        context
    }

    pub fn counts(answers: &EmptyAnswers) -> Vec<(&'static str, u64)> {
        answers.counts().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn equal_queries_are_one_note_and_many_different_ones_are_only_counted() {
        let answers = EmptyAnswers::default();
        for amount in [1, 2, 1] {
            answers.note(empty(amount), None);
        }
        let notes: Vec<u64> = answers.take().iter().map(|note| note.count).collect();
        assert_eq!(notes, [2, 1]);
        assert!(answers.take().is_empty());
        for amount in 0..MAX_NOTES as i64 + 7 {
            answers.note(empty(amount), None);
        }
        answers.note(empty(0), None);
        assert_eq!(counts(&answers), [("unexplained", 7)]);
        assert_eq!(answers.take().len(), MAX_NOTES);
    }

    #[test]
    fn equal_queries_of_two_projects_are_two_notes() {
        let answers = EmptyAnswers::default();
        for project in ["p", "q", "p"] {
            answers.note(empty(1), Some(&of_project(project)));
        }
        let mut notes = answers.take();
        notes.sort_by(|one, other| one.project.cmp(&other.project));
        let found: Vec<_> = notes
            .iter()
            .map(|note| (note.project.as_deref(), note.count, &note.request_ids[..]))
            .collect();
        assert_eq!(
            found,
            [
                (Some("p"), 2, &["req-p".to_owned()][..]),
                (Some("q"), 1, &["req-q".to_owned()][..]),
            ]
        );
    }
}
