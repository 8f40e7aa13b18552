//! The replicas of roles with a surplus, and the best replicas to keep.

use std::collections::HashMap;
use std::sync::Arc;

use crate::placing::budget::Budget;
use crate::placing::cells::index::CellIndex;
use crate::placing::cells::items::Items;
use crate::placing::cluster::{Cluster, FurtherHost, PlacedReplica, Standing, Workload};
use crate::placing::compared::Compared;
use crate::placing::cost::Cost;
use crate::placing::eligible::Eligible;
use crate::placing::rules::affinity::AffinityRules;
use crate::placing::rules::modes::{AxisRule, has_host_rule, rules_of_next};
use crate::placing::rules::{Axis, Level};
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

    fn standing(&self) -> Standing<'_> {
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
    items: Vec<usize>,
}

impl KeptSet {
    fn rank(&self) -> (Cost, bool, Cost) {
        (self.cost.before_hash(), self.is_stuck, self.cost)
    }
}

/// The replicas of roles with a surplus. Each replica is an item, which may stay.
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
}

/// The replicas on each host, each above the most replicas of a host at a cost.
struct HostCounts {
    cap: u32,
    on_host: HashMap<u32, u32>,
}

impl HostCounts {
    /// Adds a replica on these hosts. Returns the cost of the replica.
    fn add(&mut self, hosts: &[u32]) -> Cost {
        let mut is_above = false;
        for &host in hosts {
            let number = self.on_host.entry(host).or_default();
            *number += 1;
            is_above |= *number > self.cap;
        }
        if is_above { Cost::UNFIT } else { Cost::ZERO }
    }
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
            kept.items.iter().for_each(|item| stays[*item] = true);
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
            for item in kept.into_iter().flat_map(|kept| kept.items) {
                stays[item] = true;
                staying.add(self.replicas[item].1);
            }
        }
        stays
    }

    /// Keeps the best replicas. A replica on several hosts is no item of a flow. So each set of these replicas is
    /// tried, and the flow chooses the best replicas beside the set.
    fn keep_best_on_several(&self, keep: &[u32], staying: &Staying) -> Option<KeptSet> {
        let several = (0..self.replicas.len()).filter(|&item| self.replicas[item].1.hosts.len() > 1);
        let several: Vec<usize> = several.collect();
        let decided = &several[..several.len().min(MOST_ON_SEVERAL)];
        let mut is_decided = vec![false; self.replicas.len()];
        decided.iter().for_each(|item| is_decided[*item] = true);
        let mut best: Option<KeptSet> = None;
        let mut are_all_exact = decided.len() == several.len();
        for set in 0..1_u32 << decided.len() {
            let stay = decided.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
            let stay: Vec<usize> = stay.map(|(_, item)| *item).collect();
            let (mut left, mut beside) = (
                keep.iter().map(|&number| i64::from(number)).collect::<Vec<_>>(),
                staying.clone(),
            );
            let (mut counts, mut cost) = (self.host_counts(staying), Cost::ZERO);
            for &item in &stay {
                let replica = self.replicas[item].1;
                left[replica.role] -= 1;
                beside.add(replica);
                cost += self.costs[item] + counts.add(&replica.hosts);
            }
            let left: Option<Vec<u32>> = left.into_iter().map(|number| number.try_into().ok()).collect();
            let Some(mut kept) = left.and_then(|left| self.keep_best(&left, &beside, &is_decided)) else {
                continue;
            };
            are_all_exact &= kept.is_exact;
            kept.cost += cost;
            kept.items.extend(stay);
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
        let compared = Compared::new(self.cluster, self.eligible, &self.rules, standing, (false, false));
        let wanted = WantedReplicas {
            missing: keep,
            new: keep.iter().sum(),
            cost_before: Cost::ZERO,
            budget: self.budget,
            has_fallback: keep.iter().filter(|number| **number > 0).count() > 1,
        };
        let items = FallingItems {
            falling: self,
            costs: self.costs_beside(staying, is_decided),
            is_decided,
        };
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
            items: assigned.iter().map(|assigned| assigned.item as usize).collect(),
        })
    }

    fn host_counts(&self, staying: &Staying) -> HostCounts {
        let mut counts = HostCounts {
            cap: host_cap(self.workload, &self.rules),
            on_host: HashMap::new(),
        };
        for (_, host) in staying.standing().hosts() {
            counts.add(&[host]);
        }
        counts
    }

    /// The cost of keeping each undecided replica beside the staying replicas. Of the replicas on a host the cheapest
    /// count first.
    fn costs_beside(&self, staying: &Staying, is_decided: &[bool]) -> Vec<Cost> {
        let mut costs = self.costs.clone();
        let mut order: Vec<usize> = (0..costs.len()).filter(|&item| !is_decided[item]).collect();
        order.sort_unstable_by_key(|&item| self.costs[item]);
        let mut counts = self.host_counts(staying);
        for item in order {
            costs[item] += counts.add(&self.replicas[item].1.hosts);
        }
        costs
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
        let mut free = eligible.hosts_by_cell(&index, self.workload.wanted).to_vec();
        if !one_a_host {
            free.iter_mut().for_each(|free| *free *= MOST_ON_A_HOST);
        }
        let taken = standing
            .hosts()
            .filter(|(_, host)| one_a_host && eligible.any[*host as usize]);
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
    workload: &Workload,
    falling: &[(usize, &Releasable)],
    budget: &Budget,
) -> Vec<Cost> {
    let affinity = AffinityRules::of(cluster, workload.rules, budget);
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

/// The most replicas on a host under hard rules.
fn host_cap(workload: &Workload, rules: &[AxisRule]) -> u32 {
    let hard = rules
        .iter()
        .filter(|rule| rule.axis == Axis::Host && rule.level == Level::Hard);
    let n = workload.wanted.iter().sum();
    let cap = hard.filter_map(|rule| rule.limit(n)).min();
    cap.unwrap_or(if has_host_rule(workload.rules) { u32::MAX } else { 1 })
}

/// The falling replicas without a decision, as items of a search.
struct FallingItems<'a> {
    falling: &'a Falling<'a>,
    /// The cost of keeping each replica.
    costs: Vec<Cost>,
    is_decided: &'a [bool],
}

impl Items for FallingItems<'_> {
    fn count(&self) -> u32 {
        self.falling.replicas.len() as u32
    }

    fn index(&self, compared: &Compared) -> Arc<CellIndex> {
        let falling = self.falling;
        let index = CellIndex::of(self.count(), compared.dimensions.len(), |item, at| {
            let compared = &compared.dimensions[at];
            let host = falling.replicas[item as usize].1.hosts[0];
            let leaf = falling.cluster.dimensions[compared.dimension].leaves[host as usize];
            compared.tree.nearest_live(leaf.0)
        });
        Arc::new(index)
    }

    fn offer(&self, item: u32, role: usize, already: u32) -> Option<Cost> {
        let at = item as usize;
        let is_offered = self.falling.replicas[at].1.role == role && already == 0 && !self.is_decided[at];
        is_offered.then(|| self.costs[at])
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
