//! The parts of a request that the search of a tree has placed so far, and what is left of the tree's offers.

use std::cmp::Reverse;

use super::bit_matrix::{BitMatrix, union_with};
use super::offers::TreeOffers;
use super::split_request::SplitRequest;
use super::subtrees::Subtrees;

/// Some parts of a request with a provider each. The memory is reused for the next tree.
#[derive(Debug, Default)]
pub(super) struct PartAssignment {
    /// The parts in the order in which they are placed: the parts with the fewest options first.
    pub order: Vec<usize>,
    /// The number of parts that are placed.
    pub depth: usize,
    /// By depth, the provider of the part.
    pub chosen: Vec<u32>,
    /// By provider and contested class, the sum of the amounts placed.
    pub load: Vec<i64>,
    /// By provider, the number of granular parts placed.
    pub granular_parts: Vec<u32>,
    /// The number of sets of required traits of the group without a suffix.
    required: usize,
    /// By depth, the sets of which the providers of placed parts have a trait. Only if there are any.
    covered: BitMatrix,
    /// By depth, the sets of which the options of the remaining parts have a trait.
    coverable: BitMatrix,
    pub subtrees: Subtrees,
}

impl PartAssignment {
    /// Begins with a new tree. No part is placed.
    pub fn begin(&mut self, request: &SplitRequest, offers: &TreeOffers) {
        let parts = request.parts.len();
        self.order.clear();
        self.order.extend(0..parts);
        let priority = |part: usize| {
            let kind = request.parts[part].kind;
            (
                offers.options[kind].len(),
                Reverse(request.kinds[kind].largest),
                kind,
                part,
            )
        };
        if parts > 1 {
            self.order.sort_unstable_by_key(|&part| priority(part));
        }
        self.depth = 0;
        self.chosen.resize(parts, 0);
        reset_vec(&mut self.load, offers.room.len(), 0);
        reset_vec(&mut self.granular_parts, offers.slots.len(), 0);
        self.begin_traits(request, offers);
        self.subtrees.begin(request, offers, &self.order);
    }

    fn begin_traits(&mut self, request: &SplitRequest, offers: &TreeOffers) {
        self.required = request.unsuffixed.as_ref().map_or(0, |group| group.required.len());
        if self.required == 0 {
            return;
        }
        self.covered.reset(self.order.len() + 1, self.required);
        self.coverable.reset(self.order.len() + 1, self.required);
        for (depth, &part) in self.order.iter().enumerate().rev() {
            self.coverable.copy(depth + 1, depth);
            let kind = request.parts[part].kind;
            if !request.kinds[kind].granular {
                offers.cover_together(kind, self.coverable.row_mut(depth));
            }
        }
    }

    /// The assignment with no part placed, for the check of a packing: of the same parts and providers.
    pub fn emptied(&self) -> PartAssignment {
        PartAssignment {
            order: self.order.clone(),
            load: vec![0; self.load.len()],
            granular_parts: vec![0; self.granular_parts.len()],
            ..PartAssignment::default()
        }
    }

    /// The kind of the next part. Some part must remain.
    pub fn next_kind(&self, request: &SplitRequest) -> usize {
        request.parts[self.order[self.depth]].kind
    }

    /// The kinds of the parts that are not placed.
    pub fn remaining_kinds(&self, request: &SplitRequest) -> impl Iterator<Item = usize> {
        self.order[self.depth..]
            .iter()
            .map(move |&part| request.parts[part].kind)
    }

    /// The parts that are placed, each with the index of its provider.
    pub fn placed(&self) -> impl Iterator<Item = (usize, usize)> {
        let chosen = self.chosen[..self.depth].iter().map(|&provider| provider as usize);
        self.order.iter().copied().zip(chosen)
    }

    /// The sets of required traits of which the providers of placed parts have a trait.
    pub fn covered(&self) -> &[u64] {
        self.covered.row(self.depth)
    }

    /// See [`TreeOffers::size`].
    pub fn size(&self) -> usize {
        4 * self.order.len() + self.load.len() + self.granular_parts.len() + self.subtrees.size()
    }

    /// Whether a provider could take one more part of this kind.
    pub fn can_take(&self, request: &SplitRequest, offers: &TreeOffers, kind: usize, provider: usize) -> bool {
        let part_kind = &request.kinds[kind];
        let first = provider * request.classes.len();
        let has_room =
            |&(class, amount): &(usize, i64)| self.load[first + class] <= offers.room[first + class] - amount;
        let can_hold = |&rule: &usize| {
            self.subtrees
                .can_hold_with(rule, self.depth, offers.above.row(provider))
        };
        !(request.isolate && part_kind.granular && self.granular_parts[provider] > 0)
            && part_kind.contested.iter().all(has_room)
            && part_kind.subtrees.iter().all(can_hold)
            && (request.nested || self.is_alone_in_tree(offers, provider))
    }

    /// Whether no other provider of its tree serves a part.
    fn is_alone_in_tree(&self, offers: &TreeOffers, provider: usize) -> bool {
        let mut placed = self.chosen[..self.depth].iter().map(|&other| other as usize);
        placed.all(|other| other == provider || offers.trees[other] != offers.trees[provider])
    }

    /// Places the next part.
    pub fn place(&mut self, request: &SplitRequest, offers: &TreeOffers, kind: usize, provider: usize) {
        let part_kind = &request.kinds[kind];
        for &(class, amount) in &part_kind.contested {
            self.load[provider * request.classes.len() + class] += amount;
        }
        self.granular_parts[provider] += u32::from(part_kind.granular);
        self.chosen[self.depth] = provider as u32;
        if self.required > 0 {
            self.covered.copy(self.depth, self.depth + 1);
            if !part_kind.granular {
                union_with(self.covered.row_mut(self.depth + 1), offers.covers.row(provider));
            }
        }
        self.subtrees
            .place(offers, self.depth, &part_kind.subtrees, request.subtrees, provider);
        self.depth += 1;
    }

    /// Removes the last part.
    pub fn undo(&mut self, request: &SplitRequest) {
        self.depth -= 1;
        let part_kind = &request.kinds[self.next_kind(request)];
        let provider = self.chosen[self.depth] as usize;
        for &(class, amount) in &part_kind.contested {
            self.load[provider * request.classes.len() + class] -= amount;
        }
        self.granular_parts[provider] -= u32::from(part_kind.granular);
    }

    /// False if the remaining parts cannot complete the required traits or hold the rules of `same_subtree`.
    pub fn may_be_completed(&self, request: &SplitRequest) -> bool {
        if self.required > 0 {
            let words = self.covered().iter().zip(self.coverable.row(self.depth));
            let together = words.map(|(covered, coverable)| (covered | coverable).count_ones());
            if together.sum::<u32>() as usize != self.required {
                return false;
            }
        }
        (0..request.subtrees).all(|rule| self.subtrees.can_hold(rule, self.depth))
    }

    /// Whether all sums on one provider are allowed by `step_size`.
    pub fn is_aligned(&self, request: &SplitRequest, offers: &TreeOffers) -> bool {
        offers.unaligned.iter().all(|unaligned| {
            let sum = self.load[unaligned.provider * request.classes.len() + unaligned.class];
            sum == 0 || unaligned.units.allow(sum, false)
        })
    }
}

fn reset_vec<T: Clone>(all: &mut Vec<T>, len: usize, value: T) {
    all.clear();
    all.resize(len, value);
}
