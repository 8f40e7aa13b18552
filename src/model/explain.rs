//! Why a query has no candidate: for each condition, how many hosts the condition leaves out.
//!
//! Refused claims and workloads have the same reasons. Only a refused query is explained, because an explanation takes
//! several searches of all hosts.

mod amounts;
mod causes;
mod changes;
mod known;
mod query_text;
pub mod report;
#[cfg(test)]
mod tests;
mod words;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::{self, Conditions, ExplainedRequest, Request, SearchSettings, Slot, Snapshot, Thinning};
use causes::{CauseHosts, causes};
pub use known::KnownReasons;
pub use query_text::QueryText;
use words::Words;

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
    let whole = Reason::new(ReasonCode::NoCandidate, detail);
    Ok(Reasons::of_whole(whole, MAX_SENTENCES, last_first(conditions)))
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
        interrupt.spend((thinning.left_out as u64).div_ceil(OPERATIONS_A_STEP));
        let hosts: Vec<Slot> = explanation.left_out(at).collect();
        let causes = if thinning.conditions > 1 {
            vec![CauseCount {
                reason: words.merged(thinning),
                left_out: thinning.left_out,
                examples: names(snapshot, &hosts),
            }]
        } else {
            let causes = causes(snapshot, explanation, thinning.condition, hosts, interrupt).into_iter();
            let counted = causes.map(|found| CauseCount {
                reason: words.reason(thinning.condition, &found),
                left_out: found.hosts.len(),
                examples: names(snapshot, &found.hosts),
            });
            counted.collect()
        };
        ConditionCounts { thinning, causes }
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
    };
    let unknown_name = conditions.unknown_name(snapshot.catalog(), condition);
    Ok(Some(HostRejection {
        reason: words.reason(condition, &CauseHosts::of_condition(vec![host])),
        unknown_name: unknown_name.map(str::to_owned),
    }))
}
