//! The slow, obvious oracle: what the answers are, by going through everything.
//!
//! It works on rows, not on a snapshot, and knows trees and sharing providers already, so that it can tell whether a
//! refusal to answer was due.

use std::collections::{BTreeMap, BTreeSet};

use super::request::{Group, Members, ProviderQuery, Request, Traits};
use super::snapshot::{Catalog, ClassId, ProviderId, ProviderRow};
use crate::error::{Error, Result};

pub(super) type Rows = BTreeMap<ProviderId, ProviderRow>;

/// Who gives how much of what, sorted.
pub(super) type Shares = Vec<(ProviderId, ClassId, i64)>;

/// What `GET /resource_providers` lists.
pub(super) fn providers(
    catalog: &Catalog,
    rows: &Rows,
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
    know_traits(catalog, &required, unknown)?;
    if !rows.values().any(|row| has_traits(catalog, row, &required)) {
        return Ok(Vec::new());
    }
    know_traits(catalog, &forbidden, unknown)?;
    if !rows.values().any(|row| is_inside(catalog, row, &query.members)) {
        return Ok(Vec::new());
    }
    know_classes(catalog, &query.resources)?;
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
                .all(|(class, amount)| gives(catalog, row, class, *amount, strict))
    });
    Ok(found.into_iter().collect())
}

/// All candidates of the group without a suffix.
pub(super) fn candidates(catalog: &Catalog, rows: &Rows, request: &Request, strict: bool) -> Result<BTreeSet<Shares>> {
    let mut found = BTreeSet::new();
    let Some(group) = request.groups.first() else {
        return Ok(found);
    };
    let unknown = |names| Error::UnknownTraitsInCandidates { names };
    know_traits(catalog, &request.root_required, unknown)?;
    let is_anchor = |root: &ProviderRow| root.parent.is_none() && has_traits(catalog, root, &request.root_required);
    if !rows.values().any(is_anchor) {
        return Ok(found);
    }
    know_classes(catalog, &group.resources)?;
    if !rows.values().any(|row| is_inside(catalog, row, &group.member_of)) {
        return Ok(found);
    }
    know_traits(catalog, &group.traits, unknown)?;
    for root in rows.values().filter(|root| is_anchor(root)) {
        let options: Vec<_> = group
            .resources
            .iter()
            .map(|(class, amount)| {
                let may_give = |row: &&ProviderRow| {
                    may_serve(catalog, rows, group, root, row) && gives(catalog, row, class, *amount, strict)
                };
                rows.values()
                    .filter(may_give)
                    .map(|row| (row.id, catalog.class_id(class).unwrap(), *amount))
                    .collect()
            })
            .collect();
        for choice in product(&options) {
            if has_traits_together(catalog, rows, &choice, &group.traits)
                && (request.nested || roots_differ(rows, &choice))
            {
                found.insert(choice);
            }
        }
    }
    Ok(found)
}

/// The providers that summaries of `chosen` show.
pub(super) fn summaries(rows: &Rows, chosen: &BTreeSet<Shares>, nested: bool) -> BTreeSet<ProviderId> {
    let used: BTreeSet<ProviderId> = chosen.iter().flatten().map(|share| share.0).collect();
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

fn may_serve(catalog: &Catalog, rows: &Rows, group: &Group, root: &ProviderRow, row: &ProviderRow) -> bool {
    let shares = catalog
        .trait_id("MISC_SHARES_VIA_AGGREGATE")
        .is_some_and(|shares| row.traits.contains(&shares));
    let common = |other: &ProviderRow| other.root == root.id && !row.aggregates.is_disjoint(&other.aggregates);
    let inside = is_inside(catalog, row, &group.member_of);
    let here = match &group.in_tree {
        Some(uuid) => {
            rows.values()
                .any(|named| *named.uuid == **uuid && named.root == root.id)
                && row.root == root.id
        }
        None => row.root == root.id || (shares && inside && rows.values().any(common)),
    };
    here && (inside || is_inside(catalog, root, &group.member_of))
        && !is_forbidden(catalog, row, &group.member_of)
        && !is_forbidden(catalog, root, &group.member_of)
}

fn product(options: &[Shares]) -> Vec<Shares> {
    let mut all = vec![Vec::new()];
    for option in options {
        let longer = |choice: &Shares| {
            option
                .iter()
                .map(|&one| [choice.as_slice(), &[one]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.iter_mut().for_each(|choice| choice.sort_unstable());
    all
}

fn has_traits_together(catalog: &Catalog, rows: &Rows, choice: &Shares, traits: &Traits) -> bool {
    let all: BTreeSet<_> = choice
        .iter()
        .flat_map(|share| &rows[&share.0].traits)
        .copied()
        .collect();
    let has = |name: &String| all.contains(&catalog.trait_id(name).unwrap());
    traits.required.iter().all(|any_of| any_of.iter().any(has)) && !traits.forbidden.iter().any(has)
}

fn roots_differ(rows: &Rows, choice: &Shares) -> bool {
    let providers: BTreeSet<ProviderId> = choice.iter().map(|share| share.0).collect();
    let roots: BTreeSet<ProviderId> = providers.iter().map(|id| rows[id].root).collect();
    roots.len() == providers.len()
}

fn gives(catalog: &Catalog, row: &ProviderRow, class: &str, amount: i64, strict: bool) -> bool {
    let class = catalog.class_id(class).unwrap();
    let Some(it) = row.inventories.get(&class) else {
        return false;
    };
    let used = row.used.get(&class).copied().unwrap_or(0);
    let in_steps = amount % i64::from(it.step_size) == 0;
    amount >= i64::from(it.min_unit)
        && amount <= i64::from(it.max_unit)
        && (in_steps || (!strict && amount == i64::from(it.min_unit)))
        && (used + amount) as f64 <= f64::from(it.total - it.reserved) * it.allocation_ratio
}

fn has_traits(catalog: &Catalog, row: &ProviderRow, traits: &Traits) -> bool {
    let has = |name: &String| catalog.trait_id(name).is_some_and(|id| row.traits.contains(&id));
    traits.required.iter().all(|any_of| any_of.iter().any(has)) && !traits.forbidden.iter().any(has)
}

fn is_inside(catalog: &Catalog, row: &ProviderRow, members: &Members) -> bool {
    members
        .any_of
        .iter()
        .all(|any_of| any_of.iter().any(|uuid| is_member(catalog, row, uuid)))
}

fn is_forbidden(catalog: &Catalog, row: &ProviderRow, members: &Members) -> bool {
    members.forbidden.iter().any(|uuid| is_member(catalog, row, uuid))
}

fn is_member(catalog: &Catalog, row: &ProviderRow, uuid: &str) -> bool {
    catalog
        .aggregate_id(uuid)
        .is_some_and(|id| row.aggregates.contains(&id))
}

fn know_traits(catalog: &Catalog, traits: &Traits, unknown: fn(String) -> Error) -> Result<()> {
    let mut names = traits.required.iter().flatten().chain(&traits.forbidden);
    names
        .find(|name| catalog.trait_id(name).is_none())
        .map_or(Ok(()), |name| Err(unknown(name.clone())))
}

fn know_classes(catalog: &Catalog, resources: &[(String, i64)]) -> Result<()> {
    let unknown = resources.iter().find(|(name, _)| catalog.class_id(name).is_none());
    unknown.map_or(Ok(()), |(name, _)| {
        Err(Error::UnknownClassInQuery { name: name.clone() })
    })
}
