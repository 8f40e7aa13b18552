//! A request in ids: names are looked up once, and what is unknown is refused here.
//!
//! Unknown classes and traits are errors, unknown aggregates and providers match nothing; and as in OpenStack Placement,
//! a filter that nobody passes ends the request with an empty answer before the names that come after it are looked at.

use std::collections::BTreeSet;

use super::request::{Group, Members, ProviderQuery, Traits};
use super::scan;
use super::snapshot::{AggregateId, Catalog, ClassId, Slot, Snapshot, TraitId};
use crate::error::{Error, Result};

/// What one provider has to be and to have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub amounts: Vec<(ClassId, i64)>,
    pub traits: TraitIds,
    pub members: MemberIds,
    /// Asked of the root of the provider's tree.
    pub root: TraitIds,
    /// The root of the only tree that may serve.
    pub tree: Option<Slot>,
    /// Aggregates of a root hold for its whole tree: so it is with candidates, not with the list of providers.
    pub spans_tree: bool,
    /// As `strict` of [`super::snapshot::Inventory::allows_amount`].
    pub strict: bool,
}

/// [`Traits`] in ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TraitIds {
    pub required: Vec<Vec<TraitId>>,
    pub forbidden: Vec<TraitId>,
}

/// [`Members`] in ids, without the unknown: a set of which nothing is left matches nobody.
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

/// What is asked of the root of a tree.
///
/// # Errors
/// [`Error::UnknownTraitsInCandidates`], with the first unknown name.
pub(super) fn of_root(snapshot: &Snapshot, traits: &Traits) -> Result<TraitIds> {
    trait_ids(snapshot.catalog(), traits, |names| Error::UnknownTraitsInCandidates {
        names,
    })
}

/// The plan of `group`, in whose trees `root` is asked of the root; `None` where nobody can match.
///
/// # Errors
/// [`Error::UnknownClassInQuery`] and [`Error::UnknownTraitsInCandidates`], with the first unknown name.
pub(super) fn of_group(snapshot: &Snapshot, root: &TraitIds, group: &Group, strict: bool) -> Result<Option<Plan>> {
    let catalog = snapshot.catalog();
    let mut plan = Plan {
        root: root.clone(),
        spans_tree: group.suffix.is_empty(),
        strict,
        ..Plan::default()
    };
    let roots = Plan {
        root: root.clone(),
        ..Plan::default()
    };
    plan.amounts = match class_ids(catalog, &group.resources) {
        Ok(amounts) => amounts,
        Err(error) => return unless_nobody(snapshot, &[roots], error),
    };
    plan.members = member_ids(catalog, &group.member_of);
    plan.traits = match trait_ids(catalog, &group.traits, |names| Error::UnknownTraitsInCandidates {
        names,
    }) {
        Ok(traits) => traits,
        Err(error) => return unless_nobody(snapshot, &[roots, only_members(&plan)], error),
    };
    let Some(plan) = in_tree(snapshot, group.in_tree.as_deref(), plan) else {
        return Ok(None);
    };
    if !plan.amounts.is_empty() {
        return Ok(Some(plan));
    }
    // A group without resources is as OpenStack Placement has it: a tree does not bound it, and it matches nobody
    // unless it names a trait or an aggregate to look for.
    let looks_for_something = !(plan.traits.required.is_empty() && plan.members.any_of.is_empty());
    Ok(looks_for_something.then_some(Plan { tree: None, ..plan }))
}

/// The plan of a list of providers, but for name and uuid; `None` where nobody can match.
///
/// # Errors
/// [`Error::UnknownClassInQuery`] and [`Error::UnknownTraitsInQuery`], with the first unknown name.
pub(super) fn of_query(snapshot: &Snapshot, query: &ProviderQuery, strict: bool) -> Result<Option<Plan>> {
    let catalog = snapshot.catalog();
    let Some(mut plan) = in_tree(
        snapshot,
        query.in_tree.as_deref(),
        Plan {
            strict,
            ..Plan::default()
        },
    ) else {
        return Ok(None);
    };
    let unknown = |names| Error::UnknownTraitsInQuery { names };
    plan.traits.required = required_ids(catalog, &query.traits, unknown)?;
    let required = Plan {
        traits: plan.traits.clone(),
        ..Plan::default()
    };
    plan.traits.forbidden = match forbidden_ids(catalog, &query.traits, unknown) {
        Ok(forbidden) => forbidden,
        Err(error) => return unless_nobody(snapshot, &[required], error),
    };
    plan.members = member_ids(catalog, &query.members);
    plan.amounts = match class_ids(catalog, &query.resources) {
        Ok(amounts) => amounts,
        Err(error) => return unless_nobody(snapshot, &[required, only_members(&plan)], error),
    };
    Ok(Some(plan))
}

/// The error, unless one of the filters before it let nobody through: then nobody matches.
fn unless_nobody(snapshot: &Snapshot, before: &[Plan], error: Error) -> Result<Option<Plan>> {
    if before.iter().all(|filter| scan::anybody(snapshot, filter)) {
        Err(error)
    } else {
        Ok(None)
    }
}

fn only_members(plan: &Plan) -> Plan {
    let members = MemberIds {
        any_of: plan.members.any_of.clone(),
        forbidden: Vec::new(),
    };
    Plan {
        members,
        ..Plan::default()
    }
}

fn in_tree(snapshot: &Snapshot, uuid: Option<&str>, plan: Plan) -> Option<Plan> {
    let Some(uuid) = uuid else { return Some(plan) };
    let tree = snapshot.root(snapshot.by_uuid(uuid)?);
    Some(Plan {
        tree: Some(tree),
        ..plan
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
