//! Chooses the replicas that go when fewer are wanted: the search of a placement, whose items are the candidates to
//! stay.

use std::collections::HashMap;
use std::sync::Arc;

use super::budget::Budget;
use super::cells::index::CellIndex;
use super::cells::items::Items;
use super::cluster::{Cluster, PlacedReplica, Standing, Workload};
use super::compared::Compared;
use super::cost::Cost;
use super::eligible::Eligible;
use super::live_tree::LiveTree;
use super::place::Effort;
use super::rules::affinity::AffinityRules;
use super::rules::modes::{AxisRule, axis_rules, has_host_rule, rules_of_next};
use super::rules::{Axis, Level, within_rule};
use super::search::growth::Growth;
use super::search::role_prices::priced_cells;
use super::search::{Wanted, search};
use super::within::{AxisDomain, best_to_keep};
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
    /// If not, the budget was spent, and a better choice may exist.
    pub is_exact: bool,
}

/// Chooses the replicas to go, so that at most [`Workload::wanted`] of each role are left. First go replicas without a
/// place, then replicas on lost hosts, then replicas that break a hard rule by themselves. The search chooses the rest:
/// the fewest broken rules, then the most even counts, then the highest index. [`Workload::placed`] is ignored. After
/// `interrupt` is set the answer comes soon, and means nothing.
pub fn release(
    cluster: &Cluster,
    eligible: &Eligible,
    workload: &Workload,
    replicas: &[Replica],
    interrupt: &Interrupt,
) -> Released {
    let budget = Budget::new(interrupt, Effort::BUDGET);
    let (mut gone, surplus) = unplaced(workload, replicas);
    let mut is_exact = true;
    if surplus.iter().any(|&number| number > 0) {
        let (candidates, staying) = placed(replicas, &surplus);
        let mut keep = vec![0_u32; surplus.len()];
        candidates.iter().for_each(|(_, replica)| keep[replica.role] += 1);
        for (keep, surplus) in keep.iter_mut().zip(&surplus) {
            *keep = keep.saturating_sub(*surplus);
        }
        let domain = within_rule(workload.rules).and_then(|(_, within)| {
            let placed: Vec<PlacedReplica> = candidates.iter().map(|(_, replica)| *replica).collect();
            let placed = [placed.as_slice(), &staying].concat();
            let domain = best_to_keep(cluster, within.axis, &placed, workload.wanted)?;
            Some((within.level, domain))
        });
        let inside = domain.filter(|(level, _)| *level == Level::Hard);
        let inside = inside.map(|(_, domain)| eligible.inside(cluster, domain, interrupt));
        let all = (cluster, eligible);
        let eligible = inside.as_ref().unwrap_or(eligible);
        let rules = axis_rules(workload, &eligible.trees, eligible.count);
        let falling = Falling {
            cluster,
            eligible,
            workload,
            costs: costs(all, (&rules, domain), workload, (replicas, &candidates), &budget),
            replicas: candidates,
            rules,
            budget: &budget,
        };
        let stays = falling.stays(&keep, staying, &mut is_exact);
        let released = falling.replicas.iter().zip(stays).filter(|(_, stays)| !stays);
        gone.extend(released.map(|((at, _), _)| *at));
    }
    gone.sort_unstable();
    Released { gone, is_exact }
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
fn placed(replicas: &[Replica], surplus: &[u32]) -> (Vec<(usize, PlacedReplica)>, Vec<PlacedReplica>) {
    let placed = replicas.iter().enumerate().filter_map(|(at, replica)| {
        let (role, host) = (replica.role, replica.host?);
        Some((at, PlacedReplica { role, host }))
    });
    let (falling, staying): (Vec<_>, Vec<_>) = placed.partition(|(_, replica)| surplus[replica.role] > 0);
    (falling, staying.into_iter().map(|(_, replica)| replica).collect())
}

/// The replicas of roles with a surplus. Each is an item of its own, which may stay.
struct Falling<'a> {
    cluster: &'a Cluster,
    eligible: &'a Eligible,
    workload: &'a Workload<'a>,
    rules: Vec<AxisRule>,
    budget: &'a Budget<'a>,
    /// With their indices.
    replicas: Vec<(usize, PlacedReplica)>,
    /// The cost of keeping each replica.
    costs: Vec<Cost>,
}

