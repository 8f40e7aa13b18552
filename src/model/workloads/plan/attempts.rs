//! Chooses places for the missing replicas.
//!
//! `placing` chooses hosts by the offer of each host alone. Replicas on different hosts may need room of the same
//! sharing provider, so the places of a choice are taken one after the other. If a place is gone, the replica gets a
//! different place on the same host. If there is none, the replica is placed again, beside the other replicas. A better
//! choice may exist in this case, and a refusal is no proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Planning, Usages};
use crate::error::{Error, Result};
use crate::model::workloads::host_offers::{HostOffers, Offered};
use crate::model::workloads::time::too_long;
use crate::placing::{self, AxisDomain, Effort, Eligible, Offer, Placed, PlacedReplica, Refusal, Standing, Swap};
use crate::search::Snapshot;

/// By role, the hosts of the new replicas.
pub type Places = Vec<Vec<(u32, Offered)>>;

/// Why replicas have no place, and a move that would help.
pub type RefusalWithSwap = (Refusal, Option<Swap>);

/// A new replica's place.
struct NewPlace {
    host: u32,
    role: usize,
    offered: Offered,
}

/// The most domains of a hard rule `within` that are tried if places are gone.
const MOST_DOMAINS: u32 = 16;

/// The wanted replicas by role, and the placed replicas.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub wanted: &'a [u32],
    pub standing: Standing<'a>,
}

/// The outcome of placing the missing replicas on eligible hosts.
pub struct PlanAttempt {
    pub places: Places,
    /// The placed replicas and the new replicas.
    pub placed: Vec<PlacedReplica>,
    pub usages: Usages,
    /// Why replicas have no place, and the snapshot within the capacities for the reasons.
    pub refused: Option<(RefusalWithSwap, Arc<Snapshot>)>,
    /// Whether places of a choice were gone: a sharing provider had room for each replica alone, and not for all.
    were_gone: bool,
    pub is_exact: bool,
}

/// Tries to place the missing replicas. A hard rule `within` chooses the domain by the offer of each host alone. If the
/// sharing providers of the domain have too little room for all replicas, the attempt is repeated without the domain.
pub fn best_attempt(planning: &Planning<'_>, asked: Asked<'_>, usages: &Usages) -> Result<PlanAttempt> {
    let cluster = &planning.list.cluster;
    let mut eligible = Arc::clone(&planning.eligible);
    let mut best = attempt(planning, &eligible, asked, usages.clone())?;
    let mut last = best.exhausted(planning, asked);
    for _ in 0..MOST_DOMAINS {
        let Some(domain) = last else { break };
        eligible = Arc::new(eligible.outside(cluster, domain, planning.interrupt));
        let next = attempt(planning, &eligible, asked, usages.clone())?;
        last = next.exhausted(planning, asked);
        let rank = |attempt: &PlanAttempt| (attempt.refused.is_none(), attempt.placed.len());
        if rank(&next) > rank(&best) {
            best = next;
        }
    }
    if !best.placed.is_empty() && asked.standing.placed.is_empty() {
        best.count_gone();
    }
    Ok(best)
}

impl PlanAttempt {
    /// The domain of a hard rule `within` that has too little room, if no replica was placed before.
    fn exhausted(&self, planning: &Planning<'_>, asked: Asked<'_>) -> Option<AxisDomain> {
        let may_move = self.refused.is_some() && self.were_gone && asked.standing.placed.is_empty();
        let domain = || placing::hard_domain(&planning.list.cluster, &planning.rules, &self.placed);
        may_move.then(domain).flatten()
    }

    /// Lets the refusal of a rule `within` count the new replicas, which have no place if the request is refused.
    fn count_gone(&mut self) {
        let Some(((refusal, _), _)) = &mut self.refused else {
            return;
        };
        let Some(within) = &mut refusal.within else { return };
        let new = self.placed.len() as u32;
        refusal.missing += new;
        refusal.admitted += new;
        within.admitted += new;
        within.taken -= new.min(within.taken);
    }
}

/// Chooses places until no place of a choice is gone.
fn attempt(planning: &Planning<'_>, eligible: &Eligible, asked: Asked<'_>, mut usages: Usages) -> Result<PlanAttempt> {
    let (mut placed, mut is_exact, mut were_gone) = (asked.standing.placed.to_vec(), true, false);
    let mut places: Places = vec![Vec::new(); planning.job.roles().len()];
    let refused = loop {
        let snapshots = [&mut usages.normal, &mut usages.hard].map(|usage| Arc::clone(usage.snapshot()));
        let beside = Asked {
            standing: Standing {
                placed: &placed,
                ..asked.standing
            },
            ..asked
        };
        let choice = choose(planning, eligible, &snapshots, beside)?;
        is_exact &= choice.is_exact;
        let [_, hard] = snapshots;
        let refused = choice.refusal.map(|refusal| (refusal, hard));
        if planning.interrupt.has_ended() {
            return Err(too_long());
        }
        if planning.job.put.is_atomic && refused.is_some() {
            break refused;
        }
        let count = choice.places.len();
        let taken = take(planning, choice.places, &mut usages)?;
        let is_last = taken.len() == count;
        for NewPlace { host, role, offered } in taken {
            placed.push(PlacedReplica { role, host });
            places[role].push((host, offered));
        }
        if is_last {
            break refused;
        }
        (is_exact, were_gone) = (false, true);
    };
    Ok(PlanAttempt {
        places,
        placed,
        usages,
        refused,
        were_gone,
        is_exact,
    })
}

