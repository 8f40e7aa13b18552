//! The oracle: a slow and simple implementation that tries every combination. Tests compare the answers.
//!
//! The oracle works on rows, not on a snapshot, and shares only types with the search.

mod described;

use std::collections::{BTreeMap, BTreeSet};

use self::described::Described;
use crate::error::{Error, Result};
use crate::search::request::{Group, GroupPolicy, MemberOf, ProviderQuery, Request, Traits};
use crate::search::snapshot::{Catalog, ClassId, Description, ProviderId, ProviderRow};

/// All providers, by id.
pub(in crate::search) type World = BTreeMap<ProviderId, ProviderRow>;

/// The descriptions of providers, by id.
pub(in crate::search) type Descriptions = BTreeMap<ProviderId, Description>;

/// The answer of `GET /resource_providers`.
pub(in crate::search) fn providers(
    catalog: &Catalog,
    rows: &World,
    query: &ProviderQuery,
    strict: bool,
) -> Result<Vec<ProviderId>> {
    let mut found: BTreeSet<ProviderId> = rows.keys().copied().collect();
    if let Some(uuid) = &query.in_tree {
        let Some(tree) = rows.values().find(|row| *row.uuid == **uuid).map(|row| row.root) else {
            return Ok(Vec::new());
        };
        found.retain(|id| rows[id].root == tree);
    }
    let unknown = |names| Error::UnknownTraitsInQuery { names };
    let required = Traits {
        forbidden: BTreeSet::new(),
        ..query.traits.clone()
    };
    let forbidden = Traits {
        required: Vec::new(),
        ..query.traits.clone()
    };
    check_traits(catalog, &required, unknown)?;
    if !required.required.is_empty() && !rows.values().any(|row| has_traits(catalog, row, &required)) {
        return Ok(Vec::new());
    }
    check_traits(catalog, &forbidden, unknown)?;
    if !query.members.any_of.is_empty() && !rows.values().any(|row| is_inside(catalog, row, &query.members)) {
        return Ok(Vec::new());
    }
    check_classes(catalog, &query.resources)?;
    found.retain(|id| {
        let row = &rows[id];
        query.name.as_ref().is_none_or(|name| *row.name == **name)
            && query.uuid.as_ref().is_none_or(|uuid| *row.uuid == **uuid)
            && has_traits(catalog, row, &query.traits)
            && is_inside(catalog, row, &query.members)
            && !is_forbidden(catalog, row, &query.members)
            && query
                .resources
                .iter()
                .all(|(class, amount)| can_allocate(catalog, row, class, *amount, strict))
    });
    Ok(found.into_iter().collect())
}

/// A candidate: the amount of each class from each provider, and the providers of each group by its suffix.
pub(in crate::search) type Choice = (BTreeMap<(ProviderId, ClassId), i64>, Mappings);

pub(in crate::search) type Mappings = BTreeMap<String, BTreeSet<ProviderId>>;

/// All candidates of a world without descriptions.
pub(in crate::search) fn candidates(
    catalog: &Catalog,
    rows: &World,
    request: &Request,
    strict: bool,
) -> Result<BTreeSet<Choice>> {
    described_candidates(catalog, rows, &Descriptions::new(), request, strict)
}

/// All candidates.
pub(in crate::search) fn described_candidates(
    catalog: &Catalog,
    rows: &World,
    descriptions: &Descriptions,
    request: &Request,
    strict: bool,
) -> Result<BTreeSet<Choice>> {
    candidates_in(catalog, (rows, descriptions), request, strict, |_| true)
}

