//! Chooses the replicas that go when fewer are wanted: the search of a placement, whose items are the candidates to
//! stay.

use std::collections::HashMap;
use std::sync::Arc;

use super::affinity::AffinityRules;
use super::budget::Budget;
use super::cell_index::CellIndex;
use super::cells::{Cells, Items};
use super::cluster::{Cluster, Standing, Workload};
use super::compared::Compared;
use super::cost::Cost;
use super::eligible::Eligible;
use super::live_tree::LiveTree;
use super::modes::{AxisRule, axis_rules, has_host_rule};
use super::place::{Effort, Proof};
use super::role_prices::prices;
use super::rules::{Axis, Level};
use super::search::{Wanted, search};
use super::slot_costs::SlotCosts;
use crate::interrupt::Interrupt;

/// A replica that may go when fewer are wanted. Its index is its rank in the order of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    pub role: usize,
    /// `None` without a place.
    pub host: Option<u32>,
    /// Whether the host is lost or unknown.
    pub lost: bool,
}

/// The result: the replicas that go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// The indices of the replicas, ascending.
    pub gone: Vec<usize>,
    /// [`Proof::BudgetSpent`]: a better choice may exist.
    pub proof: Proof,
}

/// Chooses the replicas to go, so that at most [`Workload::wanted`] of each role are left. First go replicas without a
/// place, then replicas on lost hosts, then replicas that break a hard rule by themselves. The search chooses the rest:
/// the fewest broken rules, then the highest index. [`Workload::standing`] is ignored. After `interrupt` is set the
/// answer comes soon, and means nothing.
pub fn release(
    cluster: &Cluster,
    eligible: &Eligible,
    workload: &Workload,
    replicas: &[Replica],
    interrupt: &Interrupt,
) -> Released {
    let budget = Budget::new(interrupt, Effort::BUDGET);
    let (mut gone, surplus) = unplaced(workload, replicas);
    let mut proof = Proof::Exact;
    if surplus.iter().any(|&number| number > 0) {
        let (falling, staying) = placed(replicas, &surplus);
        let mut keep = vec![0_u32; surplus.len()];
        falling.iter().for_each(|(_, replica)| keep[replica.role] += 1);
        for (keep, surplus) in keep.iter_mut().zip(&surplus) {
            *keep = keep.saturating_sub(*surplus);
        }
        let rules = axis_rules(workload, &eligible.trees, eligible.count);
        let falling = Falling {
            items: Kept {
                cluster,
                costs: costs(cluster, eligible, &rules, workload, (replicas, &falling), &budget),
                falling: &falling,
            },
            eligible,
            rules: &rules,
            budget: &budget,
        };
        let stays = falling.stays(&keep, staying, &mut proof);
        let released = falling.items.falling.iter().zip(stays).filter(|(_, stays)| !stays);
        gone.extend(released.map(|((at, _), _)| *at));
    }
    gone.sort_unstable();
    Released { gone, proof }
}

/// The replicas to go that have no place, and by role the number of further replicas to go.
fn unplaced(workload: &Workload, replicas: &[Replica]) -> (Vec<usize>, Vec<u32>) {
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
    (gone, surplus)
}

/// Placed replicas with their indices: replicas of roles with a surplus, and the replicas of all roles without a
/// surplus.
fn placed(replicas: &[Replica], surplus: &[u32]) -> (Vec<(usize, Standing)>, Vec<Standing>) {
    let placed = replicas.iter().enumerate().filter_map(|(at, replica)| {
        let (role, host) = (replica.role, replica.host?);
        Some((at, Standing { role, host }))
    });
    let (falling, staying): (Vec<_>, Vec<_>) = placed.partition(|(_, replica)| surplus[replica.role] > 0);
    (falling, staying.into_iter().map(|(_, replica)| replica).collect())
}

/// The replicas of roles with a surplus.
struct Falling<'a> {
    items: Kept<'a>,
    eligible: &'a Eligible,
    rules: &'a [AxisRule],
    budget: &'a Budget<'a>,
}

