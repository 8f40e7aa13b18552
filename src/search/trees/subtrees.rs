//! The rules of `same_subtree`: who may be the one above all others.
//!
//! By rule and depth, so that taking a part back costs nothing.

use super::ask::Ask;
use super::bits::{Bits, add, keep};
use super::board::Board;

#[derive(Debug, Default)]
pub(super) struct Subtrees {
    depths: usize,
    /// Who is above all that are placed under the rule; who is placed under it; who may yet be.
    common: Bits,
    members: Bits,
    later: Bits,
    /// Who is above all that are placed, and is placed itself or may yet be.
    tops: Bits,
}

impl Subtrees {
    pub fn begin(&mut self, ask: &Ask, board: &Board, order: &[usize]) {
        self.depths = order.len() + 1;
        if ask.subtrees == 0 {
            return;
        }
        let (rows, width) = (ask.subtrees * self.depths, board.slots.len());
        let all = [&mut self.common, &mut self.members, &mut self.later, &mut self.tops];
        all.into_iter().for_each(|bits| bits.reset(rows, width));
        for rule in 0..ask.subtrees {
            let first = self.at(rule, 0);
            for (depth, &part) in order.iter().enumerate().rev() {
                self.later.copy(first + depth + 1, first + depth);
                let kind = ask.parts[part].kind;
                if ask.kinds[kind].subtrees.contains(&rule) {
                    add(self.later.row_mut(first + depth), board.offers.row(kind));
                }
            }
            self.common.row_mut(first).fill(u64::MAX);
            self.find_tops(first);
        }
    }

    /// As [`Board::size`].
    pub fn size(&self) -> usize {
        4 * self.common.size()
    }

    /// At this depth a part of these `rules` was placed on a provider.
    pub fn place(&mut self, board: &Board, depth: usize, rules: &[usize], all: usize, provider: usize) {
        for rule in 0..all {
            let before = self.at(rule, depth);
            self.common.copy(before, before + 1);
            self.members.copy(before, before + 1);
            if rules.contains(&rule) {
                keep(self.common.row_mut(before + 1), board.above.row(provider));
                self.members.set(before + 1, provider);
                self.find_tops(before + 1);
            } else {
                self.tops.copy(before, before + 1);
            }
        }
    }

    pub fn tops(&self, rule: usize, depth: usize) -> &[u64] {
        self.tops.row(self.at(rule, depth))
    }

    /// Has the provider a part that is under this rule?
    pub fn has(&self, rule: usize, depth: usize, provider: usize) -> bool {
        self.members.get(self.at(rule, depth), provider)
    }

    fn at(&self, rule: usize, depth: usize) -> usize {
        rule * self.depths + depth
    }

    fn find_tops(&mut self, row: usize) {
        let tops = self.tops.row_mut(row);
        tops.copy_from_slice(self.members.row(row));
        add(tops, self.later.row(row));
        keep(tops, self.common.row(row));
    }
}
