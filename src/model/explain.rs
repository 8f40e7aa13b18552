//! Why a query has no candidate: for each condition, how many hosts the condition leaves out.
//!
//! Refused claims and workloads have the same reasons. Only a refused query is explained, because an explanation takes
//! several searches of all hosts.

#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::{self, Condition, Conditions, ExplainedRequest, Request, SearchSettings, Slot, Snapshot, Thinning};
use words::{Cause, Words};

/// The reasons: first the missing candidate, then [`conditions`].
pub fn reasons(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Reasons> {
    let explanation = search::explain(snapshot, request, settings)?;
    let conditions = counted(snapshot, &explanation, &settings.interrupt);
    let mut detail = format!("None of the {} hosts can serve the query.", explanation.all().len());
    if let Some((cause, _)) = conditions.first() {
        detail = format!("{detail} {}", cause.detail);
    }
    if !explanation.is_exact {
        detail += " Not all hosts were compared.";
    }
    let mut reasons = Reasons::from(Reason::new(ReasonCode::NoCandidate, detail));
    for (reason, count) in conditions {
        reasons.add_counted(reason, count);
    }
    Ok(reasons)
}

/// The conditions with the number of hosts left out. The last condition is the cause and comes first, because its hosts
/// meet all conditions before.
pub fn conditions(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Vec<(Reason, usize)>> {
    let explanation = search::explain(snapshot, request, settings)?;
    Ok(counted(snapshot, &explanation, &settings.interrupt))
}

fn counted(snapshot: &Snapshot, explanation: &ExplainedRequest, interrupt: &Interrupt) -> Vec<(Reason, usize)> {
    let words = Words {
        snapshot,
        conditions: &explanation.conditions,
    };
    let thinnings: Vec<_> = explanation
        .thinnings()
        .enumerate()
        .filter(|(_, it)| it.left_out > 0)
        .collect();
    let mut reasons = Vec::new();
    for (at, thinning) in thinnings.into_iter().rev() {
        let room = match thinning.condition {
            Condition::Amount { class, .. } => explanation.room(snapshot, class, interrupt),
            _ => None,
        };
        interrupt.spend((thinning.left_out as u64).div_ceil(OPERATIONS_A_STEP));
        for (cause, count) in causes(snapshot, explanation, at, thinning) {
            reasons.push((words.reason(thinning.condition, count, room, cause), count));
        }
    }
    reasons
}

/// The causes for which the hosts left out fail a condition, the most frequent first.
fn causes(snapshot: &Snapshot, explanation: &ExplainedRequest, at: usize, thinning: Thinning) -> Vec<(Cause, usize)> {
    let mut counts: BTreeMap<Cause, usize> = BTreeMap::new();
    for host in explanation.left_out(at) {
        let cause = match thinning.condition {
            Condition::Where { group: None } => {
                let expression = &explanation.conditions.request.host.condition;
                Cause::Verdict(expression.judge(|name| snapshot.property(host, name)))
            }
            Condition::State => Cause::State(snapshot.state(host)),
            _ => return vec![(Cause::Condition, thinning.left_out)],
        };
        *counts.entry(cause).or_default() += 1;
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
