//! Placements in ids of the snapshot, for searches, and in names, for claims.

use std::sync::Arc;

use super::ClaimCandidate;
use crate::db::writer::RowNames;
use crate::search::{Candidate, Placement, Slot, Snapshot};

/// A version of the snapshot without room on held providers. `None` if the snapshot has no held provider.
pub fn avoiding(snapshot: &Snapshot, held: &RowNames) -> Option<Arc<Snapshot>> {
    let slots: Vec<Slot> = held
        .providers
        .iter()
        .filter_map(|uuid| snapshot.by_uuid(uuid))
        .collect();
    (!slots.is_empty()).then(|| Arc::new(snapshot.without_room_on(slots.into_iter())))
}

/// The placements with negative amounts: allocations to give back.
pub fn negated(placements: &[Placement]) -> Vec<Placement> {
    let negative = |it: &Placement| Placement {
        amount: -it.amount,
        ..*it
    };
    placements.iter().map(negative).collect()
}

/// A candidate in the names of a claim.
pub fn claim_candidate(snapshot: &Snapshot, candidate: &Candidate) -> ClaimCandidate {
    let mut allocations: Vec<(String, Vec<(String, i64)>)> = Vec::new();
    for placement in &candidate.placements {
        let uuid = snapshot.uuid(placement.slot);
        let class = snapshot.catalog().class_name(placement.class);
        let class = class.map_or_else(String::new, |name| name.to_string());
        let amount = (class, placement.amount);
        match allocations.iter_mut().find(|(provider, _)| provider == uuid) {
            Some((_, resources)) => resources.push(amount),
            None => allocations.push((uuid.to_owned(), vec![amount])),
        }
    }
    let uuids = |slots: &[Slot]| slots.iter().map(|slot| snapshot.uuid(*slot).to_owned()).collect();
    let groups = candidate.mappings.iter();
    let mappings = groups.map(|(suffix, slots)| (suffix.to_string(), uuids(slots)));
    ClaimCandidate {
        allocations,
        mappings: Some(mappings.collect()),
    }
}
