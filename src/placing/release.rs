//! Chooses the replicas to release when fewer are wanted: the search of a placement, with the hosts of the replicas as
//! items.

pub mod falling;
mod falling_hosts;

pub use self::falling::Releasable;
use self::falling::{Falling, Staying, costs};
use super::budget::Budget;
use super::cluster::{Cluster, PlacedReplica, Workload};
use super::eligible::Eligible;
use super::place::Effort;
use super::rules::affinity::AffinityRules;
use super::rules::modes::axis_rules;
use super::rules::{Level, within_rule};
use super::within::{AxisDomain, best_to_keep};
use crate::interrupt::Interrupt;

/// The result: the released replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// The indices of the replicas, ascending.
    pub gone: Vec<usize>,
    /// If false, the budget was spent, and a better choice may exist.
    pub is_exact: bool,
}

/// Chooses the replicas to release, so that at most [`Workload::wanted`] of each role are left. First go replicas
/// without a place, then replicas on lost hosts, then replicas on hosts or domains excluded by a hard rule. The search
/// chooses the rest: the fewest broken rules, the most even counts, the highest index. [`Workload::placed`] is ignored.
/// After `interrupt` is set the answer comes soon, and means nothing.
pub fn release(
    cluster: &Cluster,
    eligible: &Eligible,
    workload: &Workload,
    replicas: &[Releasable],
    interrupt: &Interrupt,
) -> Released {
    let budget = Budget::new(interrupt, Effort::BUDGET);
    let (mut gone, surplus) = unplaced(workload, replicas);
    let mut is_exact = true;
    if surplus.iter().any(|&number| number > 0) {
        let is_placed = |(_, replica): &(usize, &Releasable)| !replica.hosts.is_empty();
        let placed = replicas.iter().enumerate().filter(is_placed);
        let (candidates, others): (Vec<_>, Vec<_>) = placed.partition(|(_, replica)| surplus[replica.role] > 0);
        let mut keep = vec![0_u32; surplus.len()];
        candidates.iter().for_each(|(_, replica)| keep[replica.role] += 1);
        for (keep, surplus) in keep.iter_mut().zip(&surplus) {
            *keep = keep.saturating_sub(*surplus);
        }
        let domain = domain_to_keep(cluster, workload, replicas);
        let inside = domain.filter(|(level, _)| *level == Level::Hard);
        let inside = inside.map(|(_, domain)| eligible.inside(cluster, domain, interrupt));
        let all = (cluster, eligible);
        let eligible = inside.as_ref().unwrap_or(eligible);
        let rules = axis_rules(workload, &eligible.trees, eligible.count);
        let affinity = AffinityRules::of(cluster, workload.rules, &budget);
        let falling = Falling {
            cluster,
            eligible,
            workload,
            costs: costs(all, domain, &affinity, &candidates, &budget),
            affinity: &affinity,
            replicas: candidates,
            rules,
            budget: &budget,
        };
        let mut staying = Staying::default();
        others.iter().for_each(|(_, replica)| staying.add(replica));
        let stays = falling.stays(&keep, staying, &mut is_exact);
        let released = falling.replicas.iter().zip(stays).filter(|(_, stays)| !stays);
        gone.extend(released.map(|((at, _), _)| *at));
    }
    gone.sort_unstable();
    Released { gone, is_exact }
}

/// The replicas to release without a place, and by role the number of further replicas to release.
fn unplaced(workload: &Workload, replicas: &[Releasable]) -> (Vec<usize>, Vec<u32>) {
    let mut surplus = vec![0_u32; workload.wanted.len()];
    for replica in replicas {
        surplus[replica.role] += 1;
    }
    for (surplus, wanted) in surplus.iter_mut().zip(workload.wanted) {
        *surplus = surplus.saturating_sub(*wanted);
    }
    let mut gone: Vec<usize> = Vec::new();
    for (at, replica) in replicas.iter().enumerate().rev() {
        if replica.hosts.is_empty() && surplus[replica.role] > 0 {
            surplus[replica.role] -= 1;
            gone.push(at);
        }
    }
    (gone, surplus)
}

/// The level and the domain of a `Within` rule: the domain with the most replicas on hosts that are not lost.
fn domain_to_keep(cluster: &Cluster, workload: &Workload, replicas: &[Releasable]) -> Option<(Level, AxisDomain)> {
    let (_, within) = within_rule(workload.rules)?;
    let placed = |are_lost: bool| -> Vec<PlacedReplica> {
        let chosen = replicas.iter().filter(|replica| replica.lost == are_lost);
        let placed = chosen.filter_map(|replica| {
            let (role, host) = (replica.role, *replica.hosts.first()?);
            Some(PlacedReplica { role, host })
        });
        placed.collect()
    };
    let best = |placed: Vec<PlacedReplica>| best_to_keep(cluster, within.axis, &placed, workload.wanted);
    let domain = best(placed(false)).or_else(|| best(placed(true)))?;
    Some((within.level, domain))
}
