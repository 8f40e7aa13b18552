//! Explains noted answers without a candidate, on a thread of low priority.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};

use super::empty_answers::{EmptyAnswer, EmptyAnswerNote};
use super::{MAX_QUERY_BYTES, RefusalKind, RefusalLog, RefusalRecord, bounded};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::explain::{self, QueryText};
use crate::pools::{lower_priority, processor_time};
use crate::search::SearchSettings;

/// The most steps of an explanation, some seconds of a core.
const MAX_STEPS: u64 = 1_000_000;
/// On a busy core, the thread gets about a seventieth of the time.
const NICENESS: i32 = 19;
/// An older note is not explained. On a busy machine the thread waits, and a note keeps its version of the snapshot.
const MAX_AGE: TimeDelta = TimeDelta::seconds(10);

/// The work of the thread.
pub struct RefusalExplainer {
    log: Arc<RefusalLog>,
    settings: SearchSettings,
    stop: Interrupt,
}

impl RefusalExplainer {
    pub fn new(log: Arc<RefusalLog>, settings: SearchSettings) -> RefusalExplainer {
        RefusalExplainer {
            log,
            settings,
            stop: Interrupt::default(),
        }
    }

    /// Ends the present explanation.
    pub fn interrupt(&self) -> impl FnOnce() + Send + use<> {
        let stop = self.stop.clone();
        move || stop.set()
    }

    /// Marks the beginning of the thread.
    pub fn begin(&self) {
        lower_priority(NICENESS);
    }

    /// Explains the notes since the last call. Calls `write` with the line of each explanation for the log. Returns the
    /// processor time that the explanations took.
    pub fn explain_notes(&self, mut write: impl FnMut(String)) -> Duration {
        let began = processor_time();
        for note in self.log.empty.take() {
            let answers = note.count;
            let explained = if Utc::now() - note.time > MAX_AGE {
                None
            } else {
                // The panic hook has logged the panic. The next note may be explained.
                catch_unwind(AssertUnwindSafe(|| self.explain(note).ok())).unwrap_or_default()
            };
            match explained {
                Some(refusal) => write(line(&refusal)),
                None => self.log.empty.count_unexplained(answers),
            }
        }
        processor_time() - began
    }

    fn explain(&self, note: EmptyAnswerNote) -> Result<Arc<RefusalRecord>> {
        let EmptyAnswer {
            request,
            snapshot,
            is_normal,
        } = note.answer;
        let settings = self.settings.interrupted_by(&self.stop.part(MAX_STEPS));
        let reasons = if is_normal && snapshot.catalog().has_normal_limits() {
            explain::reasons(&snapshot.at_normal_limits(), &request, &settings)?
        } else {
            explain::reasons(&snapshot, &request, &settings)?
        };
        let kind = if request.host.only_up {
            RefusalKind::Candidates
        } else {
            RefusalKind::AllocationCandidates
        };
        let refusal = self.log.add(RefusalRecord {
            id: 0,
            time: note.time,
            kind,
            subject: None,
            query: Some(QueryText::of(&request, MAX_QUERY_BYTES)),
            may_exceed_normal: !is_normal,
            count: note.count,
            project: note.project,
            request_ids: note.request_ids,
            reasons: bounded(&reasons),
        });
        // Counted after the refusal is listed: a reader of the metric finds the refusal.
        self.log.empty.count(&reasons, note.count);
        Ok(refusal)
    }
}

/// The line of the log: the cause, and the ids of the requests.
fn line(refusal: &RefusalRecord) -> String {
    let detail = refusal.reasons.kept().first().map_or("", |reason| &reason.detail);
    let ids = refusal.request_ids.join(", ");
    match refusal.count {
        1 => format!("no candidates: {detail} ({ids})"),
        count => format!("no candidates: {detail} ({count} requests: {ids})"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::empty_answers::tests::{counts, empty};
    use super::*;
    use crate::search::{Catalog, ClassId, Inventory, NormalLimit, ProviderId, ProviderRow, Snapshot};

    fn explainer() -> RefusalExplainer {
        RefusalExplainer::new(Arc::default(), SearchSettings::uncut(0))
    }

    /// A host with 4 VCPU, of which half are within the normal limit.
    fn snapshot() -> Snapshot {
        let class = ClassId(0);
        let mut host = ProviderRow::bare(ProviderId(1), "uuid".to_owned(), "name".to_owned());
        let inventory = Inventory {
            max_unit: 100,
            ..Inventory::whole(4)
        };
        host.inventories.insert(class, inventory);
        let catalog = Catalog::new(vec![(class, "VCPU".into())], Vec::new(), Vec::new());
        Snapshot::build(
            catalog.with_limits([("VCPU".into(), NormalLimit::Buffer(500_000))].into()),
            vec![host],
        )
    }

    fn lines(explainer: &RefusalExplainer) -> Vec<String> {
        let mut lines = Vec::new();
        explainer.explain_notes(|line| lines.push(line));
        lines
    }

    #[test]
    fn each_answer_of_a_note_is_counted_by_its_cause() {
        let explainer = explainer();
        for _ in 0..3 {
            explainer.log.empty.note(empty(1), None);
        }
        assert_eq!(lines(&explainer), ["no candidates: There is no host. (3 requests: )"]);
        assert_eq!(counts(&explainer.log.empty), [("no_candidate", 3)]);
    }

    #[test]
    fn the_limits_of_the_answer_hold_for_the_explanation() {
        let (explainer, snapshot) = (explainer(), Arc::new(snapshot()));
        for (amount, is_normal) in [(3, true), (5, false)] {
            let answer = EmptyAnswer {
                snapshot: Arc::clone(&snapshot),
                is_normal,
                ..empty(amount)
            };
            explainer.log.empty.note(answer, None);
            lines(&explainer);
        }
        assert_eq!(counts(&explainer.log.empty), [("no_room", 1), ("no_room_normal", 1)]);
    }

    #[test]
    fn an_interrupted_explanation_counts_as_unexplained() {
        let explainer = explainer();
        let answer = EmptyAnswer {
            snapshot: Arc::new(snapshot()),
            ..empty(9)
        };
        explainer.interrupt()();
        explainer.log.empty.note(answer, None);
        assert_eq!(lines(&explainer), [""; 0]);
        assert_eq!(counts(&explainer.log.empty), [("unexplained", 1)]);
    }
}
