//! Candidates that several providers serve together: of one tree, and of the sharing providers that it reaches.
//!
//! A request is taken apart into parts that one provider each serves (`ask`). Trees come one after the other
//! (`anchors`); what a tree offers is laid out on a board (`board`), and every way to place the parts on it is a
//! candidate (`placing`).

mod anchors;
mod ask;
mod bits;
mod board;
mod bound;
mod filling;
mod fits;
mod memory;
mod packing;
mod placing;
mod pools;
mod subtrees;
mod tallies;

use std::collections::{HashMap, HashSet, VecDeque};

use super::candidates::{Candidate, Placement, Strategy};
use super::observer::Observer;
use super::servers::Servers;
use super::snapshot::{Slot, Snapshot};
pub(super) use anchors::Anchors;
pub(super) use ask::Ask;
use board::Board;
use placing::Placing;

/// The candidates of all trees.
pub(super) struct Trees<O> {
    anchors: Anchors<O>,
    strategy: Strategy,
    /// Trees that were begun and may have more; with the depth-first strategy one at most.
    begun: VecDeque<Waiting>,
    /// How large these are together.
    laid_out: usize,
    /// Of those that were put aside the ways that were found last, one after the other: by part which option it had.
    ways: VecDeque<u32>,
    /// One that is not needed any more, whose memory the next one takes over.
    spare: Option<Box<Begun>>,
    no_more_trees: bool,
    /// By part who serves it, where all are sharing providers, so that it comes again with other trees.
    told: HashSet<Box<[Slot]>>,
    /// By part who serves it, of the last way.
    placed: Vec<Slot>,
    steps: u64,
    /// How many trees were given up before all their ways were tried.
    given_up: u32,
    /// What trees looked like that were searched in vain, and whether they were given up: those that look the same
    /// need not be searched. A cloud has many hosts that are alike.
    barren: HashMap<Box<[u64]>, bool>,
}

/// How many trees may be given up before no more are begun; twice as many, before those that were begun are left too.
const TREES_GIVEN_UP: u32 = 20;

/// So many looks of trees are kept.
const LOOKS: usize = 1 << 14;

/// How many words the trees that wait for their third turn or a later one may have together: 64 MB at most. Of more
/// trees only the way is kept that was found last, and to lay one of them out again costs as much as to lay it out did.
/// (Small in tests, so that random worlds meet it.)
const LAID_OUT: usize = if cfg!(test) { 500 } else { 1 << 23 };

/// As [`LAID_OUT`], for a tree of which a search found out what it would have to find out again.
const LEARNED: usize = 2 * LAID_OUT;

/// A tree whose turn comes again.
enum Waiting {
    /// And its size.
    LaidOut(Box<Begun>, usize),
    /// Its root; its way is in [`Trees::ways`].
    PutAside(Slot),
}

#[derive(Debug, Default)]
struct Begun {
    root: Option<Slot>,
    board: Board,
    placing: Placing,
}

impl<O: Observer> Trees<O> {
    pub fn new(anchors: Anchors<O>, strategy: Strategy) -> Self {
        Self {
            anchors,
            strategy,
            begun: VecDeque::new(),
            laid_out: 0,
            ways: VecDeque::new(),
            spare: None,
            no_more_trees: false,
            told: HashSet::new(),
            placed: Vec::new(),
            steps: 0,
            given_up: 0,
            barren: HashMap::new(),
        }
    }

