//! Why a query has no candidate: for each condition, how many hosts the condition leaves out.
//!
//! Refused claims and workloads have the same reasons. Only a refused query is explained, because an explanation takes
//! several searches of all hosts.

mod words;

use std::collections::BTreeMap;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::search::{
    self, Condition, Conditions, ExplainedRequest, Request, SearchSettings, Slot, Snapshot, Thinning, Truth,
};
use words::Words;

/// The reasons: first the missing candidate, then [`conditions`].
pub fn reasons(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Reasons> {
    let explanation = search::explain(snapshot, request, settings)?;
    let conditions = counted(snapshot, &explanation);
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
    Ok(counted(snapshot, &search::explain(snapshot, request, settings)?))
}

fn counted(snapshot: &Snapshot, explanation: &ExplainedRequest) -> Vec<(Reason, usize)> {
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
            Condition::Amount { class, .. } => explanation.room(snapshot, class),
            _ => None,
        };
        for (verdict, count) in verdicts(snapshot, explanation, at, thinning) {
            reasons.push((words.reason(thinning.condition, count, room, verdict), count));
        }
    }
    reasons
}

/// The verdicts of the condition `where` on the hosts left out, the most frequent first. Every condition but `where` is
/// false for all hosts left out.
fn verdicts(snapshot: &Snapshot, explanation: &ExplainedRequest, at: usize, thinning: Thinning) -> Vec<(Truth, usize)> {
    if thinning.condition != (Condition::Where { group: None }) {
        return vec![(Truth::False, thinning.left_out)];
    }
    let expression = &explanation.conditions.request.host.condition;
    let mut counts: BTreeMap<Truth, usize> = BTreeMap::new();
    for host in explanation.left_out(at) {
        let verdict = expression.judge(|name| snapshot.property(host, name));
        *counts.entry(verdict).or_default() += 1;
    }
    let mut counts: Vec<(Truth, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The first condition that a host fails if room does not count. `None` if the host has a candidate without regard to
/// room.
pub fn of_host_but_room(
    snapshot: &Snapshot,
    request: &Request,
    host: Slot,
    settings: &SearchSettings,
) -> Result<Option<Reason>> {
    let Some(condition) = search::first_failed_but_room(snapshot, request, host, settings)? else {
        return Ok(None);
    };
    let conditions = Conditions::of(request);
    let words = Words {
        snapshot,
        conditions: &conditions,
    };
    Ok(Some(words.reason(condition, 1, None, Truth::False)))
}
