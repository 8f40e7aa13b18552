//! The rules of `same_subtree`: which providers can still be the common ancestor of the providers of a rule.
//!
//! A rule holds if a provider of the rule's groups is at or above all providers of these groups. The state is a set of
//! providers for each rule and depth of the search, so undoing a step costs nothing.

use super::bit_matrix::{BitMatrix, intersect_with, union_with};
use super::offers::TreeOffers;
use super::split_request::SplitRequest;

/// By rule and depth three sets of providers, side by side because they are read together.
#[derive(Debug, Default)]
pub(super) struct Subtrees {
    depths: usize,
    rows: BitMatrix,
}

/// The providers at or above all providers of the rule so far.
const COMMON: usize = 0;
/// The providers of the rule so far: each serves a part of the rule.
const MEMBERS: usize = 1;
/// The possible providers of parts of the rule without a place.
const OPTIONS: usize = 2;
const ROWS: usize = 3;

impl Subtrees {
    pub fn begin(&mut self, request: &SplitRequest, offers: &TreeOffers, order: &[usize]) {
        self.depths = order.len() + 1;
        if request.subtrees == 0 {
            return;
        }
        self.rows.reset(ROWS * request.subtrees * self.depths, offers.width());
        for rule in 0..request.subtrees {
            for (depth, &part) in order.iter().enumerate().rev() {
                let row = self.at(rule, depth) + OPTIONS;
                self.rows.copy(row + ROWS, row);
                let kind = request.parts[part].kind;
                if request.kinds[kind].subtrees.contains(&rule) {
                    union_with(self.rows.row_mut(row), offers.option_bits.row(kind));
                }
            }
            let first = self.at(rule, 0) + COMMON;
            self.rows.row_mut(first).fill(u64::MAX);
        }
    }

    /// See [`TreeOffers::size`].
    pub fn size(&self) -> usize {
        self.rows.size()
    }

    /// Records the provider of a part of these `rules`, at this depth.
    pub fn place(&mut self, offers: &TreeOffers, depth: usize, rules: &[usize], rule_count: usize, provider: usize) {
        for rule in 0..rule_count {
            let before = self.at(rule, depth);
            let after = before + ROWS;
            self.rows.copy(before + COMMON, after + COMMON);
            self.rows.copy(before + MEMBERS, after + MEMBERS);
            if rules.contains(&rule) {
                intersect_with(self.rows.row_mut(after + COMMON), offers.above.row(provider));
                self.rows.set(after + MEMBERS, offers.bit(provider));
            }
        }
    }

    /// Whether the rule can still hold: a current or possible provider of the rule is at or above all current
    /// providers.
    pub fn can_hold(&self, rule: usize, depth: usize) -> bool {
        self.possible_ancestors(rule, depth).any(|ancestors| ancestors != 0)
    }

    /// Whether the rule can still hold with a part of the rule on a provider. `above`: the provider and its ancestors.
    pub fn can_hold_with(&self, rule: usize, depth: usize, above: &[u64]) -> bool {
        self.possible_ancestors(rule, depth)
            .zip(above)
            .any(|(ancestors, above)| ancestors & above != 0)
    }

    /// Whether the provider serves a part of this rule.
    pub fn serves(&self, offers: &TreeOffers, rule: usize, depth: usize, provider: usize) -> bool {
        self.rows.get(self.at(rule, depth) + MEMBERS, offers.bit(provider))
    }

    /// The providers that can still be the common ancestor.
    fn possible_ancestors(&self, rule: usize, depth: usize) -> impl Iterator<Item = u64> {
        let first = self.at(rule, depth);
        let (common, members) = (self.rows.row(first + COMMON), self.rows.row(first + MEMBERS));
        let options = self.rows.row(first + OPTIONS);
        let eligible = members.iter().zip(options).map(|(members, options)| members | options);
        common.iter().zip(eligible).map(|(common, eligible)| common & eligible)
    }

    /// The first row of a rule at a depth.
    fn at(&self, rule: usize, depth: usize) -> usize {
        (rule * self.depths + depth) * ROWS
    }
}