    /// How often a part was placed so far: what a search costs, whatever the machine.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        let waiting = self.begun.iter().map(|waiting| match waiting {
            Waiting::LaidOut(tree, _) => tree.placing.steps,
            Waiting::PutAside(_) => 0,
        });
        self.steps + waiting.sum::<u64>()
    }

    /// Were there trees of which not all ways were tried?
    pub fn gave_up(&self) -> bool {
        self.given_up > 0
    }

    pub fn next(&mut self, snapshot: &Snapshot) -> Option<Candidate> {
        while self.given_up < 2 * TREES_GIVEN_UP && !self.anchors.ask.interrupt.is_set() {
            let mut tree = self.next_tree(snapshot)?;
            if !tree.placing.next(&self.anchors.ask, &tree.board) {
                self.given_up += u32::from(tree.placing.gave_up);
                self.note_barren(&tree);
                self.steps += std::mem::take(&mut tree.placing.steps);
                self.spare = Some(tree);
                continue;
            }
            let mut placed = std::mem::take(&mut self.placed);
            find_placed(&tree, &mut placed);
            let candidate = self.is_new(&placed).then(|| candidate(&self.anchors.ask, &placed));
            self.placed = placed;
            self.let_wait(tree);
            if candidate.is_some() {
                return candidate;
            }
        }
        None
    }

    /// Was this not told with another tree?
    fn is_new(&mut self, placed: &[Slot]) -> bool {
        let pools = &self.anchors.pools;
        let shared = !pools.all.is_empty() && placed.iter().all(|&slot| pools.contains(slot));
        !shared || self.told.insert(placed.into())
    }

    fn note_barren(&mut self, tree: &Begun) {
        let ask = &self.anchors.ask;
        // What was refused before anything was placed is refused as fast again.
        if tree.placing.found || tree.placing.steps == 0 || self.barren.len() == LOOKS {
            return;
        }
        if let Some(look) = memory::signature(ask, &tree.board) {
            self.barren.insert(look, tree.placing.gave_up);
        }
    }

    /// Was a tree that looks like this one searched in vain? Then whether it was given up.
    fn is_barren(&self, board: &Board) -> Option<bool> {
        if self.barren.is_empty() {
            return None;
        }
        self.barren.get(&memory::signature(&self.anchors.ask, board)?).copied()
    }

    /// The tree whose turn it is: breadth-first each in turn, once all were begun; depth-first one until it has no more.
    fn next_tree(&mut self, snapshot: &Snapshot) -> Option<Box<Begun>> {
        let begin = self.begun.is_empty() || self.strategy == Strategy::BreadthFirst;
        if begin && !self.no_more_trees {
            let mut new = self.spare.take().unwrap_or_default();
            while self.given_up < TREES_GIVEN_UP {
                new.root = self.anchors.next(snapshot, &mut new.board);
                if new.root.is_none() {
                    break;
                }
                match self.is_barren(&new.board) {
                    Some(gave_up) => self.given_up += u32::from(gave_up),
                    None => {
                        new.placing.begin(&self.anchors.ask, &new.board, self.given_up);
                        return Some(new);
                    }
                }
            }
            self.no_more_trees = true;
        }
        match self.begun.pop_front()? {
            Waiting::LaidOut(tree, size) => {
                self.laid_out -= size;
                Some(tree)
            }
            Waiting::PutAside(root) => {
                let mut tree = self.spare.take().unwrap_or_default();
                self.anchors.lay_out_again(snapshot, root, &mut tree.board);
                tree.root = Some(root);
                let ask = &self.anchors.ask;
                let way = self.ways.drain(..ask.parts.len());
                tree.placing.resume(ask, &tree.board, self.given_up, way);
                Some(tree)
            }
        }
    }

    /// Its turn comes again. Most searches end in the first turn, so that in it nothing is kept that a second one would
    /// find out as fast: the next tree takes its memory over while that is still in the processor's cache.
    fn let_wait(&mut self, mut tree: Box<Begun>) {
        let learned = tree.placing.has_learned();
        let first_turn = self.strategy == Strategy::BreadthFirst && !self.no_more_trees;
        let size = size_of::<Begun>() / 8 + tree.board.size() + tree.placing.size();
        let most = match (learned, first_turn) {
            (true, _) => LEARNED,
            (false, true) => 0,
            (false, false) => LAID_OUT,
        };
        match tree.root {
            Some(root) if !self.begun.is_empty() && self.laid_out + size > most => {
                self.begun.push_back(Waiting::PutAside(root));
                self.ways.extend(tree.placing.way());
                self.steps += std::mem::take(&mut tree.placing.steps);
                self.spare = Some(tree);
            }
            _ => {
                self.laid_out += size;
                self.begun.push_back(Waiting::LaidOut(tree, size));
            }
        }
    }
}

/// By part who serves it.
fn find_placed(tree: &Begun, placed: &mut Vec<Slot>) {
    let slots = &tree.board.slots;
    placed.clear();
    placed.resize(tree.placing.depth, slots[0]);
    for (part, provider) in tree.placing.placed() {
        placed[part] = slots[provider];
    }
}

fn candidate(ask: &Ask, placed: &[Slot]) -> Candidate {
    let mut placements: Vec<Placement> = Vec::with_capacity(placed.len());
    let mut mappings: Vec<(_, Servers)> = Vec::with_capacity(ask.suffixes.len());
    for (part, &slot) in ask.parts.iter().zip(placed) {
        for &(class, amount) in &ask.kinds[part.kind].plan.amounts {
            let same = |it: &&mut Placement| it.slot == slot && it.class == class;
            match placements.iter_mut().find(same) {
                Some(placement) => placement.amount = placement.amount.saturating_add(amount),
                None => placements.push(Placement { slot, class, amount }),
            }
        }
        match mappings.get_mut(part.group) {
            Some((_, servers)) => servers.add(slot),
            None => mappings.push((ask.suffixes[part.group].clone(), slot.into())),
        }
    }
    Candidate { placements, mappings }
}
