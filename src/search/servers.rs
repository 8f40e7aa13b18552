//! Who serves a group: mostly one provider, for which nothing is allocated.

use std::ops::Deref;

use super::snapshot::Slot;

/// Some providers, none twice, in the order in which they came; never none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Servers(Kept);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kept {
    One(Slot),
    /// Two at least.
    Several(Vec<Slot>),
}

impl Servers {
    /// One more, if it is not among them.
    pub(super) fn add(&mut self, slot: Slot) {
        if self.contains(&slot) {
            return;
        }
        match &mut self.0 {
            Kept::One(first) => self.0 = Kept::Several(vec![*first, slot]),
            Kept::Several(slots) => slots.push(slot),
        }
    }
}

impl From<Slot> for Servers {
    fn from(slot: Slot) -> Self {
        Self(Kept::One(slot))
    }
}

impl Deref for Servers {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        match &self.0 {
            Kept::One(slot) => std::slice::from_ref(slot),
            Kept::Several(slots) => slots,
        }
    }
}
