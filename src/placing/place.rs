//! Places the missing replicas of a workload: prunes the cells, searches, and tries fewer replicas if the search finds
//! no placement.

pub mod ceiling;
pub mod host_items;
pub mod prune;
pub mod refusal;
pub mod swap;

use std::sync::Arc;

use self::ceiling::ceiling;
use self::host_items::{HostItems, Placing};
use self::prune::prune;
use self::refusal::{Refusal, refusal};
use super::budget::Budget;
use super::cells::Cells;
use super::cells::places::{CellPlaces, sum_by_domain};
use super::cells::slot_costs::SlotCosts;
use super::cluster::{Cluster, Hosts, PlacedReplica, Workload};
use super::compared::{Compared, CountBounds};
use super::cost::Cost;
use super::eligible::Eligible;
use super::rules::affinity::AffinityRules;
use super::rules::modes::{axis_rules, has_host_rule, rules_of_next};
use super::search::growth::{Growth, lacks_domain};
use super::search::role_prices::priced_cells;
use super::search::roles::Assigned;
use super::search::{Outcome, Wanted, search};
use crate::interrupt::Interrupt;

/// Whether [`place`] may leave replicas without a place, and how much work it may do.
#[derive(Clone)]
pub struct Effort {
    /// Whether all missing replicas are placed or none.
    pub atomic: bool,
    /// Decides between placements of equal cost.
    pub seed: u64,
    /// The number of operations, [`Effort::BUDGET`] by default. An operation looks at a host, an offer or an arc of a
    /// flow.
    pub budget: u64,
    /// Counts the operations as steps. After it is set the answer comes soon, and means nothing.
    pub interrupt: Interrupt,
}

impl Effort {
    /// Up to some tenths of a second. The first flow is completed in any case, and most searches are one flow.
    pub const BUDGET: u64 = 10_000_000;
}

/// New places for the missing replicas: by role, [`Workload::wanted`] less the placed replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// New replicas, by role and then by host.
    pub replicas: Vec<PlacedReplica>,
    /// The number of replicas without a place, by role. All zero if the request was atomic and was granted.
    pub unplaced: Vec<u32>,
    /// Whether no placement is better; if the answer is a refusal, no placement exists. Else the budget was spent: a
    /// placement keeps all hard rules, but a better placement may exist, and a refusal is no proof.
    pub is_exact: bool,
    /// Why replicas have no place. `None` if all replicas have a place, or after an interrupt.
    pub refusal: Option<Refusal>,
}

/// Places the missing replicas, best first by: number unplaced, soft violations, amount over normal limits, violations
/// of level `Prefer`, score, hash of the seed. Hard rules hold. A domain that is already above its limit gets no
/// new replica and is left out of the comparison.
///
/// An atomic request that is refused has no replicas and a [`Refusal`].
pub fn place(
    (cluster, eligible): (&Cluster, &Eligible),
    hosts: &impl Hosts,
    workload: &Workload,
    effort: &Effort,
) -> Placed {
    let budget = Budget::new(&effort.interrupt, effort.budget);
    let mut missing = workload.wanted.to_vec();
    for replica in workload.placed {
        missing[replica.role] = missing[replica.role].saturating_sub(1);
    }
    let rules = axis_rules(workload, &eligible.trees, eligible.count);
    let sizes = cluster.dimensions.iter().map(|dimension| dimension.tree.count() as u64);
    budget.count_list(sizes.sum());
    let one_a_host = !has_host_rule(workload.rules);
    let Eligible { trees, any, .. } = eligible;
    let compared = Compared::new(cluster, trees, any, &rules, workload.standing(), (one_a_host, true));
    let next = rules_of_next(workload, eligible).map(|rules| {
        let Eligible { trees, any, .. } = eligible.for_one_more();
        Compared::new(cluster, trees, any, &rules, workload.standing(), (one_a_host, true))
    });
    let mut placed = vec![0; cluster.hosts as usize];
    for (_, host) in workload.standing().hosts() {
        placed[host as usize] += 1;
    }
    let placing = Placing {
        cluster,
        hosts,
        eligible,
        affinity: AffinityRules::of(cluster, workload.rules, &budget).effects(&budget),
        compared: &compared,
        next,
        placed,
        missing: &missing,
        seed: effort.seed,
        budget: &budget,
    };
    budget.count_list(cluster.hosts.into());
    let (replicas, is_exact) = placing.best(effort.atomic);
    let mut unplaced = missing.clone();
    for replica in &replicas {
        unplaced[replica.role] -= 1;
    }
    let is_short = unplaced.iter().any(|&number| number > 0);
    let has_reasons = is_short && !budget.has_ended();
    Placed {
        refusal: has_reasons.then(|| refusal(&placing, &rules)),
        replicas,
        unplaced,
        is_exact,
    }
}

/// Whether the answer may change if all slots are listed. After a single flow the answer stays if no item is full, with
/// all its listed slots taken.
fn may_need_more_slots(cells: &Cells, outcome: &Outcome) -> bool {
    let Some(cut) = cells.cut else { return false };
    let Some((_, replicas)) = &outcome.best else {
        return true;
    };
    let mut items: Vec<u32> = replicas.iter().map(|replica| replica.item).collect();
    items.sort_unstable();
    let is_full = items
        .chunk_by(|one, other| one == other)
        .any(|same| same.len() as u32 >= cut);
    is_full || !outcome.is_one_flow
}

