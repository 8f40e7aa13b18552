//! Places the missing replicas of a workload, on all eligible hosts, or in the best domain of a rule `within`.

pub mod attempts;
pub mod ceiling;
pub mod domains;
pub mod host_items;
pub mod prune;
pub mod refusal;
pub mod swap;

use self::domains::{PlacementRank, candidate_domains};
use self::host_items::Placing;
use self::refusal::{Refusal, WithinLimit, refusal};
use super::budget::Budget;
use super::cluster::{Cluster, Hosts, PlacedReplica, Workload};
use super::compared::Compared;
use super::cost::Cost;
use super::eligible::Eligible;
use super::rules::affinity::{AffinityEffect, AffinityRules};
use super::rules::modes::{axis_rules, has_host_rule, rules_of_next};
use super::rules::{Level, Within, within_rule};
use super::within::AxisDomain;
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
    let missing = missing(workload, eligible.roles());
    let question = PlaceQuestion {
        cluster,
        eligible,
        hosts,
        workload,
        missing: &missing,
        effort,
        budget: &budget,
    };
    match within_rule(workload.rules) {
        Some(within) if missing.iter().any(|missing| *missing > 0) => question.place_within(within),
        _ => question.place_in(eligible, None).0,
    }
}

/// The number of missing replicas by role.
fn missing(workload: &Workload, roles: usize) -> Vec<u32> {
    let mut missing: Vec<u32> = workload.wanted.iter().take(roles).copied().collect();
    for replica in workload.placed {
        missing[replica.role] = missing[replica.role].saturating_sub(1);
    }
    missing
}

/// A question with its derived values.
struct PlaceQuestion<'a, H> {
    cluster: &'a Cluster,
    eligible: &'a Eligible,
    hosts: &'a H,
    workload: &'a Workload<'a>,
    missing: &'a [u32],
    effort: &'a Effort,
    budget: &'a Budget<'a>,
}

/// A domain that a rule `within` chooses.
#[derive(Clone, Copy)]
struct ChosenDomain {
    /// The index of the rule.
    rule: usize,
    level: Level,
    domain: AxisDomain,
}