/// Places on hosts by the offer of each host alone, and why replicas have no place.
struct HostChoice {
    places: Vec<NewPlace>,
    refusal: Option<RefusalWithSwap>,
    is_exact: bool,
}

/// Chooses hosts by the offer of each host alone, within the normal limits and within the capacities.
fn choose(
    planning: &Planning<'_>,
    eligible: &Eligible,
    [normal, hard]: &[Arc<Snapshot>; 2],
    Asked { wanted, standing }: Asked<'_>,
) -> Result<HostChoice> {
    let (job, list, settings) = (planning.job, &planning.list, &planning.settings);
    let missing = missing(planning, wanted, standing.placed);
    let offers = HostOffers::new([normal, hard], list, job.roles(), &missing, settings)?;
    let effort = Effort {
        atomic: job.put.is_atomic,
        seed: settings.seed,
        budget: Effort::BUDGET,
        interrupt: planning.interrupt.clone(),
    };
    let (hosts, workload) = ((&list.cluster, eligible), planning.workload(wanted, standing));
    let answer = placing::place(hosts, &offers, &workload, &effort);
    if planning.interrupt.has_ended() {
        return Err(too_long());
    }
    let places = places(&offers, &answer)?;
    let is_exact = offers.is_exact() && answer.is_exact;
    let refusal = answer.refusal.map(|refusal| {
        let may_help = job.put.is_atomic && refusal.admitted >= refusal.missing;
        let swap = may_help.then(|| placing::swap(hosts, &offers, &workload, &effort));
        (refusal, swap.flatten())
    });
    Ok(HostChoice {
        places,
        refusal,
        is_exact,
    })
}

/// Takes places one after the other. Returns the first place, and all places for which the host still has room.
fn take(planning: &Planning<'_>, chosen: Vec<NewPlace>, usages: &mut Usages) -> Result<Vec<NewPlace>> {
    if !usages.hard.snapshot().has_sharing() {
        let placements = chosen.iter().map(|place| &place.offered.candidate.placements);
        placements.for_each(|placements| _ = usages.hard.add(placements));
        return Ok(chosen);
    }
    let mut taken = Vec::with_capacity(chosen.len());
    for place in chosen {
        let NewPlace { host, role, offered } = place;
        let is_over = offered.offer.over > 0;
        let usage = if is_over { &usages.hard } else { &usages.normal };
        let offered = if usage.has_room(&offered.candidate.placements) {
            Some(offered)
        } else {
            let found = planning.candidate_on(host, role, usages)?;
            found.map(|candidate| {
                let over = usages.normal.added_over(&candidate.placements);
                let offer = Offer { over, ..offered.offer };
                Offered { offer, candidate }
            })
        };
        if let Some(offered) = offered {
            usages.add(&offered.candidate.placements);
            taken.push(NewPlace { host, role, offered });
        }
    }
    Ok(taken)
}

/// How many replicas of each role are wanted and are not placed.
pub fn missing(planning: &Planning<'_>, wanted: &[u32], placed: &[PlacedReplica]) -> Vec<u32> {
    let mut missing = wanted[..planning.job.roles().len()].to_vec();
    placed.iter().for_each(|it| missing[it.role] -= 1);
    missing
}

/// The places of new replicas.
///
/// # Errors
/// [`Error::Internal`] if the search for a candidate does not find the place whose cost was known.
fn places(offers: &HostOffers<'_>, placed: &Placed) -> Result<Vec<NewPlace>> {
    let mut on_host: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &PlacedReplica { role, host } in &placed.replicas {
        on_host.entry(host).or_default().push(role);
    }
    let mut places = Vec::with_capacity(placed.replicas.len());
    for (host, roles) in on_host {
        let Some(offered) = offers.together(host, &roles) else {
            return Err(Error::Internal {
                detail: format!("roles {roles:?} have places on host {host}, but no candidates"),
            });
        };
        let offered = offered.into_iter();
        places.extend(offered.map(|(role, offered)| NewPlace { host, role, offered }));
    }
    Ok(places)
}
