//! Which replicas go when fewer are wanted: the search of a placement, over replicas that may stay.

use std::collections::HashMap;
use std::sync::Arc;

use super::cell_index::CellIndex;
use super::cells::{Cells, Items};
use super::cluster::{Cluster, Standing, Workload};
use super::compared::Compared;
use super::cost::Cost;
use super::eligible::Eligible;
use super::modes::{AxisRule, axis_rules, has_host_rule};
use super::near::NearRules;
use super::place::{Effort, Interrupted};
use super::rules::{Axis, Level};
use super::search::{Wanted, search};

/// A replica that may go when fewer are wanted. Its index is its place in the order of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    pub role: usize,
    /// `None` if it has no place.
    pub host: Option<u32>,
    /// Whether its host is lost or unknown.
    pub lost: bool,
}

/// The indices of the replicas that go, ascending, so that of each role at most [`Workload::wanted`] are left. First
/// those without a place, then those on lost hosts, those that break a hard rule by themselves, those without which the
/// rest breaks the rules least, those of the highest index. [`Workload::standing`] is not looked at.
pub fn release(
    cluster: &Cluster,
    eligible: &Eligible,
    workload: &Workload,
    replicas: &[Replica],
    interrupted: Interrupted,
) -> Vec<usize> {
    let mut surplus = vec![0_u32; workload.wanted.len()];
    for replica in replicas {
        surplus[replica.role] += 1;
    }
    for (surplus, wanted) in surplus.iter_mut().zip(workload.wanted) {
        *surplus = surplus.saturating_sub(*wanted);
    }
    let mut gone: Vec<usize> = Vec::new();
    for (at, replica) in replicas.iter().enumerate().rev() {
        if replica.host.is_none() && surplus[replica.role] > 0 {
            surplus[replica.role] -= 1;
            gone.push(at);
        }
    }
    if surplus.iter().any(|&number| number > 0) {
        gone.extend(of_placed(
            (cluster, eligible),
            workload,
            replicas,
            &surplus,
            interrupted,
        ));
    }
    gone.sort_unstable();
    gone
}

/// Of replicas with a place, `surplus` by role. Of the roles that have one, the best are kept; all others stand.
fn of_placed(
    (cluster, eligible): (&Cluster, &Eligible),
    workload: &Workload,
    replicas: &[Replica],
    surplus: &[u32],
    interrupted: Interrupted,
) -> Vec<usize> {
    let placed = replicas.iter().enumerate().filter_map(|(at, replica)| {
        let host = replica.host?;
        Some((
            at,
            Standing {
                role: replica.role,
                host,
            },
        ))
    });
    let (falling, staying): (Vec<_>, Vec<_>) = placed.partition(|(_, replica)| surplus[replica.role] > 0);
    let staying: Vec<Standing> = staying.into_iter().map(|(_, replica)| replica).collect();
    let mut keep = vec![0; surplus.len()];
    falling.iter().for_each(|(_, replica)| keep[replica.role] += 1);
    keep.iter_mut()
        .zip(surplus)
        .for_each(|(keep, surplus)| *keep -= surplus);

    let rules = axis_rules(workload, &eligible.trees, eligible.count);
    let Eligible { trees, any, .. } = eligible;
    let compared = Compared::new(cluster, trees, any, &rules, &staying, (false, false));
    let items = Kept {
        cluster,
        costs: costs(cluster, eligible, &rules, workload, (replicas, &falling)),
        falling: &falling,
    };
    let wanted = Wanted {
        missing: &keep,
        new: keep.iter().sum(),
        cost_before: Cost::ZERO,
        prices: &vec![Cost::ZERO; keep.len()],
        budget: Effort::BUDGET,
        interrupted,
    };
    let cells = Cells::all(&items, &compared, &keep, wanted.prices);
    let kept = search(&items, &compared, &cells, wanted)
        .best
        .map_or(Vec::new(), |(_, kept)| kept);
    let mut stays = vec![false; falling.len()];
    kept.iter().for_each(|assigned| stays[assigned.item as usize] = true);
    let gone = falling.iter().zip(stays).filter(|(_, stays)| !stays);
    gone.map(|((at, _), _)| *at).collect()
}

/// What it costs to keep each of the falling replicas.
fn costs(
    cluster: &Cluster,
    eligible: &Eligible,
    rules: &[AxisRule],
    workload: &Workload,
    (replicas, falling): (&[Replica], &[(usize, Standing)]),
) -> Vec<Cost> {
    let near = NearRules::of(cluster, workload.rules);
    let cap = host_cap(workload, rules);
    let mut on_host: HashMap<u32, u32> = HashMap::new();
    let costs = falling.iter().map(|&(at, Standing { role, host })| {
        let before = on_host.entry(host).or_default();
        *before += 1;
        let is_fit = eligible.is_eligible(host, role) && near.excluding(host).is_none() && *before <= cap;
        let unfit = if is_fit { Cost::ZERO } else { Cost::UNFIT };
        let lost = if replicas[at].lost { Cost::LOST } else { Cost::ZERO };
        Cost::of_replica(0, at as i64, 0) + near.cost(host) + unfit + lost
    });
    costs.collect()
}

/// The most replicas on a host under hard rules.
fn host_cap(workload: &Workload, rules: &[AxisRule]) -> u32 {
    let hard = rules
        .iter()
        .filter(|rule| rule.axis == Axis::Host && rule.level == Level::Hard);
    let n = workload.wanted.iter().sum();
    let cap = hard.filter_map(|rule| rule.limit(n)).min();
    cap.unwrap_or(if has_host_rule(workload.rules) { u32::MAX } else { 1 })
}

/// Replicas that may stay. Each is an item of its own.
struct Kept<'a> {
    cluster: &'a Cluster,
    falling: &'a [(usize, Standing)],
    costs: Vec<Cost>,
}

impl Items for Kept<'_> {
    fn count(&self) -> u32 {
        self.falling.len() as u32
    }

    fn index(&self, compared: &Compared) -> Arc<CellIndex> {
        let domains = compared.dimensions.iter().map(|it| it.tree.len());
        let index = CellIndex::of(self.count(), domains.collect(), |item, at| {
            let compared = &compared.dimensions[at];
            let (_, replica) = self.falling[item as usize];
            let leaf = self.cluster.dimensions[compared.dimension].leaves[replica.host as usize];
            compared.tree.nearest_live(leaf.0)
        });
        Arc::new(index)
    }

    fn offer(&self, item: u32, role: usize, already: u32) -> Option<Cost> {
        let (_, replica) = self.falling[item as usize];
        (replica.role == role && already == 0).then(|| self.costs[item as usize])
    }

    fn most(&self, _item: u32) -> u32 {
        1
    }

    fn unit(&self, _item: u32, _number: u32) -> Cost {
        Cost::ZERO
    }

    fn fits(&self, _item: u32, _counts: &[u32]) -> bool {
        true
    }
}
