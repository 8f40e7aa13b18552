//! The ids of the tables, and slots: the positions of providers in a version.

/// `resource_providers.id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ProviderId(pub i32);

/// `resource_classes.id`; VCPU is 0, custom classes start at 10000.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClassId(pub i32);

/// `traits.id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TraitId(pub i32);

/// `placement_aggregates.id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AggregateId(pub i32);

/// Providers per block: one for each bit of a mask.
pub const LANES: usize = 64;

/// The position of a provider in one version of the snapshot: a block and a lane in the block.
///
/// A slot is an index, not an identity: a new provider gets the slot of a removed provider. So a slot is valid only for
/// the version from which it came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Slot(u32);

impl Slot {
    pub(in crate::search) fn new(block: usize, lane: usize) -> Self {
        debug_assert!(lane < LANES);
        // Ids of the tables have 31 bits, so a deployment cannot have as many providers.
        Self(u32::try_from(block * LANES + lane).expect("more slots than 32-bit ids"))
    }

    /// A dense index below [`super::Snapshot::slots`], for a caller's own arrays, valid for one version.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(in crate::search) fn block(self) -> usize {
        self.index() / LANES
    }

    /// The position in the slot's block ([`super::Snapshot::same_block`]), below [`LANES`].
    pub fn lane(self) -> usize {
        self.index() % LANES
    }

    /// Whether both slots are in one block.
    pub fn is_in_block_of(self, other: Slot) -> bool {
        self.block() == other.block()
    }

    pub(in crate::search) fn bit(self) -> u64 {
        1 << self.lane()
    }
}

/// The lanes of a mask that pass a test.
pub(in crate::search) fn lanes_where(mask: u64, passes: impl Fn(usize) -> bool) -> u64 {
    let passing = lanes_of(mask).filter(|&lane| passes(lane));
    passing.fold(0, |lanes, lane| lanes | 1 << lane)
}

/// The lanes of a mask, lowest first.
pub(in crate::search) fn lanes_of(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
