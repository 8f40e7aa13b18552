//! The replicas of roles with a surplus, and the best replicas to keep.

use super::falling_hosts::{FallingHosts, FallingReplica};
use crate::placing::budget::Budget;
use crate::placing::cluster::{Cluster, FurtherHost, PlacedReplica, Standing, Workload};
use crate::placing::compared::Compared;
use crate::placing::cost::Cost;
use crate::placing::eligible::Eligible;
use crate::placing::rules::Level;
use crate::placing::rules::affinity::AffinityRules;
use crate::placing::rules::modes::{AxisRule, has_host_rule, rules_of_next};
use crate::placing::search::growth::Growth;
use crate::placing::search::role_prices::priced_cells;
use crate::placing::search::{WantedReplicas, search, search_with_room};
use crate::placing::within::AxisDomain;

/// The most replicas on several hosts with a choice of staying or going. All further replicas count on their first
/// hosts.
const MOST_ON_SEVERAL: usize = 4;

/// The assumed room of a host for several replicas: the real room is not known, and a workload has at most 1,000.
const MOST_ON_A_HOST: u32 = 1_000;

/// A replica which may go when fewer are wanted. The index of the replica is its rank in the order of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Releasable {
    pub role: usize,
    /// All hosts of the replica, each once. Empty without a place.
    pub hosts: Vec<u32>,
    /// Whether the first host is lost or unknown.
    pub lost: bool,
}

/// Staying replicas with their hosts.
#[derive(Clone, Default)]
pub struct Staying {
    placed: Vec<PlacedReplica>,
    further: Vec<FurtherHost>,
}

impl Staying {
    pub fn add(&mut self, replica: &Releasable) {
        let [first, further @ ..] = &replica.hosts[..] else {
            return;
        };
        let at = self.placed.len();
        self.placed.push(PlacedReplica {
            role: replica.role,
            host: *first,
        });
        let further = further.iter().map(|&host| FurtherHost { replica: at, host });
        self.further.extend(further);
    }

    pub fn standing(&self) -> Standing<'_> {
        Standing {
            placed: &self.placed,
            further: &self.further,
        }
    }
}

/// The best replicas to keep, as indices of [`Falling::replicas`].
struct KeptSet {
    cost: Cost,
    is_stuck: bool,
    is_exact: bool,
    replicas: Vec<usize>,
}

impl KeptSet {
    fn rank(&self) -> (Cost, bool, Cost) {
        (self.cost.before_hash(), self.is_stuck, self.cost)
    }
}

/// The replicas of roles with a surplus. Each replica may stay.
pub struct Falling<'a> {
    pub cluster: &'a Cluster,
    pub eligible: &'a Eligible,
    pub workload: &'a Workload<'a>,
    pub rules: Vec<AxisRule>,
    pub budget: &'a Budget<'a>,
    /// With their indices.
    pub replicas: Vec<(usize, &'a Releasable)>,
    /// The cost of keeping each replica, whatever stays beside the replica.
    pub costs: Vec<Cost>,
    pub affinity: &'a AffinityRules<'a>,
}

