//! The providers that serve a group of a candidate. A group of a single provider, as usual, allocates no memory.

use std::ops::Deref;

use super::snapshot::Slot;

/// At least one provider, each once, in the order of addition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupProviders(Slots);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Slots {
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
        match &mut self.0 {
            Slots::One(first) => self.0 = Slots::Several(vec![*first, slot]),
            Slots::Several(slots) => slots.push(slot),
        }
    }
}

impl From<Slot> for GroupProviders {
    fn from(slot: Slot) -> Self {
        Self(Slots::One(slot))
    }
}

impl Deref for GroupProviders {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        match &self.0 {
            Slots::One(slot) => std::slice::from_ref(slot),
            Slots::Several(slots) => slots,
        }
    }
}
