//! Resolves the names of a request to ids, once, before the search.
//!
//! Unknown classes and traits are errors; unknown aggregates and providers match nothing. As in OpenStack Placement, a
//! filter without a passing provider makes the answer empty, before later names are looked up.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::described_filter::HostFilter;
use super::expression::CompiledExpression;
use super::provider_filter::{MemberIds, ProviderFilter, TraitIds};
use super::request::{Group, MemberOf, ProviderQuery, Request, Traits};
use super::scan;
use super::snapshot::{AmountRulesByClass, Catalog, ClassId, Snapshot, TraitId};
use crate::error::{Error, Result};

/// The conditions that all groups of a request have in common: on the root of the serving tree, and on states. An error
/// with the first unknown name.
pub(super) fn common_filter(
    snapshot: &Snapshot,
    request: &Request,
    amount_rules: &AmountRulesByClass,
    strict: bool,
) -> Result<ProviderFilter> {
    Ok(ProviderFilter {
        amount_rules: amount_rules.clone(),
        root: trait_ids(snapshot.catalog(), &request.root_required, unknown_in_candidates)?,
        host: HostFilter::new(snapshot, &request.host).map(Arc::new),
        only_up: request.host.only_up,
        strict,
        ..ProviderFilter::default()
    })
}

/// The filter of a group; `None` if no provider can match. An error with the first unknown name.
pub(super) fn group_filter(
    snapshot: &Snapshot,
    common: &ProviderFilter,
    group: &Group,
) -> Result<Option<ProviderFilter>> {
    let catalog = snapshot.catalog();
    let mut filter = ProviderFilter {
        condition: (!group.condition.is_empty()).then(|| CompiledExpression::new(snapshot, &group.condition)),
        spans_tree: group.suffix.is_empty(),
        ..common.clone()
    };
    let roots = ProviderFilter {
        root: common.root.clone(),
        ..ProviderFilter::default()
    };
    filter.amounts = match class_ids(catalog, &group.resources) {
        Ok(amounts) => amounts,
        Err(error) => return error_unless_empty(snapshot, &[roots], error),
    };
    filter.members = member_ids(catalog, &group.member_of);
    filter.traits = match trait_ids(catalog, &group.traits, unknown_in_candidates) {
        Ok(traits) => traits,
        Err(error) => return error_unless_empty(snapshot, &[roots, required_members_only(&filter)], error),
    };
    if let Some(uuid) = &group.in_tree {
        let Some(slot) = snapshot.by_uuid(uuid) else {
            return Ok(None);
        };
        filter.tree = Some(snapshot.root(slot));
    }
    if !filter.amounts.is_empty() {
        return Ok(Some(filter));
    }
    // As in OpenStack Placement, `in_tree` does not restrict a group without resources, and the group matches only by
    // required traits and aggregates.
    let has_requirement = !(filter.traits.required.is_empty() && filter.members.any_of.is_empty());
    Ok(has_requirement.then_some(ProviderFilter { tree: None, ..filter }))
}

/// The filter of a list of providers, without its name and uuid; `None` if no provider can match. An error with the
/// first unknown name.
pub(super) fn query_filter(snapshot: &Snapshot, query: &ProviderQuery, strict: bool) -> Result<Option<ProviderFilter>> {
    let catalog = snapshot.catalog();
    let mut filter = ProviderFilter {
        strict,
        ..ProviderFilter::default()
    };
    if let Some(uuid) = &query.in_tree {
        let Some(slot) = snapshot.by_uuid(uuid) else {
            return Ok(None);
        };
        filter.tree = Some(snapshot.root(slot));
    }
    let unknown = |names| Error::UnknownTraitsInQuery { names };
    filter.traits.required = required_ids(catalog, &query.traits, unknown)?;
    let required = ProviderFilter {
        traits: filter.traits.clone(),
        ..ProviderFilter::default()
    };
    filter.traits.forbidden = match known_traits(catalog, &query.traits.forbidden, unknown) {
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
    let passes_any = |filter: &ProviderFilter| {
        let fits_any = |block| scan::fitting(snapshot, filter, block, u64::MAX) != 0;
        *filter == ProviderFilter::default() || (0..snapshot.blocks.len()).any(fits_any)
    };
    if before.iter().all(passes_any) {
        Err(error)
    } else {
        Ok(None)
    }
}

/// A filter with the required aggregates of `filter`, and nothing else.
fn required_members_only(filter: &ProviderFilter) -> ProviderFilter {
    let mut only = ProviderFilter::default();
    only.members.any_of.clone_from(&filter.members.any_of);
    only
}

fn class_ids(catalog: &Catalog, resources: &[(String, i64)]) -> Result<Vec<(ClassId, i64)>> {
    let look_up = |(name, amount): &(String, i64)| match catalog.class_id(name) {
        Some(class) => Ok((class, *amount)),
        None => Err(Error::UnknownClassInQuery { name: name.clone() }),
    };
    resources.iter().map(look_up).collect()
}

fn unknown_in_candidates(names: String) -> Error {
    Error::UnknownTraitsInCandidates { names }
}

fn trait_ids(catalog: &Catalog, traits: &Traits, unknown: fn(String) -> Error) -> Result<TraitIds> {
    Ok(TraitIds {
        required: required_ids(catalog, traits, unknown)?,
        forbidden: known_traits(catalog, &traits.forbidden, unknown)?,
    })
}

fn required_ids(catalog: &Catalog, traits: &Traits, unknown: fn(String) -> Error) -> Result<Vec<Vec<TraitId>>> {
    let required = traits.required.iter();
    required.map(|any_of| known_traits(catalog, any_of, unknown)).collect()
}

fn known_traits(catalog: &Catalog, names: &BTreeSet<String>, unknown: fn(String) -> Error) -> Result<Vec<TraitId>> {
    let look_up = |name: &String| catalog.trait_id(name).ok_or_else(|| unknown(name.clone()));
    names.iter().map(look_up).collect()
}

fn member_ids(catalog: &Catalog, members: &MemberOf) -> MemberIds {
    let known = |uuids: &BTreeSet<String>| uuids.iter().filter_map(|uuid| catalog.aggregate_id(uuid)).collect();
    MemberIds {
        any_of: members.any_of.iter().map(known).collect(),
        forbidden: known(&members.forbidden),
    }
}
