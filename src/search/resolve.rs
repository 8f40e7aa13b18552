//! Resolves the names of a request to ids, once, before the search.
//!
//! Unknown classes and traits are errors; unknown aggregates and providers match nothing. As in OpenStack Placement, a
//! filter without a passing provider makes the answer empty, before later names are looked up.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::described_filter::HostFilter;
use super::expression::CompiledExpression;
use super::request::{Group, HostConditions, Members, ProviderQuery, Traits};
use super::scan;
use super::snapshot::{AggregateId, Catalog, ClassId, Slot, Snapshot, TraitId};
use crate::error::{Error, Result};

/// A resolved request to one provider: conditions on the provider and its place. A provider passes if all fields hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProviderFilter {
    pub amounts: Vec<(ClassId, i64)>,
    pub traits: TraitIds,
    pub members: MemberIds,
    /// Traits of the root of the provider's tree.
    pub root: TraitIds,
    /// Conditions on the description of the root of the provider's tree.
    pub host: Option<Arc<HostFilter>>,
    /// A condition on the provider itself, with the index of the first group with this condition.
    pub condition: Option<(usize, CompiledExpression)>,
    /// Whether the provider and all its ancestors must be in state `up`.
    pub only_up: bool,
    /// The root of the only tree whose providers pass.
    pub tree: Option<Slot>,
    /// Whether aggregates of a root count for its whole tree: for the group without a suffix, not for granular groups
    /// and the list of providers.
    pub spans_tree: bool,
    /// `strict` of [`super::snapshot::Inventory::allows_amount`].
    pub strict: bool,
    /// Whether an inventory is enough, however little is free.
    pub ignores_room: bool,
    /// The index of the first group with this filter, for reasons of rejections; 0 if reasons are ignored.
    pub group: usize,
}

/// [`Traits`] in ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TraitIds {
    pub required: Vec<Vec<TraitId>>,
    pub forbidden: Vec<TraitId>,
}

/// [`Members`] in ids. Unknown aggregates are left out; a set that becomes empty matches no provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemberIds {
    pub any_of: Vec<Vec<AggregateId>>,
    pub forbidden: Vec<AggregateId>,
}

impl TraitIds {
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.forbidden.is_empty()
    }
}

/// The required and forbidden traits of the root of a tree.
///
/// # Errors
/// [`Error::UnknownTraitsInCandidates`], with the first unknown name.
fn root_traits(snapshot: &Snapshot, traits: &Traits) -> Result<TraitIds> {
    trait_ids(snapshot.catalog(), traits, |names| Error::UnknownTraitsInCandidates {
        names,
    })
}

/// The conditions of all groups of a request on the root of the serving tree, and on every provider.
#[derive(Clone, Debug, Default)]
pub(super) struct RootConditions {
    pub traits: TraitIds,
    pub host: Option<Arc<HostFilter>>,
    pub only_up: bool,
}

/// The conditions of a request on the root of the serving tree.
///
/// # Errors
/// As of [`root_traits`].
pub(super) fn root_conditions(snapshot: &Snapshot, traits: &Traits, host: &HostConditions) -> Result<RootConditions> {
    Ok(RootConditions {
        traits: root_traits(snapshot, traits)?,
        host: HostFilter::new(snapshot, host).map(Arc::new),
        only_up: host.only_up,
    })
}

/// The filter of a group in trees whose root meets `root`; `None` if no provider can match. The group comes with the
/// index of the first group with an equal condition.
///
/// # Errors
/// [`Error::UnknownClassInQuery`] and [`Error::UnknownTraitsInCandidates`], with the first unknown name.
pub(super) fn group_filter(
    snapshot: &Snapshot,
    root: &RootConditions,
    (index, group): (usize, &Group),
    strict: bool,
) -> Result<Option<ProviderFilter>> {
    let catalog = snapshot.catalog();
    let mut filter = ProviderFilter {
        root: root.traits.clone(),
        host: root.host.clone(),
        condition: (!group.condition.is_empty()).then(|| (index, CompiledExpression::new(snapshot, &group.condition))),
        only_up: root.only_up,
        spans_tree: group.suffix.is_empty(),
        strict,
        ..ProviderFilter::default()
    };
    let roots = ProviderFilter {
        root: root.traits.clone(),
        ..ProviderFilter::default()
    };
    filter.amounts = match class_ids(catalog, &group.resources) {
        Ok(amounts) => amounts,
        Err(error) => return error_unless_empty(snapshot, &[roots], error),
    };
    filter.members = member_ids(catalog, &group.member_of);
    filter.traits = match trait_ids(catalog, &group.traits, |names| Error::UnknownTraitsInCandidates {
        names,
    }) {
        Ok(traits) => traits,
        Err(error) => return error_unless_empty(snapshot, &[roots, required_members_only(&filter)], error),
    };
    let Some(filter) = restrict_to_tree(snapshot, group.in_tree.as_deref(), filter) else {
        return Ok(None);
    };
    if !filter.amounts.is_empty() {
        return Ok(Some(filter));
    }
    // As in OpenStack Placement, `in_tree` does not restrict a group without resources, and the group matches only by
    // required traits and aggregates.
    let has_requirement = !(filter.traits.required.is_empty() && filter.members.any_of.is_empty());
    Ok(has_requirement.then_some(ProviderFilter { tree: None, ..filter }))
}

