//! Explains why a host has no candidate, for callers that name the host: a replica stands there, or is to stay.

use std::collections::BTreeSet;

use super::candidates::candidates;
use super::explain::Rejection;
use super::request::Request;
use super::settings::SearchSettings;
use super::snapshot::{AggregateId, Slot, Snapshot};
use crate::error::Result;

/// Whether a provider with too little room is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomCounts {
    Yes,
    No,
}

/// The providers of a host, and the sharing providers that serve the host, that cannot serve a part of the request,
/// each with the reason. A missing inventory is left out if some of these providers has the class, unless all reasons
/// are of this kind.
///
/// # Errors
/// As of [`candidates`].
pub fn rejected_in_host(
    snapshot: &Snapshot,
    request: &Request,
    host: Slot,
    room: RoomCounts,
    settings: &SearchSettings,
) -> Result<Vec<(Slot, Rejection)>> {
    let mut all: Vec<(Slot, Rejection)> = Vec::new();
    let mut search = candidates(snapshot, request, settings, &mut all)?.in_tree(host);
    if room == RoomCounts::No {
        search.ignore_room();
    }
    search.next();
    let mut providers = snapshot.tree(host);
    let of_tree: BTreeSet<AggregateId> = providers.iter().flat_map(|slot| snapshot.aggregates(*slot)).collect();
    let reaches = |pool: &Slot| snapshot.aggregates(*pool).any(|aggregate| of_tree.contains(&aggregate));
    providers.extend(snapshot.sharing().filter(reaches));
    all.retain(|(slot, rejection)| {
        let is_room = matches!(rejection, Rejection::NoRoom { .. });
        providers.contains(slot) && (room == RoomCounts::Yes || !is_room)
    });
    let is_elsewhere = |(_, rejection): &(Slot, Rejection)| match rejection {
        Rejection::NoInventory { class, .. } => {
            let mut providers = providers.iter();
            providers.any(|slot| snapshot.inventory(*slot, *class).is_some())
        }
        _ => false,
    };
    if !all.iter().all(is_elsewhere) {
        all.retain(|rejected| !is_elsewhere(rejected));
    }
    Ok(all)
}
