//! Several replicas on one host: each replica takes a place after the replicas before.
//!
//! In a tree of providers this is a greedy packing. A replica takes the best place for itself, and a later replica may
//! find none although a different packing has room for all. So the roles are tried in their order, and if this fails
//! the largest first. If both fail, the answer is exact only if no packing can succeed.

use std::collections::HashMap;

use super::series::Taken;
use super::{HostOffers, Offered, RoleOffers};
use crate::search::{Request, Slot, Snapshot};

impl HostOffers<'_> {
    /// The places of new replicas of these roles on a host; `None` unless places were found for all.
    pub fn together(&self, host: u32, roles: &[usize]) -> Option<Vec<(usize, Offered)>> {
        let found = self.in_order(host, roles);
        let is_mixed = roles.iter().any(|role| *role != roles[0]);
        if found.is_some() || !is_mixed || self.is_alone(host) {
            return found;
        }
        let found = self.in_order(host, &self.largest_first(roles));
        if found.is_none() {
            self.give_up(host, roles);
        }
        found
    }

    fn in_order(&self, host: u32, roles: &[usize]) -> Option<Vec<(usize, Offered)>> {
        let mut taken = Taken::default();
        let places = roles
            .iter()
            .map(|&role| Some((role, self.next(host, &mut taken, role)?)));
        places.collect()
    }

    /// Roles by size, the largest first: the sum of a replica's shares in the amounts of all these replicas.
    fn largest_first(&self, roles: &[usize]) -> Vec<usize> {
        let sums = self.sums(roles);
        let size = |role: usize| -> f64 {
            let shares = amounts(&self.roles[role]).map(|(class, amount)| amount as f64 / sums[class] as f64);
            shares.sum()
        };
        let mut sizes: Vec<(f64, usize)> = roles.iter().map(|&role| (size(role), role)).collect();
        sizes.sort_by(|one, other| other.0.total_cmp(&one.0));
        sizes.into_iter().map(|(_, role)| role).collect()
    }

    /// By class how much these replicas ask for.
    fn sums(&self, roles: &[usize]) -> HashMap<&str, i64> {
        let mut sums: HashMap<&str, i64> = HashMap::new();
        for (class, amount) in roles.iter().flat_map(|&role| amounts(&self.roles[role])) {
            let sum = sums.entry(class).or_default();
            *sum = sum.saturating_add(amount);
        }
        sums
    }

    /// Notes that no places were found for these roles together, unless the failure is a proof.
    pub(super) fn give_up(&self, host: u32, roles: &[usize]) {
        let is_equal = roles.iter().all(|role| *role == roles[0]);
        let is_proven = !self.is_exact.get()
            || self.is_alone(host)
            || is_equal && packs_greedily(self.roles[roles[0]].request)
            || is_short(&self.hard, self.list.slots[host as usize], self.sums(roles));
        if !is_proven {
            self.is_exact.set(false);
        }
    }
}

fn amounts<'a>(role: &'a RoleOffers<'_>) -> impl Iterator<Item = (&'a str, i64)> {
    let groups = role.request.groups.iter();
    let amounts = groups.flat_map(|group| &group.resources);
    amounts.map(|(class, amount)| (class.as_str(), *amount))
}

/// Whether equal replicas, placed one after the other, reach the largest possible number. This holds if one provider
/// serves each replica, or if classes come from providers that do not depend on each other.
fn packs_greedily(request: &Request) -> bool {
    let [group] = request.groups.as_slice() else {
        return false;
    };
    !group.suffix.is_empty() || group.resources.len() == 1 || group.traits.required.is_empty()
}

/// Whether the tree of a host has less left of a class than is asked for, all providers together.
fn is_short(snapshot: &Snapshot, host: Slot, sums: HashMap<&str, i64>) -> bool {
    sums.into_iter().any(|(class, sum)| {
        let id = snapshot.catalog().class_id(class);
        id.is_none_or(|id| snapshot.free_of(id, [host].into_iter(), sum) < sum)
    })
}
