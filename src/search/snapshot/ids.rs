//! The ids of the tables, and the place of a provider in a version.

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

/// How many providers share a block: one for each bit of a mask.
pub const LANES: usize = 64;

/// Where a provider stands in one version of the snapshot.
///
/// It is an index, not an identity: the slot of a removed provider is given to a later one, so a slot means something
/// only beside the version that it came from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Slot(u32);

impl Slot {
    pub(in crate::search) fn new(block: usize, lane: usize) -> Self {
        debug_assert!(lane < LANES);
        // A deployment of four thousand million providers does not fit the ids of the tables either.
        Self(u32::try_from(block * LANES + lane).expect("more slots than 32-bit ids"))
    }

    /// A dense index, below [`super::Snapshot::slots`], for arrays that a caller keeps beside one version.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(in crate::search) fn block(self) -> usize {
        self.index() / LANES
    }

    /// Its place among the providers beside it ([`super::Snapshot::beside`]), below [`LANES`].
    pub fn lane(self) -> usize {
        self.index() % LANES
    }

    /// Does another provider stand beside it?
    pub fn is_beside(self, other: Slot) -> bool {
        self.block() == other.block()
    }

    pub(in crate::search) fn bit(self) -> u64 {
        1 << self.lane()
    }
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
