//! Who listens to the reasons of a search.

use super::snapshot::{ClassId, Slot};

/// Why a provider was passed over; the first reason that was found, in the order in which filters are tried.
/// Indexes point into the request's own lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has none of the traits of `required[index]`.
    MissingTrait { index: usize },
    /// It has a forbidden trait.
    ForbiddenTrait,
    /// Neither it nor its root is in one aggregate of each set.
    NotMember,
    /// It or its root is in a forbidden aggregate.
    ForbiddenMember,
    /// Its root lacks a trait of `root_required` or has a forbidden one.
    Root,
    /// It has no inventory of the class.
    NoInventory { class: ClassId },
    /// The amount is not between `min_unit` and `max_unit`, or not in steps.
    Units { class: ClassId },
    /// Capacity less usage is smaller than the amount.
    NoRoom { class: ClassId },
}

/// Hears of every provider that a search passes over. A search that is told `&mut ()` compiles to one without.
///
/// Searches are lazy: nothing is said of a provider that was not looked at, because it was outside the tree of
/// `in_tree` or because enough was found before it. A provider is named once; where several
/// providers serve together, once for each kind of part that it could not serve.
pub trait Observer {
    /// False only where nobody listens, so that reasons are not even counted.
    const LISTENS: bool = true;

    fn refused(&mut self, slot: Slot, reason: Reason);
}

/// Nobody.
impl Observer for () {
    const LISTENS: bool = false;

    fn refused(&mut self, _: Slot, _: Reason) {}
}

impl<O: Observer> Observer for &mut O {
    const LISTENS: bool = O::LISTENS;

    fn refused(&mut self, slot: Slot, reason: Reason) {
        (**self).refused(slot, reason);
    }
}
