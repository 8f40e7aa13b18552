//! A candidate: which providers serve a request, and how much each gives.

use std::ops::Deref;
use std::sync::Arc;

use super::snapshot::{ClassId, Slot};

/// An assignment of providers to a request. A claim for the candidate would be granted at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// No pair of provider and class occurs twice.
    pub placements: Vec<Placement>,
    /// The suffix of each group, with the group's providers.
    pub mappings: Vec<(Arc<str>, GroupProviders)>,
}

/// An amount of a class from a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Placement {
    pub slot: Slot,
    pub class: ClassId,
    pub amount: i64,
}

impl Candidate {
    /// The same candidate on a different provider. The candidate must be of a single provider.
    pub fn moved_to(&self, slot: Slot) -> Candidate {
        let placements = self.placements.iter().map(|placement| Placement { slot, ..*placement });
        let mappings = self.mappings.iter();
        Candidate {
            placements: placements.collect(),
            mappings: mappings.map(|(suffix, _)| (Arc::clone(suffix), slot.into())).collect(),
        }
    }
}

/// The providers of a group, each once, in the order of addition: at least one. A group of a single provider, as usual,
/// allocates no memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupProviders {
    One(Slot),
    /// At least two.
    Several(Vec<Slot>),
}

impl GroupProviders {
    /// Adds a provider, unless the provider is already there.
    pub(super) fn add(&mut self, slot: Slot) {
        if self.contains(&slot) {
            return;
        }
        match self {
            GroupProviders::One(first) => *self = GroupProviders::Several(vec![*first, slot]),
            GroupProviders::Several(slots) => slots.push(slot),
        }
    }
}

impl From<Slot> for GroupProviders {
    fn from(slot: Slot) -> Self {
        GroupProviders::One(slot)
    }
}

impl Deref for GroupProviders {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        match self {
            GroupProviders::One(slot) => std::slice::from_ref(slot),
            GroupProviders::Several(slots) => slots,
        }
    }
}
