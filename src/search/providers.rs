//! `GET /resource_providers`: the providers that pass all filters of a query, each by itself.

use super::request::ProviderQuery;
use super::resolve::{self, ProviderFilter};
use super::scan;
use super::snapshot::{Slot, Snapshot, lanes_of};
use crate::error::Result;

/// The providers that pass `query`, ordered by id. `strict_step` is `strict` of
/// [`super::snapshot::Inventory::allows_amount`].
///
/// # Errors
/// [`crate::error::Error::UnknownClassInQuery`], [`crate::error::Error::UnknownTraitsInQuery`].
pub fn providers(snapshot: &Snapshot, query: &ProviderQuery, strict_step: bool) -> Result<Vec<Slot>> {
    let Some(filter) = resolve::query_filter(snapshot, query, strict_step)? else {
        return Ok(Vec::new());
    };
    if filter
        == (ProviderFilter {
            strict: strict_step,
            ..ProviderFilter::default()
        })
        && query.name.is_none()
        && query.uuid.is_none()
    {
        return Ok(snapshot.iter().collect());
    }
    let mut found = match (&query.uuid, &query.name) {
        (Some(uuid), _) => filter_one(snapshot, &filter, snapshot.by_uuid(uuid)),
        (None, Some(name)) => filter_one(snapshot, &filter, snapshot.by_name(name)),
        (None, None) => filter_all(snapshot, &filter),
    };
    if let Some(name) = &query.name {
        found.retain(|&slot| snapshot.name(slot) == &**name);
    }
    Ok(found)
}

/// The provider at `slot`, if it passes.
fn filter_one(snapshot: &Snapshot, filter: &ProviderFilter, slot: Option<Slot>) -> Vec<Slot> {
    let passes = |slot: &Slot| {
        filter.tree.is_none_or(|tree| snapshot.root(*slot) == tree)
            && scan::fitting(snapshot, filter, slot.block(), slot.bit(), &mut ()) != 0
    };
    slot.into_iter().filter(passes).collect()
}

/// All providers that pass, found block by block.
fn filter_all(snapshot: &Snapshot, filter: &ProviderFilter) -> Vec<Slot> {
    let fitting = |block, lanes| lanes_of(scan::fitting(snapshot, filter, block, lanes, &mut ()));
    let mut found: Vec<Slot> = match filter.tree {
        Some(tree) => snapshot
            .tree(tree)
            .into_iter()
            .flat_map(|slot| filter_one(snapshot, filter, Some(slot)))
            .collect(),
        None => (0..snapshot.blocks().len())
            .flat_map(|block| fitting(block, u64::MAX).map(move |lane| Slot::new(block, lane)))
            .collect(),
    };
    found.sort_by_cached_key(|&slot| snapshot.id(slot));
    found
}