/// As [`described_candidates`], of the trees for which `is_wanted` is true of the root.
pub(in crate::search) fn candidates_in(
    catalog: &Catalog,
    (rows, descriptions): (&World, &Descriptions),
    request: &Request,
    strict: bool,
    is_wanted: impl Fn(ProviderId) -> bool,
) -> Result<BTreeSet<Choice>> {
    let world = Described {
        catalog,
        rows,
        descriptions,
    };
    let mut found = BTreeSet::new();
    let unknown = |names| Error::UnknownTraitsInCandidates { names };
    check_traits(catalog, &request.root_required, unknown)?;
    let is_root = |row: &&ProviderRow| row.parent.is_none() && has_traits(catalog, row, &request.root_required);
    let roots: Vec<&ProviderRow> = rows.values().filter(is_root).collect();
    if request.root_required != Traits::default() && roots.is_empty() {
        return Ok(found);
    }
    let roots: Vec<&ProviderRow> = roots
        .into_iter()
        .filter(|root| is_wanted(root.id) && world.is_host(root, &request.host))
        .collect();
    // For each root and each group, all ways to serve the group.
    let mut ways: Vec<Vec<Vec<GroupAmounts>>> = vec![Vec::new(); roots.len()];
    for group in &request.groups {
        check_classes(catalog, &group.resources)?;
        if !group.member_of.any_of.is_empty() && !rows.values().any(|row| is_inside(catalog, row, &group.member_of)) {
            return Ok(found);
        }
        check_traits(catalog, &group.traits, unknown)?;
        let mut any = false;
        for (root, ways) in roots.iter().zip(&mut ways) {
            let mut here = if group.suffix.is_empty() {
                serve_unsuffixed(catalog, rows, group, root, strict)
            } else {
                serve_granular(catalog, rows, group, root, strict)
            };
            here.retain(|shares| shares.iter().all(|(id, _)| world.may_give(&rows[id], request, group)));
            any |= !here.is_empty();
            ways.push(here);
        }
        if !any {
            return Ok(found);
        }
    }
    for ways in ways {
        for choice in product(&ways) {
            let candidate = merge(request, &choice);
            if is_allowed(catalog, rows, request, &candidate, strict) {
                found.insert(candidate);
            }
        }
    }
    Ok(found)
}

/// The amounts of a group, by provider. A granular group without resources has its provider with `None`.
type GroupAmounts = Vec<(ProviderId, Option<(ClassId, i64)>)>;

/// All ways to serve the group without a suffix: any provider for any class.
fn serve_unsuffixed(
    catalog: &Catalog,
    rows: &World,
    group: &Group,
    root: &ProviderRow,
    strict: bool,
) -> Vec<GroupAmounts> {
    let giving = |(class, amount): &(String, i64)| {
        let giving = rows.values().filter(|row| {
            may_serve(catalog, rows, group, root, row) && can_allocate(catalog, row, class, *amount, strict)
        });
        giving
            .map(|row| (row.id, Some((catalog.class_id(class).unwrap(), *amount))))
            .collect()
    };
    let options: Vec<GroupAmounts> = group.resources.iter().map(giving).collect();
    let mut all = product(&options);
    all.retain(|shares| has_traits_together(catalog, rows, shares, &group.traits));
    all
}

/// All ways to serve a granular group: a single provider for all classes.
fn serve_granular(
    catalog: &Catalog,
    rows: &World,
    group: &Group,
    root: &ProviderRow,
    strict: bool,
) -> Vec<GroupAmounts> {
    let named = group
        .in_tree
        .as_ref()
        .map(|uuid| rows.values().find(|row| *row.uuid == **uuid));
    let has_requirement = !group.traits.required.is_empty() || !group.member_of.any_of.is_empty();
    let serving = rows.values().filter(|row| {
        (row.root == root.id || reaches(catalog, rows, row, root))
            && has_traits(catalog, row, &group.traits)
            && is_inside(catalog, row, &group.member_of)
            && !is_forbidden(catalog, row, &group.member_of)
            && match named {
                Some(None) => false,
                Some(Some(named)) => group.resources.is_empty() || named.root == row.root,
                None => true,
            }
            && (has_requirement || !group.resources.is_empty())
            && group
                .resources
                .iter()
                .all(|(class, amount)| can_allocate(catalog, row, class, *amount, strict))
    });
    let shares = |row: &ProviderRow| {
        let given = group
            .resources
            .iter()
            .map(|(class, amount)| Some((catalog.class_id(class).unwrap(), *amount)));
        let mut shares: GroupAmounts = given.map(|given| (row.id, given)).collect();
        if shares.is_empty() {
            shares.push((row.id, None));
        }
        shares
    };
    serving.map(shares).collect()
}