impl Falling<'_> {
    /// Whether each replica stays, of each role the number in `keep`.
    ///
    /// With several roles the search may find nothing before the budget is spent. As a fallback each role in turn keeps
    /// its best replicas: for a single role the first flow is an answer.
    fn stays(&self, keep: &[u32], mut staying: Vec<Standing>, proof: &mut Proof) -> Vec<bool> {
        let mut stays = vec![false; self.items.falling.len()];
        if self.keep_best(keep, &staying, &mut stays, proof) || self.budget.has_ended() {
            return stays;
        }
        *proof = Proof::BudgetSpent;
        for role in (0..keep.len()).filter(|&role| keep[role] > 0) {
            if self.budget.has_ended() {
                break;
            }
            let mut of_role = vec![0; keep.len()];
            of_role[role] = keep[role];
            self.keep_best(&of_role, &staying, &mut stays, proof);
            let falling = self.items.falling.iter().zip(&stays);
            let kept = falling.filter(|((_, replica), stays)| **stays && replica.role == role);
            staying.extend(kept.map(|((_, replica), _)| *replica));
        }
        stays
    }

    /// Keeps the best replicas beside the staying replicas. False if the search found no answer before its budget was
    /// spent.
    fn keep_best(&self, keep: &[u32], staying: &[Standing], stays: &mut [bool], proof: &mut Proof) -> bool {
        let Eligible { trees, any, .. } = self.eligible;
        let domains = trees.iter().map(|tree| tree.len() as u64).sum::<u64>();
        let levels = trees.iter().map(LiveTree::levels).sum::<u64>();
        if self.budget.count(domains + any.len() as u64) || self.budget.count(u64::from(self.items.count()) * levels) {
            return false;
        }
        let compared = Compared::new(self.items.cluster, trees, any, self.rules, staying, (false, false));
        let is_of_one_role = keep.iter().filter(|number| **number > 0).count() <= 1;
        let no_prices = vec![Cost::ZERO; keep.len()];
        let mut wanted = Wanted {
            missing: keep,
            new: keep.iter().sum(),
            cost_before: Cost::ZERO,
            prices: &no_prices,
            budget: self.budget,
            has_fallback: !is_of_one_role,
        };
        let corrected;
        let cells = if is_of_one_role {
            let costs = SlotCosts::new(&self.items, keep, wanted.prices, self.budget);
            Cells::all(&self.items, &compared, &costs)
        } else {
            let (prices, cells) = prices(&self.items, &compared, wanted);
            corrected = prices;
            wanted.prices = &corrected;
            cells
        };
        let outcome = search(&self.items, &compared, &cells, wanted);
        if !outcome.is_exact {
            *proof = Proof::BudgetSpent;
        }
        let Some((_, kept)) = outcome.best else { return false };
        kept.iter().for_each(|assigned| stays[assigned.item as usize] = true);
        true
    }
}

/// The cost of keeping each of the falling replicas.
fn costs(
    cluster: &Cluster,
    eligible: &Eligible,
    rules: &[AxisRule],
    workload: &Workload,
    (replicas, falling): (&[Replica], &[(usize, Standing)]),
    budget: &Budget,
) -> Vec<Cost> {
    let affinity = AffinityRules::of(cluster, workload.rules, budget);
    let cap = host_cap(workload, rules);
    let mut on_host: HashMap<u32, u32> = HashMap::new();
    let costs = falling.iter().map(|&(at, Standing { role, host })| {
        budget.count(affinity.len() as u64);
        let before = on_host.entry(host).or_default();
        *before += 1;
        let is_fit = eligible.is_eligible(host, role) && affinity.excluding(host).is_none() && *before <= cap;
        let unfit = if is_fit { Cost::ZERO } else { Cost::UNFIT };
        let lost = if replicas[at].lost { Cost::LOST } else { Cost::ZERO };
        Cost::of_replica(0, at as i64, 0) + affinity.cost(host) + unfit + lost
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