impl Falling<'_> {
    /// Whether each replica stays, of each role the number in `keep`.
    ///
    /// With several roles the search may find nothing before the budget is spent. As a fallback each role in turn keeps
    /// its best replicas: for a single role the first flow is an answer.
    pub fn stays(&self, keep: &[u32], mut staying: Staying, is_exact: &mut bool) -> Vec<bool> {
        let mut stays = vec![false; self.replicas.len()];
        if let Some(kept) = self.keep_best_on_several(keep, &staying) {
            *is_exact &= kept.is_exact;
            kept.replicas.iter().for_each(|at| stays[*at] = true);
            return stays;
        }
        if self.budget.has_ended() {
            return stays;
        }
        *is_exact = false;
        let none_decided = vec![false; self.replicas.len()];
        for role in (0..keep.len()).filter(|&role| keep[role] > 0) {
            if self.budget.has_ended() {
                break;
            }
            let mut of_role = vec![0; keep.len()];
            of_role[role] = keep[role];
            let kept = self.keep_best(&of_role, &staying, &none_decided);
            for at in kept.into_iter().flat_map(|kept| kept.replicas) {
                stays[at] = true;
                staying.add(self.replicas[at].1);
            }
        }
        stays
    }

    /// Keeps the best replicas. A flow cannot choose a replica on several hosts. So each set of these replicas is
    /// tried, and the flow chooses the best replicas beside the set.
    fn keep_best_on_several(&self, keep: &[u32], staying: &Staying) -> Option<KeptSet> {
        let several = (0..self.replicas.len()).filter(|&at| self.replicas[at].1.hosts.len() > 1);
        let several: Vec<usize> = several.collect();
        let decided = &several[..several.len().min(MOST_ON_SEVERAL)];
        let mut is_decided = vec![false; self.replicas.len()];
        decided.iter().for_each(|at| is_decided[*at] = true);
        let mut best: Option<KeptSet> = None;
        let mut are_all_exact = decided.len() == several.len();
        for set in 0..1_u32 << decided.len() {
            let stay = decided.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
            let stay: Vec<usize> = stay.map(|(_, at)| *at).collect();
            let (mut left, mut beside) = (
                keep.iter().map(|&number| i64::from(number)).collect::<Vec<_>>(),
                staying.clone(),
            );
            let mut cost = Cost::ZERO;
            for &at in &stay {
                let replica = self.replicas[at].1;
                left[replica.role] -= 1;
                beside.add(replica);
                cost += self.costs[at];
            }
            let left: Option<Vec<u32>> = left.into_iter().map(|number| number.try_into().ok()).collect();
            let Some(mut kept) = left.and_then(|left| self.keep_best(&left, &beside, &is_decided)) else {
                continue;
            };
            are_all_exact &= kept.is_exact;
            kept.cost += cost;
            kept.replicas.extend(stay);
            if best.as_ref().is_none_or(|best| kept.rank() < best.rank()) {
                best = Some(kept);
            }
        }
        best.map(|best| KeptSet {
            is_exact: are_all_exact,
            ..best
        })
    }

    /// Keeps the best undecided replicas beside the staying replicas. `None` if the search found no answer before the
    /// budget was spent.
    fn keep_best(&self, keep: &[u32], staying: &Staying, is_decided: &[bool]) -> Option<KeptSet> {
        let Eligible { trees, any, .. } = self.eligible;
        let domains = trees.iter().map(|tree| tree.len() as u64).sum::<u64>();
        let levels = trees.iter().map(|tree| tree.levels()).sum::<u64>();
        let count = self.replicas.len() as u64;
        if self.budget.count(domains + any.len() as u64) || self.budget.count(count * levels) {
            return None;
        }
        let standing = staying.standing();
        let one_a_host = !has_host_rule(self.workload.rules);
        let compared = Compared::new(self.cluster, self.eligible, &self.rules, standing, (one_a_host, false));
        let new = keep.iter().sum();
        let bounds = compared.hosts.bounds(compared.placed + new);
        let wanted = WantedReplicas {
            missing: keep,
            new,
            cost_before: compared.hosts.cost_before(&bounds),
            budget: self.budget,
            has_fallback: keep.iter().filter(|number| **number > 0).count() > 1,
        };
        let undecided = (0..self.replicas.len()).filter(|&at| !is_decided[at]);
        let undecided = undecided.map(|at| FallingReplica {
            at,
            role: self.replicas[at].1.role,
            host: self.replicas[at].1.hosts[0],
            cost: self.costs[at],
        });
        let items = FallingHosts::new(
            self.cluster,
            (undecided, self.workload.wanted.len()),
            standing,
            (bounds, &compared.hosts.demands),
        );
        let cells = priced_cells(&items, &compared, wanted);
        let next = self.next(standing);
        let growth = next.as_ref().map(|next| self.growth(next, &compared, standing));
        let mut outcome = search(&items, &compared, &cells, wanted, growth.as_ref());
        let mut is_exact = outcome.is_exact;
        if let (Some(growth), Some((cost, _)), true) = (&growth, &outcome.best, outcome.is_stuck) {
            let found = search_with_room(&items, &compared, &cells, wanted, (growth, *cost));
            is_exact &= found.is_exact;
            if found.best.is_some() {
                outcome = found;
            }
        }
        let (cost, assigned) = outcome.best?;
        Some(KeptSet {
            cost,
            is_stuck: outcome.is_stuck,
            is_exact,
            replicas: items.kept(&assigned),
        })
    }

    /// The demands of the rules on a workload with one replica more. `None` without a hard spread.
    fn next(&self, standing: Standing) -> Option<Compared> {
        let rules = rules_of_next(self.workload, self.eligible)?;
        let one_a_host = !has_host_rule(self.workload.rules);
        let eligible = self.eligible.for_one_more();
        Some(Compared::new(
            self.cluster,
            eligible,
            &rules,
            standing,
            (one_a_host, true),
        ))
    }

    /// The search for a further replica on the eligible hosts without a staying replica. The room of the hosts is not
    /// known.
    fn growth<'a>(&self, next: &'a Compared, compared: &Compared, standing: Standing) -> Growth<'a> {
        let one_a_host = !has_host_rule(self.workload.rules);
        let index = self
            .cluster
            .cell_index(compared.dimensions.iter().map(|it| it.dimension).collect());
        let eligible = self.eligible.for_one_more();
        let is_excluded = |host: u32| self.affinity.effect(host).excluding.is_some();
        let excluded: Option<&dyn Fn(u32) -> bool> = self.affinity.has_hard().then_some(&is_excluded);
        let mut free = eligible.hosts_by_cell(&index, self.workload.wanted, excluded).to_vec();
        if !one_a_host {
            free.iter_mut().for_each(|free| *free *= MOST_ON_A_HOST);
        }
        let taken = standing
            .hosts()
            .filter(|(_, host)| one_a_host && eligible.any[*host as usize] && !is_excluded(*host));
        for (_, host) in taken {
            let cell = index.cell_of[host as usize] as usize;
            free[cell] = free[cell].saturating_sub(1);
        }
        let needed = self.eligible.needed_for_one_more(next.indices());
        Growth::new(next, (index, free), needed, Cost::before_hash)
    }
}

