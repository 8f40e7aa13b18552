//! The rules of `same_subtree`: who may be the one above all others.
//!
//! By rule and depth, so that taking a part back costs nothing.

use super::ask::Ask;
use super::bits::{Bits, add, keep};
use super::board::Board;

/// By rule and depth three rows of bits, side by side because they are read together.
#[derive(Debug, Default)]
pub(super) struct Subtrees {
    depths: usize,
    rows: Bits,
}

/// Who is above all that are placed under the rule; who is placed under it; who may yet be.
const COMMON: usize = 0;
const MEMBERS: usize = 1;
const LATER: usize = 2;
const ROWS: usize = 3;

impl Subtrees {
    pub fn begin(&mut self, ask: &Ask, board: &Board, order: &[usize]) {
        self.depths = order.len() + 1;
        if ask.subtrees == 0 {
            return;
        }
        self.rows.reset(ROWS * ask.subtrees * self.depths, board.width());
        for rule in 0..ask.subtrees {
            for (depth, &part) in order.iter().enumerate().rev() {
                let here = self.at(rule, depth) + LATER;
                self.rows.copy(here + ROWS, here);
                let kind = ask.parts[part].kind;
                if ask.kinds[kind].subtrees.contains(&rule) {
                    add(self.rows.row_mut(here), board.offers.row(kind));
                }
            }
            let first = self.at(rule, 0) + COMMON;
            self.rows.row_mut(first).fill(u64::MAX);
        }
    }

    /// As [`Board::size`].
    pub fn size(&self) -> usize {
        self.rows.size()
    }

    /// At this depth a part of these `rules` was placed on a provider.
    pub fn place(&mut self, board: &Board, depth: usize, rules: &[usize], all: usize, provider: usize) {
        for rule in 0..all {
            let before = self.at(rule, depth);
            let after = before + ROWS;
            self.rows.copy(before + COMMON, after + COMMON);
            self.rows.copy(before + MEMBERS, after + MEMBERS);
            if rules.contains(&rule) {
                keep(self.rows.row_mut(after + COMMON), board.above.row(provider));
                self.rows.set(after + MEMBERS, board.bit(provider));
            }
        }
    }

    /// Is somebody above all that are placed under the rule who is placed under it, or may yet be?
    pub fn has_top(&self, rule: usize, depth: usize) -> bool {
        self.tops(rule, depth).any(|top| top != 0)
    }

    /// Is such a one among these?
    pub fn has_top_in(&self, rule: usize, depth: usize, above: &[u64]) -> bool {
        self.tops(rule, depth).zip(above).any(|(top, above)| top & above != 0)
    }

    /// Has the provider a part that is under this rule?
    pub fn has(&self, board: &Board, rule: usize, depth: usize, provider: usize) -> bool {
        self.rows.get(self.at(rule, depth) + MEMBERS, board.bit(provider))
    }

    fn tops(&self, rule: usize, depth: usize) -> impl Iterator<Item = u64> {
        let first = self.at(rule, depth);
        let (common, members) = (self.rows.row(first + COMMON), self.rows.row(first + MEMBERS));
        let later = self.rows.row(first + LATER);
        let may_be = members.iter().zip(later).map(|(members, later)| members | later);
        common.iter().zip(may_be).map(|(common, may_be)| common & may_be)
    }

    fn at(&self, rule: usize, depth: usize) -> usize {
        (rule * self.depths + depth) * ROWS
    }
}
