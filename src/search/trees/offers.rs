//! The offers of one tree for a request: the suitable providers for each kind of part, their free capacity, and their
//! data for constraints on several parts. Sharing providers that reach the tree are included.

use super::super::snapshot::{LANES, Slot, Snapshot, Units, lanes_of};
use super::bit_matrix::{BitMatrix, union_with};
use super::split_request::SplitRequest;

/// The providers of one tree that could serve a part. "By provider" means by an index into `slots`. The memory is
/// reused for the next tree.
#[derive(Debug, Default)]
pub(super) struct TreeOffers {
    pub slots: Vec<Slot>,
    /// By kind of part, the providers that could serve the part.
    pub options: Vec<Vec<u32>>,
    /// By provider and contested class, the highest possible sum; zero without an inventory.
    pub room: Vec<i64>,
    /// The inventories whose sums of allowed amounts need not be multiples of `step_size`.
    pub unaligned: Vec<UnalignedInventory>,
    /// By provider, the satisfied sets of required traits of the group without a suffix.
    pub covers: BitMatrix,
    /// By provider, the provider and its ancestors, at their [`TreeOffers::bit`]. Only computed if the request has
    /// rules of `same_subtree`. Bits of providers that are not offered may be set too and have no effect.
    pub above: BitMatrix,
    /// By kind of part, the options again. Computed together with `above`.
    pub option_bits: BitMatrix,
    /// Whether all providers are in one block, as nearly always, so that a provider's bit is its lane.
    in_one_block: bool,
    /// By provider, the root of its tree. Only computed if a tree may serve with one provider alone.
    pub trees: Vec<Slot>,
    /// The providers by block; sorted by block once `above` is computed.
    blocks: Vec<OfferedBlock>,
}

/// Providers of one block.
#[derive(Clone, Copy, Debug)]
struct OfferedBlock {
    block: usize,
    lanes: u64,
    /// The index of the provider in the lowest lane. The indexes of higher lanes follow.
    first: usize,
}

/// An inventory whose sums of allowed amounts need not be multiples of `step_size`, because `min_unit` is no multiple.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnalignedInventory {
    pub provider: usize,
    pub class: usize,
    pub units: Units,
}

impl TreeOffers {
    /// Begins a new tree. Providers are added with [`TreeOffers::add_block`], then [`TreeOffers::finish`] is called.
    pub fn clear(&mut self, request: &SplitRequest) {
        self.slots.clear();
        self.blocks.clear();
        self.options.resize_with(request.kinds.len(), Vec::new);
        self.options.iter_mut().for_each(Vec::clear);
    }