/// The cost of keeping each of the falling replicas. `domain` is the domain of a rule `within`.
pub fn costs(
    (cluster, eligible): (&Cluster, &Eligible),
    domain: Option<(Level, AxisDomain)>,
    affinity: &AffinityRules,
    falling: &[(usize, &Releasable)],
    budget: &Budget,
) -> Vec<Cost> {
    let mut costs: Vec<Cost> = Vec::with_capacity(falling.len());
    for &(at, replica) in falling {
        let mut cost = Cost::of_index(at) + if replica.lost { Cost::LOST } else { Cost::ZERO };
        let mut is_fit = true;
        for &host in &replica.hosts {
            budget.count(affinity.len() as u64);
            let effect = affinity.effect(host);
            is_fit &= eligible.is_eligible(host, replica.role) && effect.excluding.is_none();
            cost += effect.cost;
        }
        let is_outside = |host: &u32| domain.is_some_and(|(_, domain)| !domain.has(cluster, *host));
        let level = domain
            .filter(|_| replica.hosts.iter().any(is_outside))
            .map(|(level, _)| level);
        match level {
            Some(Level::Hard) => is_fit = false,
            Some(level) => cost += Cost::of_level(level),
            None => {}
        }
        costs.push(cost + if is_fit { Cost::ZERO } else { Cost::UNFIT });
    }
    costs
}