/// The filter of a list of providers, without its name and uuid; `None` if no provider can match.
///
/// # Errors
/// [`Error::UnknownClassInQuery`] and [`Error::UnknownTraitsInQuery`], with the first unknown name.
pub(super) fn query_filter(snapshot: &Snapshot, query: &ProviderQuery, strict: bool) -> Result<Option<ProviderFilter>> {
    let catalog = snapshot.catalog();
    let Some(mut filter) = restrict_to_tree(
        snapshot,
        query.in_tree.as_deref(),
        ProviderFilter {
            strict,
            ..ProviderFilter::default()
        },
    ) else {
        return Ok(None);
    };
    let unknown = |names| Error::UnknownTraitsInQuery { names };
    filter.traits.required = required_ids(catalog, &query.traits, unknown)?;
    let required = ProviderFilter {
        traits: filter.traits.clone(),
        ..ProviderFilter::default()
    };
    filter.traits.forbidden = match forbidden_ids(catalog, &query.traits, unknown) {
        Ok(forbidden) => forbidden,
        Err(error) => return error_unless_empty(snapshot, &[required], error),
    };
    filter.members = member_ids(catalog, &query.members);
    filter.amounts = match class_ids(catalog, &query.resources) {
        Ok(amounts) => amounts,
        Err(error) => return error_unless_empty(snapshot, &[required, required_members_only(&filter)], error),
    };
    Ok(Some(filter))
}

/// The error; or no match, if an earlier filter in `before` rejects every provider. An empty filter never rejects all,
/// so an unknown name is refused even on a database without providers.
fn error_unless_empty(snapshot: &Snapshot, before: &[ProviderFilter], error: Error) -> Result<Option<ProviderFilter>> {
    let passes_any = |filter: &ProviderFilter| *filter == ProviderFilter::default() || scan::any_fits(snapshot, filter);
    if before.iter().all(passes_any) {
        Err(error)
    } else {
        Ok(None)
    }
}

/// A filter with the required aggregates of `filter`, and nothing else.
fn required_members_only(filter: &ProviderFilter) -> ProviderFilter {
    let members = MemberIds {
        any_of: filter.members.any_of.clone(),
        forbidden: Vec::new(),
    };
    ProviderFilter {
        members,
        ..ProviderFilter::default()
    }
}

/// Restricts a filter to the tree of the provider `uuid`; `None` if the provider is unknown.
fn restrict_to_tree(snapshot: &Snapshot, uuid: Option<&str>, filter: ProviderFilter) -> Option<ProviderFilter> {
    let Some(uuid) = uuid else { return Some(filter) };
    let tree = snapshot.root(snapshot.by_uuid(uuid)?);
    Some(ProviderFilter {
        tree: Some(tree),
        ..filter
    })
}

fn class_ids(catalog: &Catalog, resources: &[(String, i64)]) -> Result<Vec<(ClassId, i64)>> {
    let look_up = |(name, amount): &(String, i64)| match catalog.class_id(name) {
        Some(class) => Ok((class, *amount)),
        None => Err(Error::UnknownClassInQuery { name: name.clone() }),
    };
    resources.iter().map(look_up).collect()
}

fn trait_ids(catalog: &Catalog, traits: &Traits, unknown: fn(String) -> Error) -> Result<TraitIds> {
    let required = required_ids(catalog, traits, unknown)?;
    Ok(TraitIds {
        required,
        forbidden: forbidden_ids(catalog, traits, unknown)?,
    })
}

fn required_ids(catalog: &Catalog, traits: &Traits, unknown: fn(String) -> Error) -> Result<Vec<Vec<TraitId>>> {
    traits
        .required
        .iter()
        .map(|any_of| known_traits(catalog, any_of, unknown))
        .collect()
}

fn forbidden_ids(catalog: &Catalog, traits: &Traits, unknown: fn(String) -> Error) -> Result<Vec<TraitId>> {
    known_traits(catalog, &traits.forbidden, unknown)
}

fn known_traits(catalog: &Catalog, names: &BTreeSet<String>, unknown: fn(String) -> Error) -> Result<Vec<TraitId>> {
    names
        .iter()
        .map(|name| catalog.trait_id(name).ok_or_else(|| unknown(name.clone())))
        .collect()
}

fn member_ids(catalog: &Catalog, members: &Members) -> MemberIds {
    let known = |uuids: &BTreeSet<String>| uuids.iter().filter_map(|uuid| catalog.aggregate_id(uuid)).collect();
    MemberIds {
        any_of: members.any_of.iter().map(known).collect(),
        forbidden: known(&members.forbidden),
    }
}
