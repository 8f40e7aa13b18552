//! Admission of atomic requests: the normal room of all hosts in sum must be enough. Single hosts may lack room.

use std::collections::{BTreeMap, BTreeSet};

use super::hosts::HostList;
use super::spec::Role;
use super::time::too_long;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::placing::Eligible;
use crate::search::Snapshot;

/// A look at this many hosts counts as a step.
const HOSTS_A_STEP: u64 = 64;

/// `normal` has the normal limits in place of capacities.
///
/// # Errors
/// - [`Error::NoCapacity`] for the first class with too little room.
/// - [`Error::Busy`] after an interrupt.
pub fn check(
    normal: &Snapshot,
    (list, eligible): (&HostList, &Eligible),
    roles: &[Role],
    missing: &[u32],
    interrupt: &Interrupt,
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
        let mut of_any = vec![false; list.slots.len()];
        for role in of_roles {
            if interrupt.count(of_any.len() as u64 / HOSTS_A_STEP + 1) {
                return Err(too_long());
            }
            for (host, is_any) in (0..).zip(&mut of_any) {
                *is_any |= eligible.is_eligible(host, role);
            }
        }
        let hosts = list.slots.iter().zip(of_any).filter(|(_, is_any)| *is_any);
        let mut hosts = hosts.map(|(slot, _)| *slot).peekable();
        // Without an eligible host the conditions are in the way, and not the room.
        let Some(id) = normal.catalog().class_id(class).filter(|_| hosts.peek().is_some()) else {
            continue;
        };
        let room = normal.free_of(id, hosts, needed);
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