fn merge(request: &Request, choice: &[GroupAmounts]) -> Choice {
    let (mut amounts, mut mappings) = (BTreeMap::new(), Mappings::new());
    for (group, shares) in request.groups.iter().zip(choice) {
        for (id, given) in shares {
            mappings.entry(group.suffix.clone()).or_default().insert(*id);
            if let Some((class, amount)) = given {
                *amounts.entry((*id, *class)).or_insert(0) += amount;
            }
        }
    }
    (amounts, mappings)
}

/// Whether the rules about several groups hold.
fn is_allowed(catalog: &Catalog, rows: &World, request: &Request, candidate: &Choice, strict: bool) -> bool {
    let (amounts, mappings) = candidate;
    let granular: Vec<&BTreeSet<ProviderId>> = mappings
        .iter()
        .filter(|(suffix, _)| !suffix.is_empty())
        .map(|(_, ids)| ids)
        .collect();
    let different: BTreeSet<&ProviderId> = granular.iter().copied().flatten().collect();
    let isolated = request.group_policy != Some(GroupPolicy::Isolate) || different.len() == granular.len();
    let in_subtree = |rule: &Vec<String>| {
        let ids: BTreeSet<ProviderId> = rule.iter().flat_map(|suffix| &mappings[suffix]).copied().collect();
        ids.iter().any(|top| ids.iter().all(|id| is_below(rows, *id, *top)))
    };
    let granted = |(&(id, class), amount): (&(ProviderId, ClassId), &i64)| {
        can_allocate(catalog, &rows[&id], catalog.class_name(class).unwrap(), *amount, strict)
    };
    isolated
        && request.same_subtrees.iter().all(in_subtree)
        && amounts.iter().all(granted)
        && (request.nested || roots_differ(rows, amounts))
}

fn is_below(rows: &World, id: ProviderId, top: ProviderId) -> bool {
    id == top || rows[&id].parent.is_some_and(|parent| is_below(rows, parent, top))
}

/// The providers in the summaries of these candidates.
pub(in crate::search) fn summaries(rows: &World, chosen: &BTreeSet<Choice>, nested: bool) -> BTreeSet<ProviderId> {
    let used: BTreeSet<ProviderId> = chosen
        .iter()
        .flat_map(|(amounts, _)| amounts.keys().map(|key| key.0))
        .collect();
    let roots: BTreeSet<ProviderId> = used.iter().map(|id| rows[id].root).collect();
    if nested {
        rows.values()
            .filter(|row| roots.contains(&row.root))
            .map(|row| row.id)
            .collect()
    } else {
        used
    }
}

/// Whether a provider is a sharing provider and has an aggregate in common with any provider of the tree.
fn reaches(catalog: &Catalog, rows: &World, row: &ProviderRow, root: &ProviderRow) -> bool {
    let shares = catalog
        .trait_id("MISC_SHARES_VIA_AGGREGATE")
        .is_some_and(|shares| row.traits.contains(&shares));
    let common = |other: &ProviderRow| other.root == root.id && !row.aggregates.is_disjoint(&other.aggregates);
    shares && rows.values().any(common)
}