impl<H: Hosts> Placing<'_, H> {
    /// The most replicas that can be placed, in the best places.
    ///
    /// Each attempt has one replica less. When the budget is spent, bisection finds the number: each attempt is then
    /// about one flow.
    fn best(&self, atomic: bool) -> (Vec<PlacedReplica>, bool) {
        let all: u32 = self.missing.iter().sum();
        let (mut placed, mut best) = (0, Vec::new());
        // The least number that is known to fail.
        let mut fails = all + 1;
        let (mut is_exact, mut cells, mut next) = (true, None, all);
        while placed < next && !self.budget.has_ended() {
            let outcome = self.attempt(next, &mut cells);
            is_exact &= outcome.is_exact;
            if let Some((_, assigned)) = outcome.best {
                (placed, best) = (next, assigned);
            } else {
                fails = next.min(outcome.most + 1);
            }
            if atomic {
                break;
            }
            let is_bound_new = fails < next;
            next = fails - 1;
            if self.budget.is_spent() && placed < next {
                is_exact = false;
                if !is_bound_new {
                    next = (placed + fails) / 2;
                }
            }
        }
        let mut replicas: Vec<PlacedReplica> = best.into_iter().map(Assigned::placed).collect();
        replicas.sort_by_key(|replica| (replica.role, replica.host));
        (replicas, is_exact)
    }

    /// The best places of `new` replicas. `known` are the cells of the attempt before, if the cells stay the same.
    fn attempt(&self, new: u32, known: &mut Option<Cells>) -> Outcome {
        let all: u32 = self.missing.iter().sum();
        let bounds = self.compared.hosts.bounds(self.compared.placed + new);
        let cost_before = self.compared.hosts.cost_before(&bounds);
        let items = HostItems { placing: self, bounds };
        let wanted = Wanted {
            missing: self.missing,
            new,
            cost_before,
            budget: self.budget,
            has_fallback: false,
        };
        let cells = match known.take() {
            Some(cells) => cells,
            None if wanted.is_of_one_role() => self.cells(&items, new),
            None => priced_cells(&items, self.compared, wanted),
        };
        if self.budget.has_ended() {
            return Outcome::of_ceiling(0);
        }
        let placeable = ceiling(self.compared, &cells.direct(self.compared, new), new);
        let mut outcome = if placeable < new {
            Outcome::of_ceiling(placeable)
        } else {
            let growth = (new == all).then(|| self.growth(&cells, &items.bounds)).flatten();
            search(&items, self.compared, &cells, wanted, growth.as_ref())
        };
        outcome.is_exact &= !may_need_more_slots(&cells, &outcome);
        if wanted.is_of_one_role() && !self.compared.hosts.depend_on_total() {
            *known = Some(cells);
        }
        outcome
    }

    /// The places and rules of one replica more. `None` if no dimension admits one more, or if hosts take replicas of
    /// several roles: whether one more fits beside them is not known.
    fn growth(&self, cells: &Cells, bounds: &CountBounds) -> Option<Growth> {
        let next = self.next.as_ref()?;
        let more = self.missing.iter().sum::<u32>() + 1;
        let one_more: Vec<u32> = self.missing.iter().map(|&missing| missing + missing.min(1)).collect();
        let items = HostItems {
            placing: self,
            bounds: next.hosts.bounds(next.placed + more),
        };
        let takes_one = bounds.hard.most <= 1 && items.bounds.hard.most <= 1;
        let mut free = if takes_one {
            cells.free.clone()
        } else if self.missing.iter().filter(|missing| **missing > 0).count() > 1 {
            return None;
        } else {
            let no_prices = vec![Cost::ZERO; self.missing.len()];
            let costs = SlotCosts::new(&items, &one_more, &no_prices, self.budget);
            CellPlaces::of(&items, next, &costs).counts
        };
        let needed = self.eligible.needed_for_one_more(next);
        if !needed.is_empty() {
            for (cell, free) in (0..).zip(&mut free) {
                let is_for_one = lacks_domain(&needed, |at| cells.index.leaf(cell, at));
                *free *= u32::from(!is_for_one);
            }
        }
        let direct = (0..next.dimensions.len()).map(|at| {
            let places = (0..).zip(&free);
            let places = places.map(|(cell, number)| (cells.index.leaf(cell, at), *number));
            sum_by_domain(next.dimensions[at].tree.len(), places, more)
        });
        let is_possible = ceiling(next, &direct.collect::<Vec<_>>(), more) >= more;
        is_possible.then(|| Growth::new(next.clone(), (Arc::clone(&cells.index), free), needed, Cost::before_rank))
    }

    /// The cells that `new` replicas of one role need.
    fn cells(&self, items: &HostItems<H>, new: u32) -> Cells {
        let no_prices = vec![Cost::ZERO; self.missing.len()];
        let costs = SlotCosts::new(items, self.missing, &no_prices, self.budget);
        let places = CellPlaces::of(items, self.compared, &costs);
        if self.budget.has_ended() {
            return Cells::of(items, &places, &[], &costs);
        }
        let kept = prune(&places, self.compared, new, &costs);
        Cells::of(items, &places, &kept, &costs)
    }
}
