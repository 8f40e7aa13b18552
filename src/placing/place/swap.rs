//! Finds a helpful move: a placed replica in the way of the missing replicas, and a new host for the replica.

use std::collections::HashSet;

use super::{Effort, place};
use crate::interrupt::OPERATIONS_A_STEP;
use crate::placing::cluster::{Cluster, Dimension, FurtherHost, Hosts, PlacedReplica, Workload};
use crate::placing::domain_tree::DomainId;
use crate::placing::eligible::Eligible;

/// The most tried replicas. Of replicas with the same role and domains the first is tried.
const MOST_TRIED: usize = 16;

/// The search ends after this fraction of the budget: a tenth.
const SHARE: u64 = 10;

/// A move of a placed replica, after which the missing replicas have a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// The host of the replica, and the host to which the replica moves.
    pub from: u32,
    pub to: u32,
}

/// A helpful move for a refused request. Only replicas of roles with missing replicas are tried, and `None` is no
/// proof.
pub fn swap(
    (cluster, eligible): (&Cluster, &Eligible),
    hosts: &impl Hosts,
    workload: &Workload,
    effort: &Effort,
) -> Option<Swap> {
    let place_beside = |placed: &[PlacedReplica], further: &[FurtherHost]| {
        let beside = Workload {
            placed,
            further,
            ..*workload
        };
        let placed = place((cluster, eligible), hosts, &beside, effort);
        let is_granted = placed.refusal.is_none() && placed.unplaced.iter().all(|number| *number == 0);
        is_granted.then_some(placed.replicas)
    };
    let is_missing = |role: usize| {
        let stand = workload.placed.iter().filter(|replica| replica.role == role).count();
        workload.wanted[role] as usize > stand
    };
    let begin = effort.interrupt.spent();
    let is_spent = || (effort.interrupt.spent() - begin) * OPERATIONS_A_STEP > effort.budget / SHARE;
    let mut tried: HashSet<(usize, Vec<DomainId>)> = HashSet::new();
    for (at, replica) in workload
        .placed
        .iter()
        .enumerate()
        .filter(|(_, replica)| is_missing(replica.role))
    {
        if tried.len() == MOST_TRIED || is_spent() || effort.interrupt.has_ended() {
            break;
        }
        let leaf = |dimension: &Dimension| dimension.leaves[replica.host as usize];
        let is_new = tried.insert((replica.role, cluster.dimensions.iter().map(leaf).collect()));
        if !is_new {
            continue;
        }
        let (mut placed, further) = without(workload, at);
        let Some(found) = place_beside(&placed, &further) else {
            continue;
        };
        let hosts = found
            .iter()
            .filter(|new| new.role == replica.role && new.host != replica.host);
        for PlacedReplica { host, role } in hosts.copied() {
            placed.push(PlacedReplica { role, host });
            if place_beside(&placed, &further).is_some() {
                return Some(Swap {
                    from: replica.host,
                    to: host,
                });
            }
            placed.pop();
        }
    }
    None
}

/// The placed replicas of a workload and their further hosts, without the replica at an index.
fn without(workload: &Workload, at: usize) -> (Vec<PlacedReplica>, Vec<FurtherHost>) {
    let mut placed = workload.placed.to_vec();
    placed.remove(at);
    let further = workload.further.iter().filter(|further| further.replica != at);
    let renumbered = further.map(|further| FurtherHost {
        replica: further.replica - usize::from(further.replica > at),
        ..*further
    });
    (placed, renumbered.collect())
}