impl Falling<'_> {
    /// Whether each replica stays, of each role the number in `keep`.
    ///
    /// With several roles the search may find nothing before the budget is spent. As a fallback each role in turn keeps
    /// its best replicas: for a single role the first flow is an answer.
    fn stays(&self, keep: &[u32], mut staying: Vec<PlacedReplica>, is_exact: &mut bool) -> Vec<bool> {
        let mut stays = vec![false; self.replicas.len()];
        if self.keep_best(keep, &staying, &mut stays, is_exact) || self.budget.has_ended() {
            return stays;
        }
        *is_exact = false;
        for role in (0..keep.len()).filter(|&role| keep[role] > 0) {
            if self.budget.has_ended() {
                break;
            }
            let mut of_role = vec![0; keep.len()];
            of_role[role] = keep[role];
            self.keep_best(&of_role, &staying, &mut stays, is_exact);
            let falling = self.replicas.iter().zip(&stays);
            let kept = falling.filter(|((_, replica), stays)| **stays && replica.role == role);
            staying.extend(kept.map(|((_, replica), _)| *replica));
        }
        stays
    }

    /// Keeps the best replicas beside the staying replicas. False if the search found no answer before its budget was
    /// spent.
    fn keep_best(&self, keep: &[u32], staying: &[PlacedReplica], stays: &mut [bool], is_exact: &mut bool) -> bool {
        let Eligible { trees, any, .. } = self.eligible;
        let domains = trees.iter().map(|tree| tree.len() as u64).sum::<u64>();
        let levels = trees.iter().map(LiveTree::levels).sum::<u64>();
        if self.budget.count(domains + any.len() as u64) || self.budget.count(u64::from(self.count()) * levels) {
            return false;
        }
        let standing = Standing {
            placed: staying,
            further: &[],
        };
        let compared = Compared::new(self.cluster, trees, any, &self.rules, standing, (false, false));
        let wanted = Wanted {
            missing: keep,
            new: keep.iter().sum(),
            cost_before: Cost::ZERO,
            budget: self.budget,
            has_fallback: keep.iter().filter(|number| **number > 0).count() > 1,
        };
        let cells = priced_cells(self, &compared, wanted);
        let outcome = search(
            self,
            &compared,
            &cells,
            wanted,
            self.growth(&compared, staying).as_ref(),
        );
        *is_exact &= outcome.is_exact;
        let Some((_, kept)) = outcome.best else { return false };
        kept.iter().for_each(|assigned| stays[assigned.item as usize] = true);
        true
    }
}

impl Falling<'_> {
    /// The rules for one replica more, and the eligible hosts without a staying replica. Room of the hosts is not
    /// known. `None` without a hard spread.
    fn growth(&self, compared: &Compared, staying: &[PlacedReplica]) -> Option<Growth> {
        let rules = rules_of_next(self.workload, self.eligible)?;
        let one_a_host = !has_host_rule(self.workload.rules);
        let Eligible { trees, any, .. } = self.eligible.for_one_more();
        let standing = Standing {
            placed: staying,
            further: &[],
        };
        let next = Compared::new(self.cluster, trees, any, &rules, standing, (one_a_host, true));
        let index = self
            .cluster
            .cell_index(compared.dimensions.iter().map(|it| it.dimension).collect());
        let places = if one_a_host { 1 } else { u32::MAX >> 16 };
        let mut free = vec![0_u32; index.cells as usize];
        for (&cell, _) in index
            .cell_of
            .iter()
            .zip(any.iter())
            .filter(|(_, is_eligible)| **is_eligible)
        {
            free[cell as usize] = free[cell as usize].saturating_add(places);
        }
        for replica in staying
            .iter()
            .filter(|replica| one_a_host && any[replica.host as usize])
        {
            let cell = index.cell_of[replica.host as usize] as usize;
            free[cell] = free[cell].saturating_sub(1);
        }
        let needed = self.eligible.needed_for_one_more(&next);
        Some(Growth::new(next, (index, free), needed, Cost::before_hash))
    }
}

/// The cost of keeping each of the falling replicas. `domain` is the domain of a rule `within`.
fn costs(
    (cluster, eligible): (&Cluster, &Eligible),
    (rules, domain): (&[AxisRule], Option<(Level, AxisDomain)>),
    workload: &Workload,
    (replicas, falling): (&[Replica], &[(usize, PlacedReplica)]),
    budget: &Budget,
) -> Vec<Cost> {
    let affinity = AffinityRules::of(cluster, workload.rules, budget);
    let cap = host_cap(workload, rules);
    let mut on_host: HashMap<u32, u32> = HashMap::new();
    let costs = falling.iter().map(|&(at, PlacedReplica { role, host })| {
        budget.count(affinity.len() as u64);
        let before = on_host.entry(host).or_default();
        *before += 1;
        let effect = affinity.effect(host);
        let outside = domain
            .filter(|(_, domain)| !domain.has(cluster, host))
            .map(|(level, _)| level);
        let is_fit = eligible.is_eligible(host, role)
            && effect.excluding.is_none()
            && *before <= cap
            && outside != Some(Level::Hard);
        let within = outside.filter(|level| *level != Level::Hard).map(Cost::of_level);
        let unfit = if is_fit { Cost::ZERO } else { Cost::UNFIT };
        let lost = if replicas[at].lost { Cost::LOST } else { Cost::ZERO };
        Cost::of_index(at) + effect.cost + within.unwrap_or_default() + unfit + lost
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

impl Items for Falling<'_> {
    fn count(&self) -> u32 {
        self.replicas.len() as u32
    }

    fn index(&self, compared: &Compared) -> Arc<CellIndex> {
        let index = CellIndex::of(self.count(), compared.dimensions.len(), |item, at| {
            let compared = &compared.dimensions[at];
            let (_, replica) = self.replicas[item as usize];
            let leaf = self.cluster.dimensions[compared.dimension].leaves[replica.host as usize];
            compared.tree.nearest_live(leaf.0)
        });
        Arc::new(index)
    }

    fn offer(&self, item: u32, role: usize, already: u32) -> Option<Cost> {
        let (_, replica) = self.replicas[item as usize];
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
