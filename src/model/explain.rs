//! Why a query has no candidate: for each condition, how many hosts the condition leaves out.
//!
//! Refused claims and workloads have the same reasons. Only a refused query is explained, because an explanation takes
//! several searches of all hosts.

mod amounts;
mod causes;
mod changes;
mod known;
mod named_providers;
mod query_text;
pub mod report;
#[cfg(test)]
mod tests;
mod words;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::interrupt::OPERATIONS_A_STEP;
use crate::search::{self, Conditions, ExplainedRequest, Request, SearchSettings, Slot, Snapshot, Thinning};
use causes::{CauseFinder, CauseHosts};
pub use known::KnownReasons;
pub use query_text::QueryText;
use words::Words;

/// The reasons: first the missing candidate, then [`conditions`].
pub fn reasons(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Reasons> {
    let explanation = search::explain(snapshot, request, None, settings)?;
    let conditions = cause_first(reasons_in_order(condition_counts(snapshot, &explanation, settings)?));
    let sentences = conditions.iter().map(|(reason, _)| &*reason.detail);
    let mut detail = none_of(explanation.all().len(), sentences);
    if !explanation.is_exact {
        detail += " Not all hosts were compared.";
    }
    let whole = Reason::new(ReasonCode::NoCandidate, detail);
    Ok(Reasons::of_whole(whole, MAX_SENTENCES, conditions))
}

/// The conditions with the number of hosts left out. The last condition is the cause and comes first, because its hosts
/// meet all conditions before.
pub fn conditions(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Vec<(Reason, usize)>> {
    let explanation = search::explain(snapshot, request, None, settings)?;
    let conditions = condition_counts(snapshot, &explanation, settings)?;
    Ok(cause_first(reasons_in_order(conditions)))
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
    settings: &SearchSettings,
) -> Result<Vec<ConditionCounts>> {
    let words = Words {
        snapshot,
        conditions: &explanation.conditions,
        named: None,
        strict: settings.strict_step,
    };
    let finder = CauseFinder::new(snapshot, explanation, settings);
    let thinnings = explanation.thinnings().enumerate();
    let counts = thinnings.filter(|(_, it)| it.left_out > 0).map(|(at, thinning)| {
        let steps = (thinning.left_out as u64).div_ceil(OPERATIONS_A_STEP);
        settings.interrupt.spend(steps);
        let hosts: Vec<Slot> = explanation.left_out(at).collect();
        let causes = if thinning.conditions > 1 {
            vec![CauseCount {
                reason: words.merged(thinning),
                left_out: thinning.left_out,
                examples: names(snapshot, &hosts),
            }]
        } else {
            let causes = finder.causes(thinning.condition, hosts)?.into_iter();
            let counted = causes.map(|found| CauseCount {
                reason: words.reason(thinning.condition, &found),
                left_out: found.hosts.len(),
                examples: names(snapshot, &found.hosts),
            });
            counted.collect()
        };
        Ok(ConditionCounts { thinning, causes })
    });
    counts.collect()
}

/// The reasons with the number of hosts left out, in the order of the conditions.
fn reasons_in_order(conditions: Vec<ConditionCounts>) -> impl DoubleEndedIterator<Item = (Reason, usize)> {
    let causes = conditions.into_iter().flat_map(|condition| condition.causes);
    causes.map(|cause| (cause.reason, cause.left_out))
}

/// The reasons with the number of hosts left out, in the order of the sentences: the cause first, and the reason with
/// the most hosts among the first [`MAX_SENTENCES`].
fn cause_first(in_order: impl DoubleEndedIterator<Item = (Reason, usize)>) -> Vec<(Reason, usize)> {
    let mut reasons: Vec<(Reason, usize)> = in_order.rev().collect();
    // Of equal numbers the first: `max_by_key` takes the last.
    let most = (0..reasons.len()).rev().max_by_key(|at| reasons[*at].1);
    if let Some(most) = most.filter(|most| *most >= MAX_SENTENCES) {
        let reason = reasons.remove(most);
        reasons.insert(MAX_SENTENCES - 1, reason);
    }
    reasons
}

/// The most conditions in a sentence.
const MAX_SENTENCES: usize = 4;

/// The answer in sentences, in the order of [`cause_first`].
fn none_of<'r>(hosts: usize, mut sentences: impl Iterator<Item = &'r str>) -> String {
    let mut detail = match hosts {
        0 => return "There is no host.".to_owned(),
        1 => "The only host cannot serve the query.".to_owned(),
        _ => format!("None of the {hosts} hosts can serve the query."),
    };
    for sentence in sentences.by_ref().take(MAX_SENTENCES) {
        detail = detail + " " + sentence;
    }
    match sentences.count() {
        0 => {}
        1 => detail += " 1 more condition leaves out hosts.",
        further => detail += &format!(" {further} more conditions leave out hosts."),
    }
    detail
}

/// The most names of hosts for a cause.
const MAX_EXAMPLES: usize = 3;

fn names(snapshot: &Snapshot, hosts: &[Slot]) -> Vec<String> {
    let hosts = hosts.iter().take(MAX_EXAMPLES);
    hosts.map(|host| snapshot.name(*host).to_owned()).collect()
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
        named: None,
        strict: settings.strict_step,
    };
    let unknown_name = conditions.unknown_name(snapshot.catalog(), condition);
    Ok(Some(HostRejection {
        reason: words.reason(condition, &CauseHosts::of_condition(vec![host])),
        unknown_name: unknown_name.map(str::to_owned),
    }))
}
