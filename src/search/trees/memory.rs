//! States from which nothing was found, so that a search does not go there again.
//!
//! A state is what was placed, as far as it matters to the parts that are left. Two providers are alike if swapping
//! them changes nothing: they serve the same kinds, with the same room, traits and neighbours in the tree. States that
//! differ by which of several alike providers took what are one state.

use std::collections::{HashMap, HashSet};

use super::ask::Ask;
use super::board::Board;
use super::placing::Placing;

/// So many states are kept, some 10 MB; then all are forgotten.
const MOST: usize = 1 << 17;

#[derive(Debug, Default)]
pub(super) struct Memory {
    states: HashSet<Box<[u64]>>,
    /// By provider which others it is like: a number that they have in common. Worked out when the first state is kept.
    likeness: Vec<u64>,
}

impl Memory {
    pub fn forget(&mut self) {
        self.states.clear();
        self.likeness.clear();
    }

    /// About as [`Board::size`].
    pub fn size(&self) -> usize {
        self.likeness.len() + self.states.len() * (4 + self.states.iter().next().map_or(0, |state| state.len()))
    }

    /// Was nothing found from here?
    pub fn knows(&self, ask: &Ask, board: &Board, placing: &Placing) -> bool {
        !self.states.is_empty() && self.states.contains(&*self.state(ask, board, placing))
    }

    pub fn remember(&mut self, ask: &Ask, board: &Board, placing: &Placing) {
        if self.likeness.is_empty() {
            self.likeness = likeness(ask, board);
        }
        if self.states.len() == MOST {
            self.states.clear();
        }
        let state = self.state(ask, board, placing);
        self.states.insert(state.into());
    }

    fn state(&self, ask: &Ask, board: &Board, placing: &Placing) -> Vec<u64> {
        let left = placing.order[placing.depth..].iter().map(|&part| ask.parts[part].kind);
        let left: Vec<usize> = left.collect();
        let has = |wanted: &dyn Fn(usize) -> bool| left.iter().any(|&kind| wanted(kind));
        let alone = ask.isolate && has(&|kind| ask.kinds[kind].granular);
        // What sums up to something out of step matters to the end.
        let open_class =
            |class| !board.odd.is_empty() || has(&|kind| ask.kinds[kind].contested.iter().any(|it| it.0 == class));
        let classes: Vec<usize> = (0..ask.classes.len()).filter(|&class| open_class(class)).collect();
        let rules: Vec<usize> = (0..ask.subtrees)
            .filter(|rule| has(&|kind| ask.kinds[kind].subtrees.contains(rule)))
            .collect();
        let mut touched: Vec<u32> = placing.chosen[..placing.depth].to_vec();
        touched.sort_unstable();
        touched.dedup();
        let mut rows: Vec<Vec<u64>> = Vec::with_capacity(touched.len());
        for provider in touched {
            let at = provider as usize;
            let mut row = vec![self.likeness[at]];
            row.push(u64::from(!ask.nested) | u64::from(alone && placing.granular[at] > 0) << 1);
            row.extend(
                classes
                    .iter()
                    .map(|class| placing.load[at * ask.classes.len() + class] as u64),
            );
            row.extend(
                rules
                    .iter()
                    .map(|&rule| u64::from(placing.subtrees.has(board, rule, placing.depth, at))),
            );
            if row[1..].iter().any(|&word| word != 0) {
                rows.push(row);
            }
        }
        rows.sort_unstable();
        let mut state = vec![placing.depth as u64];
        state.extend_from_slice(placing.covered());
        state.extend(rows.into_iter().flatten());
        state
    }
}

/// What boards have in common on which nothing is found, if they can be told: all that a search of them looks at.
pub(super) fn signature(ask: &Ask, board: &Board) -> Option<Box<[u64]>> {
    if !ask.nested {
        return None;
    }
    let mut rows = rows(ask, board);
    if ask.subtrees == 0 {
        rows.sort_unstable();
    }
    let with_length = rows
        .into_iter()
        .flat_map(|row| std::iter::once(row.len() as u64).chain(row));
    Some(with_length.collect())
}

fn likeness(ask: &Ask, board: &Board) -> Vec<u64> {
    let mut known: HashMap<Vec<u64>, u64> = HashMap::new();
    let rows = rows(ask, board).into_iter();
    rows.map(|row| {
        let next = known.len() as u64;
        *known.entry(row).or_insert(next)
    })
    .collect()
}

/// By provider all that makes it like another one.
fn rows(ask: &Ask, board: &Board) -> Vec<Vec<u64>> {
    let providers = board.slots.len();
    let classes = ask.classes.len();
    let mut rows: Vec<Vec<u64>> = vec![Vec::new(); providers];
    for (kind, options) in board.options.iter().enumerate() {
        options
            .iter()
            .for_each(|&provider| rows[provider as usize].push(kind as u64));
    }
    for (provider, row) in rows.iter_mut().enumerate() {
        row.push(u64::MAX);
        row.extend(
            board.room[provider * classes..(provider + 1) * classes]
                .iter()
                .map(|&room| room as u64),
        );
        if ask.whole.is_some() {
            row.extend_from_slice(board.covers.row(provider));
        }
        row.extend(board.trees.get(provider).map(|tree| tree.index() as u64));
        for odd in board.odd.iter().filter(|odd| odd.provider == provider) {
            row.extend([odd.class as u64, odd.units.min_unit as u64, odd.units.step_size as u64]);
        }
        if ask.subtrees > 0 {
            // Everybody else who is above, and everybody else who is below.
            let others = || (0..providers).filter(|&other| other != provider);
            row.push(u64::MAX);
            row.extend(
                others()
                    .filter(|&other| board.is_above(other, provider))
                    .map(|other| other as u64),
            );
            row.push(u64::MAX);
            row.extend(
                others()
                    .filter(|&other| board.is_above(provider, other))
                    .map(|other| other as u64),
            );
        }
    }
    rows
}
