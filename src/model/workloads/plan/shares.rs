//! The allocations of a replica: in names, as in rows, and in ids of the snapshot.

use super::super::Replica;
use crate::model::allocations::ProviderShare;
use crate::model::claims::ClaimCandidate;
use crate::search::{Placement, Snapshot};

/// The allocations of a replica, as far as the snapshot has their providers and classes.
pub fn placements(snapshot: &Snapshot, replica: &Replica) -> Vec<Placement> {
    let shares = replica.allocations.iter();
    let placements = shares.flat_map(|share| {
        let slot = snapshot.by_uuid(&share.provider);
        share.resources.iter().filter_map(move |(class, amount)| {
            let class = snapshot.catalog().class_id(class)?;
            Some(Placement {
                slot: slot?,
                class,
                amount: *amount,
            })
        })
    });
    placements.collect()
}

/// The allocations of a replica on a new place. The providers' generations follow with the answer of the writer.
pub fn shares(snapshot: &Snapshot, place: &ClaimCandidate) -> Vec<ProviderShare> {
    let shares = place.allocations.iter().map(|(provider, resources)| ProviderShare {
        provider: provider.as_str().into(),
        name: snapshot.by_uuid(provider).map(|slot| snapshot.name(slot).into()),
        generation: 0,
        resources: resources
            .iter()
            .map(|(class, amount)| (class.as_str().into(), *amount))
            .collect(),
    });
    shares.collect()
}
