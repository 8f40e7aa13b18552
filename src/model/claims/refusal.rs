//! Why a query has no candidate: for each condition, how many providers the condition left out.
//!
//! Only a refused query is examined in this way, because no block of providers can be skipped.

mod together;
mod words;

use std::collections::BTreeMap;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::search::{self, ClassId, Explain, Rejection, Request, SearchSettings, Slot, Snapshot};

/// Which providers each condition left out, and whether there was a candidate. The condition of a query on hosts counts
/// hosts.
struct ReasonCounter<'a> {
    snapshot: &'a Snapshot,
    rejected: BTreeMap<Rejection, Rejected>,
    has_candidate: bool,
}

/// Providers, each counted once: a condition may leave out a provider for several parts of a request.
#[derive(Default)]
struct Rejected {
    /// By the index of the slot.
    is_counted: Vec<bool>,
    count: usize,
}

impl Explain for ReasonCounter<'_> {
    fn rejected(&mut self, slot: Slot, reason: Rejection) {
        let slot = match reason {
            Rejection::Condition { group: None, .. } => self.snapshot.cached_root(slot),
            _ => slot,
        };
        let Rejected { is_counted, count } = self.rejected.entry(reason).or_default();
        if is_counted.len() <= slot.index() {
            is_counted.resize(slot.index() + 1, false);
        }
        let is_counted = &mut is_counted[slot.index()];
        *count += usize::from(!*is_counted);
        *is_counted = true;
    }
}

impl ReasonCounter<'_> {
    /// The largest free amount of the class on a provider that the condition left out.
    fn most_free(&self, rejection: &Rejection, class: ClassId) -> Option<i64> {
        let Rejected { is_counted, .. } = self.rejected.get(rejection)?;
        let free = self.snapshot.iter().filter_map(|slot| {
            let is_left_out = is_counted.get(slot.index()).copied().unwrap_or_default();
            let limit = self.snapshot.inventory(slot, class).filter(|_| is_left_out)?.limit();
            Some(limit.saturating_sub(self.snapshot.used(slot, class)))
        });
        free.max()
    }

    fn count(&self, rejection: &Rejection) -> usize {
        self.rejected.get(rejection).map_or(0, |rejected| rejected.count)
    }
}

/// The reasons: first the missing candidate, then [`conditions`]. `beyond` is the snapshot without normal limits, if
/// `snapshot` has normal limits. A provider with room in `beyond` lacks only normal room.
pub fn reasons(
    snapshot: &Snapshot,
    beyond: Option<&Snapshot>,
    request: &Request,
    settings: &SearchSettings,
) -> Result<Reasons> {
    let providers = snapshot.len();
    let mut reasons = Reasons::from(Reason::new(
        ReasonCode::NoCandidate,
        format!("None of the {providers} resource providers, nor several of a tree together, can serve the query."),
    ));
    for (reason, count) in conditions(snapshot, beyond, request, settings)? {
        reasons.add_counted(reason, count);
    }
    Ok(reasons)
}

/// The conditions that leave a request without a candidate, each with the number of providers or trees. First come
/// conditions of the request as a whole. Conditions of providers follow, room among them, by the number of providers.
pub fn conditions(
    snapshot: &Snapshot,
    beyond: Option<&Snapshot>,
    request: &Request,
    settings: &SearchSettings,
) -> Result<Vec<(Reason, usize)>> {
    let counter = count(snapshot, request, settings)?;
    let beyond = beyond.map(|beyond| count(beyond, request, settings)).transpose()?;
    let mut reasons: Vec<(Reason, usize)> = unknown_trees(snapshot, request).map(|reason| (reason, 1)).collect();
    if !counter.has_candidate {
        let has_room_beyond = beyond.as_ref().is_some_and(|beyond| beyond.has_candidate);
        reasons.extend(together::conflict(snapshot, has_room_beyond, request, settings)?);
    }
    let counts = counter
        .rejected
        .iter()
        .flat_map(|(&rejection, Rejected { count: all, .. })| {
            let hard = match (rejection, &beyond) {
                (Rejection::NoRoom { .. }, Some(beyond)) => beyond.count(&rejection).min(*all),
                _ => *all,
            };
            [(rejection, false, hard), (rejection, true, all - hard)]
        });
    let mut counts: Vec<(Rejection, bool, usize)> = counts.filter(|(.., count)| *count > 0).collect();
    counts.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let conditions = counts.into_iter().map(|(rejection, is_normal, count)| {
        let free = match rejection {
            Rejection::NoRoom { class, .. } => {
                let counted = beyond.as_ref().filter(|_| !is_normal).unwrap_or(&counter);
                counted.most_free(&rejection, class)
            }
            _ => None,
        };
        let reason = Reason {
            free,
            ..words::condition(snapshot, request, rejection, is_normal, count)
        };
        (reason, count)
    });
    reasons.extend(conditions);
    Ok(reasons)
}

/// Why a single provider is rejected: the code, and the class with the amount if the code is about a class.
pub fn of_one(snapshot: &Snapshot, request: &Request, rejection: Rejection) -> Reason {
    words::condition(snapshot, request, rejection, false, 1)
}

fn count<'a>(snapshot: &'a Snapshot, request: &Request, settings: &SearchSettings) -> Result<ReasonCounter<'a>> {
    let mut counter = ReasonCounter {
        snapshot,
        rejected: BTreeMap::new(),
        has_candidate: false,
    };
    counter.has_candidate = search::explain_each_host(snapshot, request, settings, &mut counter)?;
    Ok(counter)
}

/// A reason for each `in_tree` that names no provider.
fn unknown_trees(snapshot: &Snapshot, request: &Request) -> impl Iterator<Item = Reason> {
    request.groups.iter().filter_map(|group| {
        let uuid = group.in_tree.as_deref()?;
        let detail = || format!("in_tree{} names no resource provider: {uuid}.", group.suffix);
        snapshot
            .by_uuid(uuid)
            .is_none()
            .then(|| Reason::new(ReasonCode::InTree, detail()))
    })
}
