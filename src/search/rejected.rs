//! Explains why a host has no candidate, for callers that name the host: a replica stands there, or is to stay.

use super::candidates::candidates;
use super::explain::{Explain, Rejection};
use super::request::Request;
use super::settings::SearchSettings;
use super::snapshot::{Slot, Snapshot};
use crate::error::Result;

/// Whether a provider with too little room is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomCounts {
    Yes,
    No,
}

#[derive(Default)]
struct Found(Vec<(Slot, Rejection)>);

impl Explain for Found {
    fn rejected(&mut self, slot: Slot, reason: Rejection) {
        self.0.push((slot, reason));
    }
}

/// The providers of a host that cannot serve a part of the request, each with the reason. A missing inventory is left
/// out if some provider of the host has the class, unless all reasons are of this kind.
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
    let mut found = Found::default();
    let mut search = candidates(snapshot, request, settings, &mut found)?.in_tree(host);
    if room == RoomCounts::No {
        search.ignore_room();
    }
    search.next();
    let tree = snapshot.tree(host);
    let Found(mut all) = found;
    all.retain(|(slot, rejection)| {
        let is_room = matches!(rejection, Rejection::NoRoom { .. });
        tree.contains(slot) && (room == RoomCounts::Yes || !is_room)
    });
    let is_elsewhere = |(_, rejection): &(Slot, Rejection)| match rejection {
        Rejection::NoInventory { class, .. } => tree.iter().any(|slot| snapshot.inventory(*slot, *class).is_some()),
        _ => false,
    };
    if !all.iter().all(is_elsewhere) {
        all.retain(|it| !is_elsewhere(it));
    }
    Ok(all)
}
