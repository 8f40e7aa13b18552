//! The plan of a request about a workload: the rows to write, and the report of the workload after the write.

use super::report::{Change, Report};
use super::{Incarnation, Put, Set, SetAnswer};

/// The rows to write, and the workload after the write.
#[derive(Debug, Clone)]
pub struct Planned {
    pub set: Set,
    pub report: Report,
}

impl Planned {
    /// With the random number of a new workload.
    pub fn with_incarnation(mut self) -> Planned {
        if let (None, Some(row)) = (self.set.known, &mut self.set.row) {
            (row.named, _) = Incarnation::random().range();
        }
        self
    }

    /// Whether the plan writes nothing: the request repeats the stored state, or is a retry that finds no place.
    pub fn is_unchanged(&self, put: &Put) -> bool {
        let Planned { set, .. } = self;
        let is_same = set.row.as_ref().is_some_and(|row| Some(row.generation) == set.known);
        is_same || put.is_retry && set.placed.is_empty()
    }

    /// The report of the write, with the writer's answer.
    pub fn written(self, claimed: &SetAnswer) -> Report {
        let change = Change {
            placed: self.set.placed.iter().map(|choice| choice.uuid().to_owned()).collect(),
            released: self.set.released.len(),
        };
        Report {
            change,
            ..self.report.with_claimed(claimed)
        }
    }
}
