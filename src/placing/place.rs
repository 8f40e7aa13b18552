//! Places the missing replicas of a workload: prunes the cells, searches, and tries fewer replicas if the search finds
//! no placement.

use super::affinity::AffinityHosts;
use super::bounds::Totals;
use super::budget::Budget;
use super::ceiling::ceiling;
use super::cell_places::CellPlaces;
use super::cells::Cells;
use super::cluster::{Cluster, Hosts, Standing, Workload};
use super::compared::Compared;
use super::cost::Cost;
use super::eligible::Eligible;
use super::host_items::HostItems;
use super::modes::{AxisRule, axis_rules, has_host_rule};
use super::prune::prune;
use super::refusal::{Refusal, refusal};
use super::role_prices::prices;
use super::roles::Assigned;
use super::search::{Outcome, Wanted, search};
use super::slot_costs::SlotCosts;
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

/// New places for the missing replicas: by role, [`Workload::wanted`] less the standing replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// New replicas, by role and then by host.
    pub replicas: Vec<Standing>,
    /// The number of replicas without a place, by role. All zero if the request was atomic and was granted.
    pub unplaced: Vec<u32>,
    pub proof: Proof,
    /// Why replicas have no place. `None` if all replicas have a place, or after an interrupt.
    pub refusal: Option<Refusal>,
}

/// Whether an answer is proven to be the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// No placement is better. If the answer is a refusal, no placement exists.
    Exact,
    /// The budget was spent. A placement keeps all hard rules but a better placement may exist. A refusal is no proof
    /// that no placement exists.
    BudgetSpent,
}

/// Places the missing replicas, best first by: number unplaced, soft violations, amount over normal limits, violations
/// of level `Prefer`, score, hash of the seed. Hard rules hold. A domain that already stands above its limit gets no
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
    for replica in workload.standing {
        missing[replica.role] = missing[replica.role].saturating_sub(1);
    }
    let rules = axis_rules(workload, &eligible.trees, eligible.count);
    let sizes = cluster.dimensions.iter().map(|dimension| dimension.tree.count() as u64);
    budget.count_list(sizes.sum());
    let compared = compared(cluster, eligible, &rules, workload);
    let placing = Placing {
        cluster,
        hosts,
        eligible,
        affinity: AffinityHosts::of(cluster, workload.rules, &budget),
        compared: &compared,
        standing: standing_by_host(cluster, workload),
        missing: &missing,
        effort,
        budget: &budget,
    };
    budget.count_list(cluster.hosts.into());
    let (replicas, proof) = placing.best();
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
        proof,
    }
}

/// The demands of the rules, with the standing replicas.
fn compared(cluster: &Cluster, eligible: &Eligible, rules: &[AxisRule], workload: &Workload) -> Compared {
    let one_a_host = !has_host_rule(workload.rules);
    let Eligible { trees, any, .. } = eligible;
    Compared::new(cluster, trees, any, rules, workload.standing, (one_a_host, true))
}

fn standing_by_host(cluster: &Cluster, workload: &Workload) -> Vec<u32> {
    let mut standing = vec![0; cluster.hosts as usize];
    for replica in workload.standing {
        standing[replica.host as usize] += 1;
    }
    standing
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

/// A request with its derived values.
pub struct Placing<'a, H> {
    pub cluster: &'a Cluster,
    pub hosts: &'a H,
    pub eligible: &'a Eligible,
    pub affinity: AffinityHosts,
    pub compared: &'a Compared,
    /// Replicas by host.
    pub standing: Vec<u32>,
    /// By role.
    pub missing: &'a [u32],
    pub effort: &'a Effort,
    pub budget: &'a Budget<'a>,
}

impl<H: Hosts> Placing<'_, H> {
    /// The most replicas that can be placed, in the best places.
    ///
    /// Each attempt has one replica less. When the budget is spent, bisection finds the number: each attempt is then
    /// about one flow.
    fn best(&self) -> (Vec<Standing>, Proof) {
        let all: u32 = self.missing.iter().sum();
        let (mut placed, mut best) = (0, Vec::new());
        // The least number that is known to fail.
        let mut fails = all + 1;
        let (mut proof, mut cells, mut next) = (Proof::Exact, None, all);
        while placed < next && !self.budget.has_ended() {
            let outcome = self.attempt(next, &mut cells);
            if !outcome.is_exact {
                proof = Proof::BudgetSpent;
            }
            if let Some((_, assigned)) = outcome.best {
                (placed, best) = (next, assigned);
            } else {
                fails = next.min(outcome.most + 1);
            }
            if self.effort.atomic {
                break;
            }
            let is_bound_new = fails < next;
            next = fails - 1;
            if self.budget.is_spent() && placed < next {
                proof = Proof::BudgetSpent;
                if !is_bound_new {
                    next = (placed + fails) / 2;
                }
            }
        }
        let mut replicas: Vec<Standing> = best.into_iter().map(Assigned::standing).collect();
        replicas.sort_by_key(|replica| (replica.role, replica.host));
        (replicas, proof)
    }

    /// The best places of `new` replicas. `known` are the cells of the attempt before, if the cells stay the same.
    fn attempt(&self, new: u32, known: &mut Option<Cells>) -> Outcome {
        let bounds = self.compared.hosts.bounds(self.compared.standing + new);
        let cost_before = self.compared.hosts.cost_before(&bounds);
        let items = HostItems { placing: self, bounds };
        let is_of_one_role = self.missing.iter().filter(|missing| **missing > 0).count() == 1;
        let no_prices = vec![Cost::ZERO; self.missing.len()];
        let mut wanted = Wanted {
            missing: self.missing,
            new,
            cost_before,
            prices: &no_prices,
            budget: self.budget,
            has_fallback: false,
        };
        let corrected;
        let cells = if is_of_one_role {
            known.take().unwrap_or_else(|| self.cells(&items, wanted))
        } else {
            let (prices, cells) = prices(&items, self.compared, wanted);
            corrected = prices;
            wanted.prices = &corrected;
            cells
        };
        if self.budget.has_ended() {
            return Outcome::of_ceiling(0);
        }
        let placeable = ceiling(self.compared, &cells.direct(self.compared, new), new);
        let mut outcome = if placeable < new {
            Outcome::of_ceiling(placeable)
        } else {
            search(&items, self.compared, &cells, wanted)
        };
        outcome.is_exact &= !may_need_more_slots(&cells, &outcome);
        if is_of_one_role && !self.compared.hosts.depend_on_total() {
            *known = Some(cells);
        }
        outcome
    }

    /// The cells that replicas of one role need.
    fn cells(&self, items: &HostItems<H>, wanted: Wanted) -> Cells {
        let costs = SlotCosts::new(items, wanted.missing, wanted.prices, self.budget);
        let places = CellPlaces::of(items, self.compared, &costs);
        let totals = Totals {
            new: wanted.new,
            all: self.compared.standing + wanted.new,
        };
        if self.budget.has_ended() {
            return Cells::of(items, &places, &[], &costs);
        }
        let kept = prune(&places, self.compared, totals, &costs);
        Cells::of(items, &places, &kept, &costs)
    }
}
