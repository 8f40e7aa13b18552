//! `GET /resource_providers`: every provider that passes all filters by itself.

use super::plan::{self, Plan};
use super::request::ProviderQuery;
use super::scan;
use super::snapshot::{Slot, Snapshot, lanes_of};
use crate::error::Result;

/// The providers that pass `query`, by id. `strict_step` is `strict` of
/// [`super::snapshot::Inventory::allows_amount`].
///
/// # Errors
/// [`crate::error::Error::UnknownClassInQuery`], [`crate::error::Error::UnknownTraitsInQuery`].
pub fn providers(snapshot: &Snapshot, query: &ProviderQuery, strict_step: bool) -> Result<Vec<Slot>> {
    let Some(plan) = plan::of_query(snapshot, query, strict_step)? else {
        return Ok(Vec::new());
    };
    if plan
        == (Plan {
            strict: strict_step,
            ..Plan::default()
        })
        && query.name.is_none()
        && query.uuid.is_none()
    {
        return Ok(snapshot.iter().collect());
    }
    let mut found = match (&query.uuid, &query.name) {
        (Some(uuid), _) => one(snapshot, &plan, snapshot.by_uuid(uuid)),
        (None, Some(name)) => one(snapshot, &plan, snapshot.by_name(name)),
        (None, None) => many(snapshot, &plan),
    };
    if let Some(name) = &query.name {
        found.retain(|&slot| snapshot.name(slot) == &**name);
    }
    Ok(found)
}

fn one(snapshot: &Snapshot, plan: &Plan, slot: Option<Slot>) -> Vec<Slot> {
    let passes = |slot: &Slot| {
        plan.tree.is_none_or(|tree| snapshot.root(*slot) == tree)
            && scan::fitting(snapshot, plan, slot.block(), slot.bit(), &mut ()) != 0
    };
    slot.into_iter().filter(passes).collect()
}

fn many(snapshot: &Snapshot, plan: &Plan) -> Vec<Slot> {
    let fitting = |block, lanes| lanes_of(scan::fitting(snapshot, plan, block, lanes, &mut ()));
    let mut found: Vec<Slot> = match plan.tree {
        Some(tree) => snapshot
            .tree(tree)
            .into_iter()
            .flat_map(|slot| one(snapshot, plan, Some(slot)))
            .collect(),
        None => (0..snapshot.blocks().len())
            .flat_map(|block| fitting(block, u64::MAX).map(move |lane| Slot::new(block, lane)))
            .collect(),
    };
    found.sort_by_cached_key(|&slot| snapshot.id(slot));
    found
}