    /// Adds providers of a block. `masks` are the lanes that could serve each kind of part.
    pub fn add_block(&mut self, block: usize, masks: &[u64]) {
        let all = masks.iter().fold(0, |all, mask| all | mask);
        let first = self.slots.len() as u32;
        self.blocks.push(OfferedBlock {
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

    /// Computes the data for the constraints of the request.
    pub fn finish(&mut self, snapshot: &Snapshot, request: &SplitRequest) {
        self.find_room(snapshot, request);
        self.find_traits(snapshot, request);
        self.find_above(snapshot, request);
        self.trees.clear();
        if !request.nested {
            self.trees
                .extend(self.slots.iter().map(|&slot| snapshot.cached_root(slot)));
        }
    }

    /// The approximate size in 8-byte words: all that grows with the number of providers.
    pub fn size(&self) -> usize {
        let options: usize = self.options.iter().map(Vec::len).sum();
        let tables = [&self.covers, &self.above, &self.option_bits];
        let bits: usize = tables.into_iter().map(BitMatrix::size).sum();
        self.slots.len() + options + self.room.len() + bits
    }

    fn find_room(&mut self, snapshot: &Snapshot, request: &SplitRequest) {
        self.room.clear();
        self.unaligned.clear();
        for (provider, &slot) in self.slots.iter().enumerate() {
            for (class, &id) in request.classes.iter().enumerate() {
                let Some((room, units)) = snapshot.room(slot, id, request.amount_rules.of(id)) else {
                    self.room.push(0);
                    continue;
                };
                // More room than the whole request needs makes no difference. Capped, more providers are
                // interchangeable.
                self.room.push(room.min(request.demand[class]));
                if units.may_sum_between_steps(request.settings.strict_step) {
                    self.unaligned.push(UnalignedInventory { provider, class, units });
                }
            }
        }
    }

    fn find_traits(&mut self, snapshot: &Snapshot, request: &SplitRequest) {
        let Some(group) = &request.unsuffixed else { return };
        self.covers.reset(self.slots.len(), group.required.len());
        for &OfferedBlock { block, lanes, first } in &self.blocks {
            let traits = &snapshot.blocks.get(block).profile.traits;
            for (index, any_of) in group.required.iter().enumerate() {
                let having = traits.any(any_of);
                let providers = (first..).zip(lanes_of(lanes));
                let covering = providers.filter(|(_, lane)| having >> lane & 1 == 1);
                covering.for_each(|(provider, _)| self.covers.set(provider, index));
            }
        }
    }

    fn find_above(&mut self, snapshot: &Snapshot, request: &SplitRequest) {
        if request.subtrees == 0 {
            return;
        }
        self.in_one_block = self.find_above_by_layout(snapshot);
        if !self.in_one_block {
            self.find_above_by_parents(snapshot);
        }
        self.option_bits.reset(self.options.len(), self.width());
        for (kind, options) in self.options.iter().enumerate() {
            for &provider in options {
                let bit = self.bit(provider as usize);
                self.option_bits.set(kind, bit);
            }
        }
    }

    /// The number of bits of a row of providers, as in `above` and `option_bits`.
    pub fn width(&self) -> usize {
        if self.in_one_block { LANES } else { self.slots.len() }
    }

    /// The bit of a provider in a row of `above` or `option_bits`.
    pub fn bit(&self, provider: usize) -> usize {
        if self.in_one_block {
            self.slots[provider].lane()
        } else {
            provider
        }
    }

    /// Whether `one` is the provider `other` or an ancestor of `other`.
    pub fn is_above(&self, one: usize, other: usize) -> bool {
        self.above.get(other, self.bit(one))
    }

    /// False if the providers and their ancestors are in several blocks.
    fn find_above_by_layout(&mut self, snapshot: &Snapshot) -> bool {
        let [OfferedBlock { block, .. }] = self.blocks[..] else {
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

    fn find_above_by_parents(&mut self, snapshot: &Snapshot) {
        self.blocks.sort_unstable_by_key(|offered| offered.block);
        self.above.reset(self.slots.len(), self.slots.len());
        for (provider, &slot) in self.slots.iter().enumerate() {
            let ancestors = std::iter::successors(Some(slot), |&slot| snapshot.cached_parent(slot));
            // A foreign writer may have left a cycle of parents in the tables.
            let ancestors = ancestors
                .enumerate()
                .take_while(|&(steps, at)| steps == 0 || at != slot);
            for (_, at) in ancestors.take(snapshot.len()) {
                if let Some(found) = index(&self.blocks, at) {
                    self.above.set(provider, found);
                }
            }
        }
    }

    /// Adds the sets of required traits that the options of a kind cover together.
    pub fn cover_together(&self, kind: usize, into: &mut [u64]) {
        let options = self.options[kind].iter();
        options.for_each(|&provider| union_with(into, self.covers.row(provider as usize)));
    }
}

/// The index of a provider, if the provider is in `blocks`, which are sorted.
fn index(blocks: &[OfferedBlock], slot: Slot) -> Option<usize> {
    let first = blocks.partition_point(|offered| offered.block < slot.block());
    let mut same_block = blocks[first..]
        .iter()
        .take_while(|offered| offered.block == slot.block());
    let offered = same_block.find(|offered| offered.lanes & slot.bit() != 0)?;
    let before = offered.lanes & (slot.bit() - 1);
    Some(offered.first + before.count_ones() as usize)
}
