//! The plan of a request about a workload: the rows to write, and the report of the workload after the write.

use super::report::{Change, Report};
use super::{Set, SetAnswer};

/// The rows to write, and the workload after the write.
#[derive(Debug, Clone)]
pub struct Planned {
    pub set: Set,
    pub report: Report,
    /// Whether nothing is written: the request repeats the stored state, or is a retry that finds no place.
    pub is_unchanged: bool,
}

impl Planned {
    /// The report of the write, with the writer's answer to the last attempt.
    pub fn written(self, claimed: &SetAnswer, attempts: u32) -> Report {
        let change = Change {
            placed: self.set.placed.iter().map(|choice| choice.uuid().to_owned()).collect(),
            released: self.set.released.into_iter().map(|(consumer, _)| consumer).collect(),
            attempts,
        };
        Report {
            change,
            ..self.report.with_claimed(claimed)
        }
    }
}
