//! `GET /resource_providers`: the providers within all filters of a query. Each provider is judged alone.

use super::candidates::check_interrupt;
use super::provider_filter::ProviderFilter;
use super::request::ProviderQuery;
use super::snapshot::{BlockSlots, Slot, Snapshot};
use super::{resolve, scan};
use crate::error::Result;
use crate::interrupt::Interrupt;

/// The number of providers sorted in the time of a step.
const SORTED_A_STEP: u64 = 8;

/// The providers within `query`, ordered by id. `strict_step` is `strict` of
/// [`super::snapshot::Inventory::allows_amount`].
///
/// # Errors
/// - [`crate::error::Error::UnknownClassInQuery`], [`crate::error::Error::UnknownTraitsInQuery`].
/// - [`crate::error::Error::BadRequest`] if the search was interrupted.
pub fn providers(
    snapshot: &Snapshot,
    query: &ProviderQuery,
    strict_step: bool,
    interrupt: &Interrupt,
) -> Result<Vec<Slot>> {
    let Some(filter) = resolve::query_filter(snapshot, query, strict_step)? else {
        return Ok(Vec::new());
    };
    let everything = ProviderFilter {
        strict: strict_step,
        ..ProviderFilter::default()
    };
    if filter == everything && query.name.is_none() && query.uuid.is_none() {
        interrupt.spend(snapshot.blocks.len() as u64);
        return Ok(snapshot.iter().collect());
    }
    let mut found = match (&query.uuid, &query.name) {
        (Some(uuid), _) => filter_one(snapshot, &filter, snapshot.by_uuid(uuid)),
        (None, Some(name)) => filter_one(snapshot, &filter, snapshot.by_name(name)),
        (None, None) => filter_all(snapshot, &filter, interrupt)?,
    };
    if let Some(name) = &query.name {
        let named = snapshot.by_name(name);
        found.retain(|&slot| Some(slot) == named);
    }
    Ok(found)
}

/// The provider at `slot`, if the provider passes.
fn filter_one(snapshot: &Snapshot, filter: &ProviderFilter, slot: Option<Slot>) -> Vec<Slot> {
    let passes = |slot: &Slot| {
        filter.tree.is_none_or(|tree| snapshot.root(*slot) == tree)
            && scan::fitting(snapshot, filter, slot.block(), slot.bit()) != 0
    };
    slot.into_iter().filter(passes).collect()
}

/// All passing providers: block by block in the whole cloud, provider by provider in a tree.
fn filter_all(snapshot: &Snapshot, filter: &ProviderFilter, interrupt: &Interrupt) -> Result<Vec<Slot>> {
    let mut found = Vec::new();
    match filter.tree {
        Some(tree) => {
            for slot in snapshot.tree(tree) {
                check_interrupt(interrupt)?;
                found.extend(filter_one(snapshot, filter, Some(slot)));
            }
        }
        None => {
            for block in 0..snapshot.blocks.len() {
                check_interrupt(interrupt)?;
                let lanes = scan::fitting(snapshot, filter, block, u64::MAX);
                found.extend(BlockSlots::new(block, lanes));
            }
        }
    }
    interrupt.spend(found.len() as u64 / SORTED_A_STEP);
    check_interrupt(interrupt)?;
    found.sort_by_cached_key(|&slot| snapshot.id(slot));
    Ok(found)
}
