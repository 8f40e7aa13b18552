//! What no way to place the parts that are left can have: cheap proofs that there is none.
//!
//! Parts that need providers of their own are matched with providers; parts that share a class are matched as if each
//! were the smallest of them, and summed up. Each of these is necessary; together they decide all but packing.

use super::ask::{Ask, Kind};
use super::board::Board;
use super::placing::Placing;

/// False only where the parts that are left cannot all be placed.
pub(super) fn promises(ask: &Ask, board: &Board, placing: &Placing) -> bool {
    let left = &placing.order[placing.depth..];
    if left.len() < 2 {
        return true;
    }
    let mut counts = vec![0; ask.kinds.len()];
    left.iter().for_each(|&part| counts[ask.parts[part].kind] += 1);
    let mut wanted = Vec::new();
    for (kind, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let open = |provider: &u32| placing.is_open(ask, board, kind, *provider as usize);
        let open: Vec<u32> = board.options[kind].iter().copied().filter(open).collect();
        if open.is_empty() {
            return false;
        }
        let kind = &ask.kinds[kind];
        wanted.push(Wanted { kind, count, open });
    }
    if ask.isolate {
        let granular: Vec<&Wanted<'_>> = wanted.iter().filter(|it| it.kind.granular).collect();
        if !assignable(&granular, board.slots.len(), |_| 1) {
            return false;
        }
    }
    (0..ask.classes.len()).all(|class| has_room(ask, board, placing, &wanted, class))
}

/// Parts of one kind that are left, and who could take one.
struct Wanted<'a> {
    kind: &'a Kind,
    count: usize,
    open: Vec<u32>,
}

impl Wanted<'_> {
    fn amount(&self, class: usize) -> Option<i64> {
        let found = self.kind.contested.iter().find(|&&(it, _)| it == class);
        found.map(|&(_, amount)| amount)
    }
}

fn has_room(ask: &Ask, board: &Board, placing: &Placing, wanted: &[Wanted<'_>], class: usize) -> bool {
    let wanted: Vec<&Wanted<'_>> = wanted.iter().filter(|it| it.amount(class).is_some()).collect();
    let least = wanted.iter().filter_map(|it| it.amount(class)).min().unwrap_or(0);
    if least <= 0 {
        return true;
    }
    let step = wanted.iter().filter_map(|it| it.amount(class)).fold(0, common_divisor);
    let mut left = vec![0; board.slots.len()];
    for &provider in wanted.iter().flat_map(|it| &it.open) {
        let at = provider as usize * ask.classes.len() + class;
        let free = board.room[at] - placing.load[at];
        // What is left over by amounts that are all multiples of one number is lost.
        left[provider as usize] = free - free % step;
    }
    let demand = wanted
        .iter()
        .map(|it| it.amount(class).unwrap_or(0).saturating_mul(it.count as i64));
    demand.fold(0, i64::saturating_add) <= left.iter().fold(0, |sum: i64, &left| sum.saturating_add(left))
        && assignable(&wanted, left.len(), |provider| (left[provider] / least) as usize)
}

pub(super) fn common_divisor(one: i64, other: i64) -> i64 {
    if other == 0 {
        one
    } else {
        common_divisor(other, one % other)
    }
}

/// Can each part have one of its providers, where a provider takes as many as `places` says?
fn assignable(wanted: &[&Wanted<'_>], providers: usize, places: impl Fn(usize) -> usize) -> bool {
    let all: usize = wanted.iter().map(|it| it.count).sum();
    // With as many providers for each as there are parts, each finds one that is left.
    if wanted.iter().all(|it| it.open.len() >= all) {
        return true;
    }
    let mut seen = vec![false; providers];
    let mut offered = 0;
    for &provider in wanted.iter().flat_map(|it| &it.open) {
        if !std::mem::replace(&mut seen[provider as usize], true) {
            offered += places(provider as usize);
        }
    }
    if offered < all {
        return false;
    }
    let parts = wanted
        .iter()
        .flat_map(|it| std::iter::repeat_n(it.open.as_slice(), it.count));
    let mut matching = Matching {
        parts: parts.collect(),
        hosted: vec![Vec::new(); providers],
        seen,
    };
    (0..all).all(|part| {
        matching.seen.fill(false);
        matching.take(part, &places)
    })
}

/// Parts and providers, matched one part after the other along augmenting paths.
struct Matching<'a> {
    parts: Vec<&'a [u32]>,
    /// By provider.
    hosted: Vec<Vec<usize>>,
    seen: Vec<bool>,
}

impl Matching<'_> {
    fn take(&mut self, part: usize, places: &impl Fn(usize) -> usize) -> bool {
        let open = self.parts[part];
        for &provider in open {
            let provider = provider as usize;
            if self.hosted[provider].len() < places(provider) {
                self.hosted[provider].push(part);
                return true;
            }
        }
        for &provider in open {
            let provider = provider as usize;
            if std::mem::replace(&mut self.seen[provider], true) {
                continue;
            }
            for at in 0..self.hosted[provider].len() {
                if self.take(self.hosted[provider][at], places) {
                    self.hosted[provider][at] = part;
                    return true;
                }
            }
        }
        false
    }
}