impl<H: Hosts> PlaceQuestion<'_, H> {
    /// Places all missing replicas in the best domain. A soft rule admits replicas outside of the domain, at a cost. A
    /// workload of one needs no domain.
    fn place_within(&self, (rule, within): (usize, &Within)) -> Placed {
        let hosts = (self.cluster, self.eligible);
        let replicas = (self.workload, self.missing);
        let candidates = candidate_domains(
            hosts,
            self.hosts,
            replicas,
            within,
            (self.effort.seed, self.effort.atomic, self.budget),
        );
        let mut best: Option<(PlacementRank, Placed)> = None;
        let mut is_exact = true;
        for candidate in candidates {
            if self.budget.has_ended() {
                break;
            }
            if let Some((rank, _)) = &best {
                if *rank <= candidate.least {
                    break;
                }
                if self.budget.is_spent() {
                    is_exact = false;
                    break;
                }
            }
            self.budget.count(self.cluster.hosts.into());
            let chosen = ChosenDomain {
                rule,
                level: within.level,
                domain: candidate.domain,
            };
            let (placed, rank) = match within.level {
                Level::Hard => {
                    let inside = self
                        .eligible
                        .inside(self.cluster, candidate.domain, &self.effort.interrupt);
                    self.place_in(&inside, Some(chosen))
                }
                Level::Soft | Level::Prefer => self.place_in(self.eligible, Some(chosen)),
            };
            is_exact &= placed.is_exact;
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, placed));
            }
        }
        let is_single = self.workload.placed.is_empty() && self.workload.wanted.iter().sum::<u32>() <= 1;
        let best = best.filter(|(rank, _)| !is_single || rank.unplaced == 0);
        let placed = best.map_or_else(|| self.place_in(self.eligible, None).0, |(_, placed)| placed);
        Placed {
            is_exact: is_exact && placed.is_exact,
            ..placed
        }
    }

    /// Places the missing replicas on eligible hosts. `chosen` is the domain of the rule `within`.
    fn place_in(&self, eligible: &Eligible, chosen: Option<ChosenDomain>) -> (Placed, PlacementRank) {
        let (cluster, workload, budget) = (self.cluster, self.workload, self.budget);
        let rules = axis_rules(workload, &eligible.trees, eligible.count);
        let sizes = cluster.dimensions.iter().map(|dimension| dimension.tree.count() as u64);
        budget.count_list(sizes.sum());
        let one_a_host = !has_host_rule(workload.rules);
        let compared = Compared::new(cluster, eligible, &rules, workload.standing(), (one_a_host, true));
        let next = rules_of_next(workload, eligible).map(|rules| {
            let eligible = eligible.for_one_more();
            Compared::new(cluster, eligible, &rules, workload.standing(), (one_a_host, true))
        });
        let mut placed = vec![0; cluster.hosts as usize];
        for (_, host) in workload.standing().hosts() {
            placed[host as usize] += 1;
        }
        let hard = chosen.filter(|chosen| chosen.level == Level::Hard);
        let placing = Placing {
            cluster,
            hosts: self.hosts,
            eligible,
            affinity: self.affinity(chosen),
            outside: hard.map(|chosen| (chosen.rule, self.eligible)),
            compared: &compared,
            next,
            placed,
            missing: self.missing,
            seed: self.effort.seed,
            budget,
        };
        budget.count_list(cluster.hosts.into());
        let best = placing.best(self.effort.atomic);
        let mut unplaced = self.missing.to_vec();
        for replica in &best.replicas {
            unplaced[replica.role] -= 1;
        }
        let number = unplaced.iter().sum::<u32>();
        let has_reasons = number > 0 && !budget.has_ended();
        let mut refusal = has_reasons.then(|| refusal(&placing, &rules));
        let not_admitted = match &mut refusal {
            Some(refusal) => {
                refusal.within = hard.map(|hard| self.limit(hard, refusal.admitted));
                if self.effort.atomic {
                    refusal.missing - refusal.admitted
                } else {
                    0
                }
            }
            None => 0,
        };
        let rank = PlacementRank::new((number, not_admitted), best.cost + self.paid(chosen), best.is_stuck);
        let placed = Placed {
            replicas: best.replicas,
            unplaced,
            is_exact: best.is_exact,
            refusal,
        };
        (placed, rank)
    }

    /// The effects of the rules about other workloads on each host, and the cost of hosts outside of a domain.
    fn affinity(&self, chosen: Option<ChosenDomain>) -> Vec<AffinityEffect> {
        let (cluster, budget) = (self.cluster, self.budget);
        let mut effects = AffinityRules::of(cluster, self.workload.rules, budget).effects(budget);
        let Some(chosen) = chosen.filter(|chosen| chosen.level != Level::Hard) else {
            return effects;
        };
        if effects.is_empty() {
            effects = vec![AffinityEffect::default(); cluster.hosts as usize];
        }
        for (host, effect) in (0..).zip(&mut effects) {
            if !chosen.domain.has(cluster, host) {
                effect.cost += Cost::of_level(chosen.level);
            }
        }
        effects
    }

    /// The cost of the placed replicas outside of a domain.
    fn paid(&self, chosen: Option<ChosenDomain>) -> Cost {
        let paid = chosen.filter(|chosen| chosen.level != Level::Hard).map(|chosen| {
            let outside = chosen.domain.outside(self.cluster, self.workload.standing());
            Cost::of_level(chosen.level) * outside.len() as u32
        });
        paid.unwrap_or_default()
    }

    /// What the domain of a hard rule `within` admits.
    fn limit(&self, ChosenDomain { rule, domain, .. }: ChosenDomain, admitted: u32) -> WithinLimit {
        let outside = domain.outside(self.cluster, self.workload.standing());
        WithinLimit {
            rule,
            axis: domain.axis,
            domain: domain.domain,
            taken: (self.workload.placed.len() - outside.len()) as u32,
            admitted,
        }
    }
}
