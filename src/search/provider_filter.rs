//! The conditions on a provider for a request or a group of a request, with names looked up.

use std::sync::Arc;

use super::described_filter::HostFilter;
use super::expression::CompiledExpression;
use super::snapshot::{AggregateId, AmountRulesByClass, ClassId, Slot, TraitId};

/// Conditions on a provider and its place. A provider passes if all fields hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProviderFilter {
    pub amounts: Vec<(ClassId, i64)>,
    pub traits: TraitIds,
    pub members: MemberIds,
    /// Traits of the root of the provider's tree.
    pub root: TraitIds,
    /// Conditions on the description of the root of the provider's tree.
    pub host: Option<Arc<HostFilter>>,
    /// A condition on the provider.
    pub condition: Option<CompiledExpression>,
    /// Whether the provider and all its ancestors must be in state `up`.
    pub only_up: bool,
    /// The root of the only tree whose providers pass.
    pub tree: Option<Slot>,
    /// Whether aggregates of a root count for its whole tree: for the group without a suffix, not for granular groups
    /// and the list of providers.
    pub spans_tree: bool,
    /// `strict` of [`super::snapshot::Inventory::allows_amount`].
    pub strict: bool,
    /// The rules about the amounts.
    pub amount_rules: AmountRulesByClass,
}

/// Required and forbidden traits: a trait of each required set is enough.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TraitIds {
    pub required: Vec<Vec<TraitId>>,
    pub forbidden: Vec<TraitId>,
}

/// Required and forbidden aggregates. Unknown aggregates are left out; an empty set matches no provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemberIds {
    pub any_of: Vec<Vec<AggregateId>>,
    pub forbidden: Vec<AggregateId>,
}
