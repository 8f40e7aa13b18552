//! Why a query has no candidate: for each condition, how many hosts the condition leaves out.
//!
//! Refused claims and workloads have the same reasons. Only a refused query is explained, because an explanation takes
//! several searches of all hosts.

mod changes;
mod known;
mod query_text;
pub mod report;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::{self, Condition, Conditions, ExplainedRequest, Request, SearchSettings, Slot, Snapshot, Thinning};
pub use known::KnownReasons;
pub use query_text::QueryText;
use words::{Cause, Words};

/// The reasons: first the missing candidate, then [`conditions`].
pub fn reasons(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Reasons> {
    let explanation = search::explain(snapshot, request, None, settings)?;
    let conditions = condition_counts(snapshot, &explanation, &settings.interrupt);
    let mut detail = none_of(explanation.all().len(), cause(&conditions));
    if !explanation.is_exact {
        detail += " Not all hosts were compared.";
    }
    let mut reasons = Reasons::from(Reason::new(ReasonCode::NoCandidate, detail));
    for (reason, count) in cause_first(conditions) {
        reasons.add_counted(reason, count);
    }
    Ok(reasons)
}

/// The conditions with the number of hosts left out. The last condition is the cause and comes first, because its hosts
/// meet all conditions before.
pub fn conditions(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Vec<(Reason, usize)>> {
    let explanation = search::explain(snapshot, request, None, settings)?;
    Ok(cause_first(condition_counts(snapshot, &explanation, &settings.interrupt)).collect())
}

/// A condition that leaves out hosts, with a reason for each cause, the most frequent cause first.
struct ConditionCounts {
    thinning: Thinning,
    /// With the number of hosts.
    reasons: Vec<(Reason, usize)>,
}

/// The conditions that leave out hosts, in their order.
fn condition_counts(
    snapshot: &Snapshot,
    explanation: &ExplainedRequest,
    interrupt: &Interrupt,
) -> Vec<ConditionCounts> {
    let words = Words {
        snapshot,
        conditions: &explanation.conditions,
    };
    let thinnings = explanation.thinnings().enumerate();
    let counts = thinnings.filter(|(_, it)| it.left_out > 0).map(|(at, thinning)| {
        let room = match thinning.condition {
            Condition::Amount { class, .. } => explanation.room(snapshot, class, interrupt),
            _ => None,
        };
        interrupt.spend((thinning.left_out as u64).div_ceil(OPERATIONS_A_STEP));
        if thinning.conditions > 1 {
            return ConditionCounts {
                thinning,
                reasons: vec![(words.merged(thinning), thinning.left_out)],
            };
        }
        let causes = causes(snapshot, explanation, at, thinning).into_iter();
        let reasons = causes.map(|(cause, count)| (words.reason(thinning.condition, count, room, cause), count));
        ConditionCounts {
            thinning,
            reasons: reasons.collect(),
        }
    });
    counts.collect()
}

fn cause_first(conditions: Vec<ConditionCounts>) -> impl Iterator<Item = (Reason, usize)> {
    conditions.into_iter().rev().flat_map(|condition| condition.reasons)
}

/// The reason of the last condition, whose hosts meet all conditions before.
fn cause(conditions: &[ConditionCounts]) -> Option<&Reason> {
    let last = conditions.last()?;
    last.reasons.first().map(|(reason, _)| reason)
}

fn none_of(hosts: usize, cause: Option<&Reason>) -> String {
    let cause = cause.map_or_else(String::new, |cause| format!(" {}", cause.detail));
    match hosts {
        0 => "There is no host.".to_owned(),
        1 => format!("The only host cannot serve the query.{cause}"),
        _ => format!("None of the {hosts} hosts can serve the query.{cause}"),
    }
}

/// The causes for which the hosts left out fail a condition, the most frequent first.
fn causes(snapshot: &Snapshot, explanation: &ExplainedRequest, at: usize, thinning: Thinning) -> Vec<(Cause, usize)> {
    let request = explanation.conditions.request;
    if !matches!(thinning.condition, Condition::Where { group: None } | Condition::State) {
        return vec![(Cause::Condition, thinning.left_out)];
    }
    let mut counts: BTreeMap<Cause, usize> = BTreeMap::new();
    for host in explanation.left_out(at) {
        *counts
            .entry(Cause::of_host(snapshot, request, thinning.condition, host))
            .or_default() += 1;
    }
    let mut counts: Vec<(Cause, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Why a host is not what a request asks for.
pub struct HostRejection {
    pub reason: Reason,
    /// The class or trait of the reason, if the name does not exist.
    pub unknown_name: Option<String>,
}

/// The first condition that a host fails if room does not count. `None` if the host has a candidate without regard to
/// room.
pub fn of_host_but_room(
    snapshot: &Snapshot,
    request: &Request,
    host: Slot,
    settings: &SearchSettings,
) -> Result<Option<HostRejection>> {
    let Some(condition) = search::first_failed_but_room(snapshot, request, host, settings)? else {
        return Ok(None);
    };
    let conditions = Conditions::of(request);
    let words = Words {
        snapshot,
        conditions: &conditions,
    };
    let unknown_name = conditions.unknown_name(snapshot.catalog(), condition);
    Ok(Some(HostRejection {
        reason: words.reason(condition, 1, None, Cause::Condition),
        unknown_name: unknown_name.map(str::to_owned),
    }))
}
