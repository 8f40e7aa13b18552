//! Which block comes when.
//!
//! A search that stops at a limit should have sampled the whole cloud, or schedulers would all get the oldest hosts.
//! So blocks come in a pseudo-random permutation, computed, not shuffled; and of a block only some lanes are taken
//! at a time, the rest in later rounds, because neighbours are alike. These are eight where providers are looked for; where
//! trees are, as many as have about four roots, because to look at a block for one tree costs as much as for all.

use super::snapshot::{Slot, Snapshot, by_block};

/// The most rounds in which the lanes of a block come.
const ROUNDS: usize = 8;

/// A permutation of `0..len` by arithmetic alone.
#[derive(Clone, Debug)]
struct Permutation {
    len: usize,
    /// `len` rounded up to a power of two, less one.
    mask: u64,
    shift: u32,
    keys: [u64; 3],
}

impl Permutation {
    fn new(len: usize, seed: u64) -> Self {
        let mask = (len.max(2).next_power_of_two() - 1) as u64;
        let keys = [1, 2, 3].map(|n| mix(seed.wrapping_add(n)));
        Self {
            len,
            mask,
            shift: mask.count_ones().div_ceil(2),
            keys,
        }
    }

    /// Each step permutes the power of two; values beyond `len` walk on along their cycle, which leads back inside.
    fn at(&self, position: usize) -> usize {
        let mut value = position as u64;
        loop {
            for key in self.keys {
                value = value.wrapping_mul(key | 1).wrapping_add(key >> 32) & self.mask;
                value ^= value >> self.shift;
            }
            if (value as usize) < self.len {
                return value as usize;
            }
        }
    }
}

/// Spreads every bit of `seed` over all of the result (the finaliser of SplitMix64).
pub(super) fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A walk over all blocks, or over those of one tree.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// Blocks with the lanes that count; all of all blocks where there is none.
    only: Option<Vec<(usize, u64)>>,
    order: Permutation,
    seed: u64,
    /// In how many rounds the lanes of a block come, and those whose turn is first.
    rounds: usize,
    stripe: u64,
    round: usize,
    at: usize,
    /// Of the blocks seen so far those that have lanes for later rounds, in order, with all that fit.
    kept: Vec<(usize, u64)>,
}

impl Walk {
    /// A walk to providers, a candidate each. The same `seed` over the same version gives the same walk.
    pub fn to_providers(snapshot: &Snapshot, tree: Option<Slot>, seed: u64) -> Self {
        Self::new(snapshot, tree, seed, ROUNDS)
    }

    /// A walk to roots, whose trees are what is looked for: likewise.
    pub fn to_trees(snapshot: &Snapshot, tree: Option<Slot>, seed: u64) -> Self {
        Self::new(snapshot, tree, seed, rounds(snapshot))
    }

    fn new(snapshot: &Snapshot, tree: Option<Slot>, seed: u64, rounds: usize) -> Self {
        let only = tree.map(|root| by_block(snapshot.tree(root)));
        let len = only.as_ref().map_or(snapshot.blocks().len(), Vec::len);
        Self {
            only,
            order: Permutation::new(len, seed),
            seed,
            rounds,
            stripe: u64::MAX / ((1 << rounds) - 1),
            round: 0,
            at: 0,
            kept: Vec::new(),
        }
    }

    /// The next block, with those of its lanes whose turn it is, which may be none. `fit` says which lanes of a block
    /// fit at all, and is asked once for each block, as late as possible.
    pub fn next(&mut self, fit: impl FnOnce(usize, u64) -> u64) -> Option<(usize, u64)> {
        let end = if self.round == 0 {
            self.order.len
        } else {
            self.kept.len()
        };
        if self.at == end {
            (self.at, self.round) = (0, self.round + 1);
            if self.kept.is_empty() || self.round == self.rounds {
                (self.order.len, self.kept) = (0, Vec::new());
                return None;
            }
        }
        let (block, fitting) = if self.round == 0 {
            self.look(fit)
        } else {
            self.kept[self.at]
        };
        self.at += 1;
        let turn = (self.round + mix(self.seed ^ block as u64) as usize) % self.rounds;
        Some((block, fitting & (self.stripe << turn)))
    }

    fn look(&mut self, fit: impl FnOnce(usize, u64) -> u64) -> (usize, u64) {
        let position = self.order.at(self.at);
        let (block, lanes) = self.only.as_ref().map_or((position, u64::MAX), |only| only[position]);
        let fitting = fit(block, lanes);
        if fitting != 0 {
            self.kept.push((block, fitting));
        }
        (block, fitting)
    }
}

/// As many as leave four roots or more for each: where trees are small eight, where they are large one.
fn rounds(snapshot: &Snapshot) -> usize {
    let tree = snapshot.len().div_ceil(snapshot.roots().max(1));
    (2 * ROUNDS / tree.next_power_of_two()).clamp(1, ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::Permutation;

    #[test]
    fn every_position_comes_once_whatever_the_length() {
        for len in (1..70).chain([1000, 1563]) {
            for seed in 0..20 {
                let order = Permutation::new(len, seed);
                let mut all: Vec<usize> = (0..len).map(|at| order.at(at)).collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..len), "len {len}, seed {seed}");
            }
        }
    }

    #[test]
    fn every_place_comes_first_about_as_often() {
        let mut first = [0; 100];
        (0..10_000).for_each(|seed| first[Permutation::new(100, seed).at(0)] += 1);
        assert!(first.iter().all(|times| (40..200).contains(times)), "{first:?}");
    }
}
