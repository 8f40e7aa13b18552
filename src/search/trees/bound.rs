//! Bounds: necessary conditions for placing the remaining parts, which are cheap to check.
//!
//! - Every part has a provider that can take the part.
//! - Parts that need a provider each (isolation) can be matched with providers (bipartite matching, Hall's condition).
//! - For each contested class, the sum of amounts is at most the sum of room.
//! - For each contested class, parts can be matched with providers as if each part were as small as the smallest.
//!
//! Together the bounds decide everything but bin packing, which is `packing`.

use super::assignment::PartAssignment;
use super::capacity_bound::gcd;
use super::offers::TreeOffers;
use super::split_request::{PartKind, SplitRequest};

/// False only if the remaining parts cannot all be placed.
pub(super) fn may_succeed(request: &SplitRequest, offers: &TreeOffers, assignment: &PartAssignment) -> bool {
    if request.parts.len() - assignment.depth < 2 {
        return true;
    }
    let mut counts = vec![0; request.kinds.len()];
    assignment.remaining_kinds(request).for_each(|kind| counts[kind] += 1);
    let mut demands = Vec::new();
    for (kind, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let can_take = |provider: &u32| assignment.can_take(request, offers, kind, *provider as usize);
        let open: Vec<u32> = offers.options[kind].iter().copied().filter(can_take).collect();
        if open.is_empty() {
            return false;
        }
        let kind = &request.kinds[kind];
        demands.push(Demand { kind, count, open });
    }
    if request.isolate {
        let granular: Vec<&Demand<'_>> = demands.iter().filter(|demand| demand.kind.granular).collect();
        if !can_be_matched(&granular, offers.slots.len(), |_| 1) {
            return false;
        }
    }
    (0..request.classes.len()).all(|class| has_room(request, offers, assignment, &demands, class))
}

/// The remaining parts of one kind, and the providers with room for a part.
struct Demand<'a> {
    kind: &'a PartKind,
    count: usize,
    open: Vec<u32>,
}

impl Demand<'_> {
    fn amount(&self, class: usize) -> Option<i64> {
        let found = self.kind.contested.iter().find(|&&(other, _)| other == class);
        found.map(|&(_, amount)| amount)
    }
}

/// The conditions on one contested class.
fn has_room(
    request: &SplitRequest,
    offers: &TreeOffers,
    assignment: &PartAssignment,
    demands: &[Demand<'_>],
    class: usize,
) -> bool {
    let demands: Vec<&Demand<'_>> = demands.iter().filter(|demand| demand.amount(class).is_some()).collect();
    let amounts = || demands.iter().filter_map(|demand| demand.amount(class));
    let smallest = amounts().min().unwrap_or(0);
    if smallest <= 0 {
        return true;
    }
    let step = amounts().fold(0, gcd);
    let mut free = vec![0; offers.slots.len()];
    for &provider in demands.iter().flat_map(|demand| &demand.open) {
        let at = provider as usize * request.classes.len() + class;
        let left = offers.room[at] - assignment.load[at];
        // All amounts are multiples of the step, so a remainder cannot be used.
        free[provider as usize] = left - left % step;
    }
    let sums = demands
        .iter()
        .map(|demand| demand.amount(class).unwrap_or(0).saturating_mul(demand.count as i64));
    sums.fold(0, i64::saturating_add) <= free.iter().fold(0, |sum: i64, &free| sum.saturating_add(free))
        && can_be_matched(&demands, free.len(), |provider| (free[provider] / smallest) as usize)
}

/// Whether each part can have one of its open providers, if a provider takes at most `capacity` parts.
fn can_be_matched(demands: &[&Demand<'_>], providers: usize, capacity: impl Fn(usize) -> usize) -> bool {
    let all: usize = demands.iter().map(|demand| demand.count).sum();
    // If every part has at least as many open providers as there are parts, a matching always exists.
    if demands.iter().all(|demand| demand.open.len() >= all) {
        return true;
    }
    let mut seen = vec![false; providers];
    let mut offered = 0;
    for &provider in demands.iter().flat_map(|demand| &demand.open) {
        if !std::mem::replace(&mut seen[provider as usize], true) {
            offered += capacity(provider as usize);
        }
    }
    if offered < all {
        return false;
    }
    let parts = demands
        .iter()
        .flat_map(|demand| std::iter::repeat_n(demand.open.as_slice(), demand.count));
    let mut matching = Matching {
        parts: parts.collect(),
        assigned: vec![Vec::new(); providers],
        seen,
    };
    (0..all).all(|part| {
        matching.seen.fill(false);
        matching.augment(part, &capacity)
    })
}

/// A bipartite matching of parts with providers, which grows by augmenting paths (Kuhn's algorithm).
struct Matching<'a> {
    /// By part, the open providers.
    parts: Vec<&'a [u32]>,
    /// By provider, the assigned parts.
    assigned: Vec<Vec<usize>>,
    /// By provider, whether the current path has tried the provider.
    seen: Vec<bool>,
}

impl Matching<'_> {
    /// Matches one more part, moving matched parts if necessary. False if no matching exists.
    fn augment(&mut self, part: usize, capacity: &impl Fn(usize) -> usize) -> bool {
        let open = self.parts[part];
        for &provider in open {
            let provider = provider as usize;
            if self.assigned[provider].len() < capacity(provider) {
                self.assigned[provider].push(part);
                return true;
            }
        }
        for &provider in open {
            let provider = provider as usize;
            if std::mem::replace(&mut self.seen[provider], true) {
                continue;
            }
            for at in 0..self.assigned[provider].len() {
                if self.augment(self.assigned[provider][at], capacity) {
                    self.assigned[provider][at] = part;
                    return true;
                }
            }
        }
        false
    }
}
