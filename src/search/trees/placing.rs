//! Every way to place the parts of a request on one board, one after the other.
//!
//! A search in depth, one part a level. It is told to stop early by what no way can have (`bound`), and it does not
//! search a second time from a state from which nothing was found (`memory`), where equal providers are one. So it
//! does little between one way and the next, and little before it says that there is none.

use super::ask::Ask;
use super::bits::add;
use super::board::Board;
use super::bound;
use super::memory::Memory;
use super::packing::{Packing, Question, Verdict};
use super::subtrees::Subtrees;

/// A way to place parts, so far. Kept and begun anew for each board.
#[derive(Debug, Default)]
pub(super) struct Placing {
    /// The parts in the order in which they are placed.
    pub order: Vec<usize>,
    /// How many of them are placed, and on whom.
    pub depth: usize,
    pub chosen: Vec<u32>,
    /// By depth the option that is tried next, and whether anything was found below.
    next: Vec<usize>,
    fruitful: Vec<bool>,
    /// By provider and contested class.
    pub load: Vec<i64>,
    /// By provider how many granular parts it has.
    pub granular: Vec<u32>,
    /// By depth the required traits that those placed have; and that those to be placed may have.
    covered: Vec<u64>,
    coverable: Vec<u64>,
    words: usize,
    pub subtrees: Subtrees,
    memory: Memory,
    /// Was there a state from which nothing was found? Until then what costs time is not done.
    stuck: bool,
    /// Were there so many that it is worth while to ask for each part placed whether the others can be packed?
    hard: bool,
    packing: Packing,
    told: bool,
    over: bool,
    /// How often a part was placed.
    pub steps: u64,
    /// Of those, how often since the last way was found.
    pub fruitless: u64,
    /// How many of these there may be.
    patience: u64,
    /// Was the search of this tree ended before all ways were tried?
    pub gave_up: bool,
    pub found: bool,
}

/// How often parts are placed in one tree without a way being found, before the rest of the tree is given up. Bounds,
/// memory and packing decide what has structure in far less; what is left is bin packing over amounts that are all
/// different in several classes, which nothing decides fast. A part of a very large request counts for several.
pub const PATIENCE: u64 = 200_000;

/// How many parts may be placed since the last way before each one is judged: to find the next way by trying is often
/// cheaper than to prove that it is there. (None in tests: small worlds would be judged by nobody.)
const LUCK: u64 = if cfg!(test) { 0 } else { 8 };

/// How many parts are placed in vain before room is asked for as a whole.
const EASY: u64 = 16;

impl Placing {
    /// The more trees were `given_up` before, the less is tried.
    pub fn begin(&mut self, ask: &Ask, board: &Board, given_up: u32) {
        let (parts, providers) = (ask.parts.len(), board.slots.len());
        self.order.clear();
        self.order.extend(0..parts);
        let wanted = |part: usize| {
            let kind = ask.parts[part].kind;
            (
                board.options[kind].len(),
                std::cmp::Reverse(ask.kinds[kind].most),
                kind,
                part,
            )
        };
        if parts > 1 {
            self.order.sort_unstable_by_key(|&part| wanted(part));
        }
        self.depth = 0;
        self.chosen.resize(parts, 0);
        self.next.resize(parts, 0);
        self.fruitful.resize(parts, false);
        // What was deeper is set when it is reached.
        if let (Some(next), Some(fruitful)) = (self.next.first_mut(), self.fruitful.first_mut()) {
            (*next, *fruitful) = (0, false);
        }
        refill(&mut self.load, board.room.len(), 0);
        refill(&mut self.granular, providers, 0);
        self.begin_traits(ask, board);
        self.subtrees.begin(ask, board, &self.order);
        self.memory.forget();
        self.packing.forget(given_up);
        self.patience = PATIENCE >> given_up;
        (self.stuck, self.hard, self.told) = (false, false, false);
        (self.fruitless, self.gave_up, self.found) = (0, false, false);
        self.over = !self.promises(ask, board);
    }

    fn begin_traits(&mut self, ask: &Ask, board: &Board) {
        let required = ask.whole.as_ref().map_or(0, |whole| whole.required.len());
        self.words = required.div_ceil(64);
        if self.words == 0 {
            return;
        }
        let size = (ask.parts.len() + 1) * self.words;
        refill(&mut self.covered, size, 0);
        refill(&mut self.coverable, size, 0);
        for depth in (0..ask.parts.len()).rev() {
            let (here, later) = self.coverable[depth * self.words..].split_at_mut(self.words);
            here.copy_from_slice(&later[..self.words]);
            let kind = ask.parts[self.order[depth]].kind;
            if !ask.kinds[kind].granular {
                board.cover_together(kind, here);
            }
        }
    }

