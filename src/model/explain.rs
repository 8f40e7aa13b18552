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
use crate::search::{
    self, Condition, Conditions, ExplainedRequest, Request, SearchSettings, Slot, Snapshot, Thinning, Truth,
};
pub use known::KnownReasons;
pub use query_text::QueryText;
use words::{Cause, Words};

/// The reasons: first the missing candidate, then [`conditions`].
pub fn reasons(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Reasons> {
    let explanation = search::explain(snapshot, request, None, settings)?;
    let conditions = condition_counts(snapshot, &explanation, &settings.interrupt);
    let mut detail = none_of(
        explanation.all().len(),
        conditions.iter().flat_map(|it| &it.causes).map(|it| &it.reason),
    );
    if !explanation.is_exact {
        detail += " Not all hosts were compared.";
    }
    let mut reasons = Reasons::from(Reason::new(ReasonCode::NoCandidate, detail));
    for (reason, count) in last_first(conditions) {
        reasons.add_counted(reason, count);
    }
    Ok(reasons)
}

/// The conditions with the number of hosts left out. The last condition is the cause and comes first, because its hosts
/// meet all conditions before.
pub fn conditions(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Vec<(Reason, usize)>> {
    let explanation = search::explain(snapshot, request, None, settings)?;
    Ok(last_first(condition_counts(snapshot, &explanation, &settings.interrupt)).collect())
}

/// A condition that leaves out hosts, with the causes.
struct ConditionCounts {
    thinning: Thinning,
    /// The cause nearest to a candidate comes last.
    causes: Vec<CauseCount>,
}

/// Why hosts fail a condition, and the hosts.
struct CauseCount {
    reason: Reason,
    left_out: usize,
    /// The first [`MAX_EXAMPLES`] hosts, by name.
    examples: Vec<String>,
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
            let merged = CauseCount {
                reason: words.merged(thinning),
                left_out: thinning.left_out,
                examples: names(snapshot, explanation.left_out(at)),
            };
            return ConditionCounts {
                thinning,
                causes: vec![merged],
            };
        }
        let causes = causes(snapshot, explanation, at, thinning).into_iter();
        let causes = causes.map(|(cause, left_out, examples)| CauseCount {
            reason: words.reason(thinning.condition, left_out, room, cause),
            left_out,
            examples,
        });
        ConditionCounts {
            thinning,
            causes: causes.collect(),
        }
    });
    counts.collect()
}

/// The reasons with the number of hosts left out, the cause first.
fn last_first(conditions: Vec<ConditionCounts>) -> impl Iterator<Item = (Reason, usize)> {
    let causes = conditions
        .into_iter()
        .rev()
        .flat_map(|condition| condition.causes.into_iter().rev());
    causes.map(|cause| (cause.reason, cause.left_out))
}

/// The most conditions in a sentence.
const MAX_SENTENCES: usize = 4;

/// The answer in sentences. `reasons` in the order of the conditions: the last is the cause and comes first, because
/// its hosts meet all conditions before.
fn none_of<'r>(hosts: usize, reasons: impl DoubleEndedIterator<Item = &'r Reason>) -> String {
    let mut reasons = reasons.rev();
    let mut sentences: Vec<String> = reasons
        .by_ref()
        .take(MAX_SENTENCES)
        .map(|reason| reason.detail.clone())
        .collect();
    let further = reasons.count();
    if further > 0 {
        sentences.push(format!("{further} more conditions leave out hosts."));
    }
    let first = match hosts {
        0 => return "There is no host.".to_owned(),
        1 => "The only host cannot serve the query.".to_owned(),
        _ => format!("None of the {hosts} hosts can serve the query."),
    };
    sentences.insert(0, first);
    sentences.join(" ")
}

/// The most names of hosts for a cause.
const MAX_EXAMPLES: usize = 3;

fn names(snapshot: &Snapshot, hosts: impl Iterator<Item = Slot>) -> Vec<String> {
    let hosts = hosts.take(MAX_EXAMPLES);
    hosts.map(|host| snapshot.name(host).to_owned()).collect()
}

/// The causes for which the hosts left out fail a condition, with the number and the names of hosts. Hosts whose
/// property has another value are nearer to a candidate than hosts without the property.
fn causes(
    snapshot: &Snapshot,
    explanation: &ExplainedRequest,
    at: usize,
    thinning: Thinning,
) -> Vec<(Cause, usize, Vec<String>)> {
    let request = explanation.conditions.request;
    if !matches!(thinning.condition, Condition::Where { group: None } | Condition::State) {
        let examples = names(snapshot, explanation.left_out(at));
        return vec![(Cause::Condition, thinning.left_out, examples)];
    }
    let mut hosts: BTreeMap<Cause, Vec<Slot>> = BTreeMap::new();
    for host in explanation.left_out(at) {
        let cause = Cause::of_host(snapshot, request, thinning.condition, host);
        hosts.entry(cause).or_default().push(host);
    }
    let mut causes: Vec<(Cause, Vec<Slot>)> = hosts.into_iter().collect();
    causes.sort_by_key(|(cause, hosts)| (*cause == Cause::Verdict(Truth::False), hosts.len()));
    let counted = causes.into_iter();
    counted
        .map(|(cause, hosts)| (cause, hosts.len(), names(snapshot, hosts.into_iter())))
        .collect()
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
