//! What one tree, with the sharing providers that it reaches, offers for a request.

use super::super::snapshot::{LANES, Slot, Snapshot, Units, lanes_of};
use super::ask::Ask;
use super::bits::{Bits, add};

/// The providers that could serve a part, by index, and what they could serve. Kept and filled anew for each tree.
#[derive(Debug, Default)]
pub(super) struct Board {
    pub slots: Vec<Slot>,
    /// By kind the providers that could serve it.
    pub options: Vec<Vec<u32>>,
    /// By provider and contested class the highest sum that it could give; of classes that it lacks, nothing.
    pub room: Vec<i64>,
    /// Where a sum may be out of step although each of its amounts is allowed.
    pub odd: Vec<Odd>,
    /// By provider the sets of required traits of the group without a suffix of which it has one.
    pub covers: Bits,
    /// By provider those at or above it in its tree, at their [`Board::bit`]; only where a request has rules of
    /// `same_subtree`. Who else has a bit there, makes no difference.
    pub above: Bits,
    /// By kind the options again; only where `above` is.
    pub offers: Bits,
    /// Are all of one tree in one block, as nearly always, so that their lanes are their bits?
    near: bool,
    /// By provider its tree; only where a tree may serve with one provider alone.
    pub trees: Vec<Slot>,
    /// Which of a block's lanes are providers here, and the index of the first of them; in the order of blocks once
    /// `above` is worked out.
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    block: usize,
    lanes: u64,
    first: usize,
}

/// An inventory whose `min_unit` is no multiple of its `step_size`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odd {
    pub provider: usize,
    pub class: usize,
    pub units: Units,
}

impl Board {
    /// Forgets the last tree. Providers are added with [`Board::offer`], and then it is [`Board::finish`]ed.
    pub fn clear(&mut self, ask: &Ask) {
        self.slots.clear();
        self.pieces.clear();
        self.options.resize_with(ask.kinds.len(), Vec::new);
        self.options.iter_mut().for_each(Vec::clear);
    }

    /// Adds the providers of a block, `masks` being those that could serve each kind.
    pub fn offer(&mut self, block: usize, masks: &[u64]) {
        let all = masks.iter().fold(0, |all, mask| all | mask);
        let first = self.slots.len() as u32;
        self.pieces.push(Piece {
            block,
            lanes: all,
            first: first as usize,
        });
        for (index, lane) in (first..).zip(lanes_of(all)) {
            self.slots.push(Slot::new(block, lane));
            for (options, &mask) in self.options.iter_mut().zip(masks) {
                if mask >> lane & 1 == 1 {
                    options.push(index);
                }
            }
        }
    }

    /// Adds a sharing provider of another tree.
    pub fn offer_pool(&mut self, slot: Slot, kinds: &[usize]) {
        let index = self.slots.len() as u32;
        self.pieces.push(Piece {
            block: slot.block(),
            lanes: slot.bit(),
            first: self.slots.len(),
        });
        self.slots.push(slot);
        kinds.iter().for_each(|&kind| self.options[kind].push(index));
    }

    /// Works out what the rules of the request need to know.
    pub fn finish(&mut self, snapshot: &Snapshot, ask: &Ask) {
        self.find_room(snapshot, ask);
        self.find_traits(snapshot, ask);
        self.find_above(snapshot, ask);
        self.trees.clear();
        if !ask.nested {
            self.trees
                .extend(self.slots.iter().map(|&slot| snapshot.near_root(slot)));
        }
    }

    /// How much there is of what grows with the providers: numbers, or words of bits.
    pub fn size(&self) -> usize {
        let options: usize = self.options.iter().map(Vec::len).sum();
        let tables = [&self.covers, &self.above, &self.offers];
        let bits: usize = tables.into_iter().map(Bits::size).sum();
        self.slots.len() + options + self.room.len() + bits
    }