    /// Finds the next way: `chosen` has the provider of each part in `order`. False after the last.
    pub fn next(&mut self, ask: &Ask, board: &Board) -> bool {
        while !self.over && !ask.interrupt.is_set() {
            if self.fruitless > self.patience {
                (self.over, self.gave_up) = (true, true);
                break;
            }
            if self.depth == self.order.len() {
                if !self.told && in_step(board, &self.load, ask.classes.len()) {
                    self.fruitful.fill(true);
                    (self.told, self.found) = (true, true);
                    self.fruitless = 0;
                    return true;
                }
                self.told = false;
                self.lift(ask);
                continue;
            }
            let kind = ask.parts[self.order[self.depth]].kind;
            let Some(&provider) = board.options[kind].get(self.next[self.depth]) else {
                self.leave(ask, board);
                continue;
            };
            self.next[self.depth] += 1;
            if self.is_open(ask, board, kind, provider as usize) {
                self.place(ask, board, kind, provider as usize);
                if self.promises(ask, board) {
                    if let Some(next) = self.next.get_mut(self.depth) {
                        (*next, self.fruitful[self.depth]) = (0, false);
                    }
                } else {
                    self.lift(ask);
                }
            }
        }
        false
    }

    /// Was anything found out that a search would have to find out again?
    pub fn has_learned(&self) -> bool {
        self.stuck
    }

    /// As [`Board::size`].
    pub fn size(&self) -> usize {
        4 * self.order.len() + self.load.len() + self.granular.len() + self.subtrees.size() + self.memory.size()
    }

    /// The way that was just found, as [`Placing::resume`] wants it: by depth the option that was taken.
    pub fn way(&self) -> impl Iterator<Item = u32> {
        self.next.iter().map(|&next| next as u32 - 1)
    }

    /// Begins with the same board again, where that way was found.
    pub fn resume(&mut self, ask: &Ask, board: &Board, given_up: u32, way: impl Iterator<Item = u32>) {
        self.begin(ask, board, given_up);
        for option in way {
            let kind = ask.parts[self.order[self.depth]].kind;
            let provider = board.options[kind][option as usize];
            self.next[self.depth] = option as usize + 1;
            self.place(ask, board, kind, provider as usize);
        }
        self.fruitful.fill(true);
        (self.told, self.found, self.fruitless) = (true, true, 0);
    }

    /// Could this provider take one more part of this kind?
    pub fn is_open(&self, ask: &Ask, board: &Board, kind: usize, provider: usize) -> bool {
        let wanted = &ask.kinds[kind];
        let first = provider * ask.classes.len();
        let has_room = |&(class, amount): &(usize, i64)| self.load[first + class] <= board.room[first + class] - amount;
        let below = |&rule: &usize| self.subtrees.has_top_in(rule, self.depth, board.above.row(provider));
        !(ask.isolate && wanted.granular && self.granular[provider] > 0)
            && wanted.contested.iter().all(has_room)
            && wanted.subtrees.iter().all(below)
            && (ask.nested || self.is_alone_in_its_tree(board, provider))
    }

    fn is_alone_in_its_tree(&self, board: &Board, provider: usize) -> bool {
        let others = self.chosen[..self.depth].iter().map(|&other| other as usize);
        others
            .into_iter()
            .all(|other| other == provider || board.trees[other] != board.trees[provider])
    }

    pub fn covered(&self) -> &[u64] {
        &self.covered[self.depth * self.words..(self.depth + 1) * self.words]
    }

    fn place(&mut self, ask: &Ask, board: &Board, kind: usize, provider: usize) {
        self.steps += 1;
        self.fruitless += 1;
        let wanted = &ask.kinds[kind];
        for &(class, amount) in &wanted.contested {
            self.load[provider * ask.classes.len() + class] += amount;
        }
        self.granular[provider] += u32::from(wanted.granular);
        self.chosen[self.depth] = provider as u32;
        if self.words > 0 {
            let (before, after) = self.covered[self.depth * self.words..].split_at_mut(self.words);
            after[..self.words].copy_from_slice(before);
            if !wanted.granular {
                add(&mut after[..self.words], board.covers.row(provider));
            }
        }
        self.subtrees
            .place(board, self.depth, &wanted.subtrees, ask.subtrees, provider);
        self.depth += 1;
    }