/// Whether a provider may serve a part of the group without a suffix.
fn may_serve(catalog: &Catalog, rows: &World, group: &Group, root: &ProviderRow, row: &ProviderRow) -> bool {
    let inside = is_inside(catalog, row, &group.member_of);
    let here = match &group.in_tree {
        Some(uuid) => {
            rows.values()
                .any(|named| *named.uuid == **uuid && named.root == root.id)
                && row.root == root.id
        }
        None => row.root == root.id || (inside && reaches(catalog, rows, row, root)),
    };
    here && (inside || is_inside(catalog, root, &group.member_of))
        && !is_forbidden(catalog, row, &group.member_of)
        && !is_forbidden(catalog, root, &group.member_of)
}

/// Every combination of an element of each list.
fn product<T: Clone>(options: &[Vec<T>]) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    for option in options {
        let longer = |choice: &Vec<T>| {
            let longer = option
                .iter()
                .map(|one| [choice.as_slice(), std::slice::from_ref(one)].concat());
            longer.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn has_traits_together(catalog: &Catalog, rows: &World, shares: &GroupAmounts, traits: &Traits) -> bool {
    let all: BTreeSet<_> = shares
        .iter()
        .flat_map(|share| &rows[&share.0].traits)
        .copied()
        .collect();
    let has = |name: &String| all.contains(&catalog.trait_id(name).unwrap());
    traits.required.iter().all(|any_of| any_of.iter().any(has)) && !traits.forbidden.iter().any(has)
}

fn roots_differ(rows: &World, amounts: &BTreeMap<(ProviderId, ClassId), i64>) -> bool {
    let providers: BTreeSet<ProviderId> = amounts.keys().map(|key| key.0).collect();
    let roots: BTreeSet<ProviderId> = providers.iter().map(|id| rows[id].root).collect();
    roots.len() == providers.len()
}

fn can_allocate(catalog: &Catalog, row: &ProviderRow, class: &str, amount: i64, strict: bool) -> bool {
    let class = catalog.class_id(class).unwrap();
    let Some(inventory) = row.inventories.get(&class) else {
        return false;
    };
    let used = row.used.get(&class).copied().unwrap_or(0);
    let in_steps = amount % i64::from(inventory.step_size) == 0;
    amount >= i64::from(inventory.min_unit)
        && amount <= i64::from(inventory.max_unit)
        && (in_steps || (!strict && amount == i64::from(inventory.min_unit)))
        && (used + amount) as f64 <= f64::from(inventory.total - inventory.reserved) * inventory.allocation_ratio
}

fn has_traits(catalog: &Catalog, row: &ProviderRow, traits: &Traits) -> bool {
    let has = |name: &String| catalog.trait_id(name).is_some_and(|id| row.traits.contains(&id));
    traits.required.iter().all(|any_of| any_of.iter().any(has)) && !traits.forbidden.iter().any(has)
}

fn is_inside(catalog: &Catalog, row: &ProviderRow, members: &MemberOf) -> bool {
    members
        .any_of
        .iter()
        .all(|any_of| any_of.iter().any(|uuid| is_member(catalog, row, uuid)))
}

fn is_forbidden(catalog: &Catalog, row: &ProviderRow, members: &MemberOf) -> bool {
    members.forbidden.iter().any(|uuid| is_member(catalog, row, uuid))
}

fn is_member(catalog: &Catalog, row: &ProviderRow, uuid: &str) -> bool {
    catalog
        .aggregate_id(uuid)
        .is_some_and(|id| row.aggregates.contains(&id))
}

fn check_traits(catalog: &Catalog, traits: &Traits, unknown: fn(String) -> Error) -> Result<()> {
    let mut names = traits.required.iter().flatten().chain(&traits.forbidden);
    names
        .find(|name| catalog.trait_id(name).is_none())
        .map_or(Ok(()), |name| Err(unknown(name.clone())))
}

fn check_classes(catalog: &Catalog, resources: &[(String, i64)]) -> Result<()> {
    let unknown = resources.iter().find(|(name, _)| catalog.class_id(name).is_none());
    unknown.map_or(Ok(()), |(name, _)| {
        Err(Error::UnknownClassInQuery { name: name.clone() })
    })
}