    fn find_room(&mut self, snapshot: &Snapshot, ask: &Ask) {
        self.room.clear();
        self.odd.clear();
        for (provider, &slot) in self.slots.iter().enumerate() {
            for (class, &id) in ask.classes.iter().enumerate() {
                let Some((room, units)) = snapshot.room(slot, id) else {
                    self.room.push(0);
                    continue;
                };
                // What is beyond all demand makes no difference, and the same number makes providers equal.
                self.room.push(room.min(ask.demand[class]));
                if units.may_be_out_of_step(ask.strict) {
                    self.odd.push(Odd { provider, class, units });
                }
            }
        }
    }

    fn find_traits(&mut self, snapshot: &Snapshot, ask: &Ask) {
        let Some(whole) = &ask.whole else { return };
        self.covers.reset(self.slots.len(), whole.required.len());
        for &Piece { block, lanes, first } in &self.pieces {
            let traits = &snapshot.blocks().get(block).fixed.traits;
            for (index, any_of) in whole.required.iter().enumerate() {
                let having = traits.any(any_of);
                let providers = (first..).zip(lanes_of(lanes));
                let covering = providers.filter(|(_, lane)| having >> lane & 1 == 1);
                covering.for_each(|(provider, _)| self.covers.set(provider, index));
            }
        }
    }

    fn find_above(&mut self, snapshot: &Snapshot, ask: &Ask) {
        if ask.subtrees == 0 {
            return;
        }
        self.near = self.find_near_above(snapshot);
        if !self.near {
            self.find_any_above(snapshot);
        }
        self.offers.reset(self.options.len(), self.width());
        for (kind, options) in self.options.iter().enumerate() {
            for &provider in options {
                let bit = self.bit(provider as usize);
                self.offers.set(kind, bit);
            }
        }
    }

    /// How many bits a row of providers has, in `above` and `offers`.
    pub fn width(&self) -> usize {
        if self.near { LANES } else { self.slots.len() }
    }

    /// Which of them is a provider's.
    pub fn bit(&self, provider: usize) -> usize {
        if self.near {
            self.slots[provider].lane()
        } else {
            provider
        }
    }

    /// Is one provider at or above the other?
    pub fn is_above(&self, one: usize, other: usize) -> bool {
        self.above.get(other, self.bit(one))
    }

    /// False where it is not known at once.
    fn find_near_above(&mut self, snapshot: &Snapshot) -> bool {
        let [Piece { block, .. }] = self.pieces[..] else {
            return false;
        };
        self.above.reset(self.slots.len(), LANES);
        let layout = snapshot.layout(block);
        for (provider, &slot) in self.slots.iter().enumerate() {
            let above = layout.above[slot.lane()];
            if above == 0 {
                return false;
            }
            self.above.row_mut(provider)[0] = above;
        }
        true
    }

    fn find_any_above(&mut self, snapshot: &Snapshot) {
        self.pieces.sort_unstable_by_key(|piece| piece.block);
        self.above.reset(self.slots.len(), self.slots.len());
        for (provider, &slot) in self.slots.iter().enumerate() {
            let line = std::iter::successors(Some(slot), |&slot| snapshot.near_parent(slot));
            // Tables that somebody else wrote may have parents in a circle.
            let line = line.enumerate().take_while(|&(steps, at)| steps == 0 || at != slot);
            for (_, at) in line.take(snapshot.len()) {
                if let Some(found) = index(&self.pieces, at) {
                    self.above.set(provider, found);
                }
            }
        }
    }

    /// The traits that the options of a kind have together.
    pub fn cover_together(&self, kind: usize, into: &mut [u64]) {
        let options = self.options[kind].iter();
        options.for_each(|&provider| add(into, self.covers.row(provider as usize)));
    }
}

/// The index of a provider among `pieces` in the order of blocks, if it is one of them.
fn index(pieces: &[Piece], slot: Slot) -> Option<usize> {
    let first = pieces.partition_point(|piece| piece.block < slot.block());
    let mut here = pieces[first..].iter().take_while(|piece| piece.block == slot.block());
    let piece = here.find(|piece| piece.lanes & slot.bit() != 0)?;
    let before = piece.lanes & (slot.bit() - 1);
    Some(piece.first + before.count_ones() as usize)
}
