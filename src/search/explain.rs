//! Explains why a search rejects providers.

use super::expression::Truth;
use super::snapshot::{BlockSlots, ClassId, ProviderState, Slot};

/// Why a provider was rejected: the first reason found, in the order in which filters are tried. `index` and `group`
/// point into the request's own lists. Of groups with equal filters, `group` is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rejection {
    /// The provider has none of the traits of `required[index]`.
    MissingTrait { group: usize, index: usize },
    /// The root's tree has no provider with a trait of `required[index]` of the group without a suffix, which several
    /// providers may serve.
    MissingTraitInTree { group: usize, index: usize },
    /// The provider has a forbidden trait.
    ForbiddenTrait { group: usize },
    /// Neither the provider nor its root is in one aggregate of each set.
    NotMember { group: usize },
    /// The provider or its root is in a forbidden aggregate.
    ForbiddenMember { group: usize },
    /// The root lacks a trait of `root_required` or has a forbidden trait.
    Root,
    /// The root is in none of the required domains of a dimension.
    OtherDomain,
    /// The root is in a forbidden domain.
    ForbiddenDomain,
    /// The condition of a group is not true for the provider; without a group, the condition of the request for the
    /// root. Of groups with equal conditions, `group` is the first.
    Condition { group: Option<usize>, verdict: Truth },
    /// The provider, or an ancestor, is in this state.
    State { state: ProviderState },
    /// The provider has no inventory of the class.
    NoInventory { group: usize, class: ClassId },
    /// The amount is not between `min_unit` and `max_unit`, or not a multiple of `step_size`.
    Units { group: usize, class: ClassId },
    /// Capacity less usage is smaller than the amount.
    NoRoom { group: usize, class: ClassId },
}

/// Receives every provider that a search rejects. With `()` the calls compile to nothing.
///
/// A provider is reported once; if several providers serve a request together, once for each kind of part that the
/// provider cannot serve. Searches are lazy, so a provider that was not examined is not reported: the provider is
/// outside of the tree of `in_tree`, or enough candidates were found before.
pub trait Explain {
    /// False if reasons are ignored: they need not be computed, and whole blocks may be skipped.
    const ENABLED: bool = true;

    fn rejected(&mut self, slot: Slot, reason: Rejection);

    /// Reports several providers. `reason` is called only if reasons are not ignored.
    fn all_rejected(&mut self, slots: BlockSlots, reason: impl Fn(Slot) -> Rejection) {
        if Self::ENABLED {
            for slot in slots {
                self.rejected(slot, reason(slot));
            }
        }
    }
}

/// Ignores all reasons.
impl Explain for () {
    const ENABLED: bool = false;

    fn rejected(&mut self, _: Slot, _: Rejection) {}
}

impl Explain for Vec<(Slot, Rejection)> {
    fn rejected(&mut self, slot: Slot, reason: Rejection) {
        self.push((slot, reason));
    }
}

impl<E: Explain> Explain for &mut E {
    const ENABLED: bool = E::ENABLED;

    fn rejected(&mut self, slot: Slot, reason: Rejection) {
        (**self).rejected(slot, reason);
    }
}
