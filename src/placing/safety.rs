//! What a judgement says of failures.

use super::rules::Axis;

/// Whether the majority of the replicas is alive, and stays alive after failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safety {
    /// Whether a majority of the wanted replicas is alive outside of each domain of a spread dimension. `None` without
    /// quorum, if n is below 2, or if no `Spread` rule compares anything.
    pub is_safe: Option<bool>,
    /// Whether fewer replicas than a majority are alive now. `None` without quorum or without wanted replicas.
    pub is_quorum_lost: Option<bool>,
    /// By spread dimension. Empty if `is_safe` is `None`.
    pub survives: Vec<Survives>,
}

/// The fewest failures in one dimension after which no majority is alive. 0 if the majority is lost already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survives {
    pub axis: Axis,
    /// The fewest domains. `None` if the loss of all domains leaves a majority.
    pub domains: Option<u32>,
    /// The fewest domains and single replicas together.
    pub failures: u32,
}
