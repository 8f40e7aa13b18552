//! Whether there is normal room for the missing replicas in sum. Single hosts may lack it.

use std::collections::{BTreeMap, BTreeSet};

use super::hosts::HostList;
use super::wish::Role;
use crate::error::{Error, Result};
use crate::placing::Eligible;
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
    let mut needed: BTreeMap<&str, (i64, BTreeSet<usize>)> = BTreeMap::new();
    for (at, role) in roles.iter().enumerate().filter(|(at, _)| missing[*at] > 0) {
        for (class, amount) in role.query.request.groups.iter().flat_map(|group| &group.resources) {
            let (sum, of_roles) = needed.entry(class).or_default();
            *sum = sum.saturating_add(amount.saturating_mul(missing[at].into()));
            of_roles.insert(at);
        }
    }
    for (class, (needed, of_roles)) in needed {
        let is_eligible = |host: &u32| of_roles.iter().any(|role| eligible.is_eligible(*host, *role));
        let mut hosts = (0..list.cluster.hosts).filter(is_eligible).peekable();
        // Without an eligible host it is the conditions that leave no place.
        let Some(id) = normal.catalog().class_id(class).filter(|_| hosts.peek().is_some()) else {
            continue;
        };
        let room = normal.free_of(id, hosts.map(|host| list.slots[host as usize]), needed);
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
