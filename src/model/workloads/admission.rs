//! Whether there is normal room for the missing replicas in sum. Single hosts may lack it.

use std::collections::{BTreeMap, BTreeSet};

use super::host_offers::Eligible;
use super::hosts::HostList;
use super::wish::Role;
use crate::error::{Error, Result};
use crate::search::Snapshot;

/// `normal` has the normal limits in place of capacities.
///
/// # Errors
/// [`Error::NoCapacity`] for the first class that is short.
pub fn check(
    normal: &Snapshot,
    (list, eligible): (&HostList, &Eligible),
    roles: &[Role],
    missing: &[u32],
) -> Result<()> {
    let mut needed: BTreeMap<&str, (i64, BTreeSet<u32>)> = BTreeMap::new();
    for (at, role) in roles.iter().enumerate().filter(|(at, _)| missing[*at] > 0) {
        for (class, amount) in role.query.request.groups.iter().flat_map(|group| &group.resources) {
            let (sum, hosts) = needed.entry(class).or_default();
            *sum = sum.saturating_add(amount.saturating_mul(missing[at].into()));
            hosts.extend(eligible.hosts(at));
        }
    }
    for (class, (needed, hosts)) in needed {
        // Without an eligible host it is the conditions that leave no place.
        let Some(id) = normal.catalog().class_id(class).filter(|_| !hosts.is_empty()) else {
            continue;
        };
        let room = normal.free_of(id, hosts.iter().map(|host| list.slots[*host as usize]));
        if needed > room {
            return Err(Error::NoCapacity {
                class: class.to_owned(),
                needed,
                room,
            });
        }
    }
    Ok(())
}