    /// Takes the last part back.
    fn lift(&mut self, ask: &Ask) {
        self.depth -= 1;
        let wanted = &ask.kinds[ask.parts[self.order[self.depth]].kind];
        let provider = self.chosen[self.depth] as usize;
        for &(class, amount) in &wanted.contested {
            self.load[provider * ask.classes.len() + class] -= amount;
        }
        self.granular[provider] -= u32::from(wanted.granular);
    }

    /// All options of the next part were tried.
    fn leave(&mut self, ask: &Ask, board: &Board) {
        if !self.fruitful[self.depth] {
            self.stuck = true;
            self.with_memory(|memory, this| memory.remember(ask, board, this));
            if !self.hard && self.fruitless > EASY && !ask.classes.is_empty() {
                self.hard = true;
                self.over = self.packs(ask, board, 0) == Verdict::Never;
            }
        }
        if self.depth == 0 {
            self.over = true;
        } else {
            self.lift(ask);
            if self.hard && !self.fruitful[self.depth] && self.packs(ask, board, self.depth) == Verdict::Never {
                self.next[self.depth] = usize::MAX;
            }
        }
    }

    /// Is there room for the parts from `depth` on beside those before it?
    fn packs(&mut self, ask: &Ask, board: &Board, depth: usize) -> Verdict {
        let kind = |&part: &usize| ask.parts[part].kind;
        let chosen = self.chosen.iter().map(|&provider| provider as usize);
        let placed: Vec<(usize, usize)> = self.order[..depth].iter().map(kind).zip(chosen).collect();
        let left: Vec<usize> = self.order[depth..].iter().map(kind).collect();
        let nothing = (vec![0; self.load.len()], vec![0; self.granular.len()]);
        let (load, granular) = if depth == self.depth {
            (&self.load, &self.granular)
        } else {
            (&nothing.0, &nothing.1)
        };
        let question = Question {
            placed: &placed,
            left: &left,
            load,
            granular,
        };
        let mut packing = std::mem::take(&mut self.packing);
        let verdict = packing.judge(ask, board, &question);
        if packing.useless {
            self.patience = self.patience.min(PATIENCE / 20);
        }
        self.packing = packing;
        verdict
    }

    /// Each part that is placed, with the index of its provider.
    pub fn placed(&self) -> impl Iterator<Item = (usize, usize)> {
        let chosen = self.chosen[..self.depth].iter().map(|&provider| provider as usize);
        self.order.iter().copied().zip(chosen)
    }

    fn with_memory<T>(&mut self, act: impl FnOnce(&mut Memory, &Self) -> T) -> T {
        let mut memory = std::mem::take(&mut self.memory);
        let result = act(&mut memory, self);
        self.memory = memory;
        result
    }

    /// Is there hope for the parts that are left?
    fn promises(&mut self, ask: &Ask, board: &Board) -> bool {
        if self.words > 0 {
            let covered = self.covered().iter();
            let coverable = &self.coverable[self.depth * self.words..];
            let together = covered
                .zip(coverable)
                .map(|(covered, coverable)| (covered | coverable).count_ones());
            let required = ask.whole.as_ref().map_or(0, |whole| whole.required.len());
            if together.sum::<u32>() as usize != required {
                return false;
            }
        }
        if !(0..ask.subtrees).all(|rule| self.subtrees.has_top(rule, self.depth)) {
            return false;
        }
        let look = self.stuck && self.fruitless > LUCK;
        if self.depth < self.order.len() && (look || self.depth == 0 && ask.may_run_short()) {
            // What follows looks at each kind with each provider.
            self.fruitless += (ask.kinds.len() * board.slots.len() / 2048) as u64;
            return bound::promises(ask, board, self)
                && !self.with_memory(|memory, this| memory.knows(ask, board, this))
                && !(self.hard && self.packs(ask, board, self.depth) == Verdict::Never);
        }
        true
    }
}

/// Are all sums in step?
fn in_step(board: &Board, load: &[i64], classes: usize) -> bool {
    board.odd.iter().all(|odd| {
        let sum = load[odd.provider * classes + odd.class];
        sum == 0 || odd.units.allow(sum, false)
    })
}

fn refill<T: Clone>(all: &mut Vec<T>, len: usize, with: T) {
    all.clear();
    all.resize(len, with);
}
