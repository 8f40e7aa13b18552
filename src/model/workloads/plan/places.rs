//! Places for the missing replicas, and the reasons of those without a place.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::attempts::{Asked, Places, best_attempt, missing};
use super::shares::shares;
use super::{Draft, Kept, Planning, Usages};
use crate::error::{Error, NoPlace, Reason, ReasonCode, Reasons, Result};
use crate::model::claims::{Limits, claim_candidate};
use crate::model::workloads::{Replica, ReplicaRow, admission, affinity, ids, refusal};
use crate::placing::{FurtherHost, PlacedReplica, Refusal, Standing, Swap};
use crate::search::Snapshot;

/// Places the missing replicas, and adds their amounts to the usages within the capacities. Returns why some have no
/// place.
pub fn place(planning: &Planning<'_>, draft: &mut Draft, usages: &mut Usages) -> Result<Reasons> {
    let (job, interrupt) = (planning.job, planning.interrupt);
    let (wanted, placed, further) = placed(planning, draft);
    let missing = missing(planning, &wanted, &placed);
    if missing.iter().all(|count| *count == 0) {
        return Ok(Reasons::default());
    }
    if job.put.is_atomic {
        let hosts = (&*planning.list, &*planning.eligible);
        admission::check(usages.normal.snapshot(), hosts, job.roles(), &missing, interrupt)?;
    }
    let asked = Asked {
        wanted: &wanted,
        standing: Standing {
            placed: &placed,
            further: &further,
        },
    };
    let best = best_attempt(planning, asked, usages)?;
    draft.is_exact &= best.is_exact;
    *usages = best.usages;
    let reasons = match best.refused {
        Some(((refusal, swap), hard)) => {
            let below_min = below_min(planning, draft, &best.placed);
            self::refused(planning, &hard, (&missing, below_min), (&refusal, swap), draft.is_exact)?
        }
        None => Reasons::default(),
    };
    add_new(planning, draft, &missing, best.places)?;
    Ok(reasons)
}

/// The wanted replicas by role, and the placed replicas with their further hosts. A replica that is placed without a
/// host, on a pool alone, counts after the roles, so that `n` is whole.
fn placed(planning: &Planning<'_>, draft: &Draft) -> (Vec<u32>, Vec<PlacedReplica>, Vec<FurtherHost>) {
    let (mut wanted, mut elsewhere) = (planning.wanted(), 0);
    let (mut placed, mut further): (Vec<PlacedReplica>, Vec<FurtherHost>) = (Vec::new(), Vec::new());
    for it in draft.kept.iter().filter(|it| it.replica.is_placed()) {
        match affinity::placed_on(it.role, placed.len(), &it.hosts) {
            Some((replica, its_further)) => {
                placed.push(replica);
                further.extend(its_further);
            }
            None => {
                wanted[it.role] -= 1;
                elsewhere += 1;
            }
        }
    }
    wanted.push(elsewhere);
    (wanted, placed, further)
}

/// The reason to refuse a request that places fewer replicas than the workload needs. A retry changes no wish, and
/// places all replicas that fit.
fn below_min(planning: &Planning<'_>, draft: &Draft, placed: &[PlacedReplica]) -> Option<Reason> {
    let put = &planning.job.put;
    let min = put.spec.min.filter(|_| !put.is_atomic && !put.is_retry)?;
    let hosts = planning.hosts(&planning.job.snapshot);
    let is_alive = |it: &&Kept| it.replica.is_placed() && hosts.is_alive(&it.replica, &it.hosts);
    let elsewhere = draft.kept.iter().filter(|it| it.hosts.is_empty()).filter(is_alive);
    let alive = (placed.iter().filter(|it| hosts.is_up(it.host)).count() + elsewhere.count()) as u32;
    let reason = || Reason {
        requested: Some(min.into()),
        free: Some(alive.into()),
        ..Reason::new(
            ReasonCode::Min,
            format!("At least {min} replicas are needed, and {alive} would be on hosts that are up."),
        )
    };
    (alive < min).then(reason)
}

/// Why replicas have no place.
///
/// # Errors
/// [`Error::NoPlace`] if the request is atomic, or if fewer replicas have a place than the workload needs.
fn refused(
    planning: &Planning<'_>,
    snapshot: &Snapshot,
    (missing, below_min): (&[u32], Option<Reason>),
    (refusal, swap): (&Refusal, Option<Swap>),
    is_exact: bool,
) -> Result<Reasons> {
    let found = (missing, &planning.rules[..planning.own_rules], refusal, swap);
    let (job, settings) = (planning.job, &planning.settings);
    let hosts = (&*planning.list, &*planning.eligible);
    let mut reasons = refusal::reasons(snapshot, hosts, job.roles(), found, settings)?;
    if !job.put.is_atomic && below_min.is_none() {
        return Ok(reasons);
    }
    below_min.into_iter().for_each(|reason| reasons.add(reason));
    Err(Error::NoPlace {
        refusal: Arc::new(NoPlace {
            missing: missing.iter().sum(),
            reasons,
            is_exact,
        }),
    })
}

/// Gives the missing replicas their ids, and the first replicas of each role a place.
///
/// # Errors
/// [`Error::BadRequest`] if too few of the caller's ids are free.
fn add_new(planning: &Planning<'_>, draft: &mut Draft, missing: &[u32], mut places: Places) -> Result<()> {
    let used: BTreeSet<String> = draft.kept.iter().map(|it| it.replica.row.id.clone()).collect();
    let (job, put, adopted) = (planning.job, &planning.job.put, draft.adopted());
    // An adopted consumer that leaves keeps the allocations, so no new replica takes the consumer over.
    let leaving = draft.gone.iter().filter(|it| it.row.is_adopted);
    let leaving: BTreeSet<String> = leaving.map(|it| it.row.consumer.clone()).collect();
    let is_taken = |id: &String| {
        ids::other_id(&adopted, &put.uuid, id).is_some()
            || !leaving.is_empty() && leaving.contains(&ids::consumer_of(&put.uuid, id))
    };
    let mut free = ids::free(put.ids.as_deref(), &used).filter(|id| !is_taken(id));
    for (role, missing) in missing.iter().enumerate() {
        let waits = |it: &&Kept| it.role == role && !it.replica.is_placed();
        let waiting = draft.kept.iter().filter(waits).count();
        for _ in waiting..*missing as usize {
            let Some(id) = free.next() else {
                return Err(Error::BadRequest {
                    detail: "ids: too few of them are free: replicas with the others would be consumers that were \
                             adopted. Name other ids, or leave `ids` out."
                        .to_owned(),
                });
            };
            let replica = pending(planning, draft, id, role);
            draft.kept.push(Kept {
                replica,
                role,
                hosts: Vec::new(),
                is_swapped: false,
            });
        }
    }
    draft.sort();
    places.iter_mut().for_each(|places| places.reverse());
    let first_new = draft.choices.len();
    for kept in draft.kept.iter_mut().filter(|it| !it.replica.is_placed()) {
        let Some((host, offered)) = places[kept.role].pop() else {
            continue;
        };
        let place = claim_candidate(&job.snapshot, &offered.candidate);
        // If the normal room is gone at the claim, a different host may have some. So the claim keeps the normal
        // limits, and the request is planned again.
        let limits = if offered.offer.over > 0 {
            Limits::NormalFirst
        } else {
            Limits::Normal
        };
        kept.replica.row.revision = planning.revision;
        let choice = planning.choice(&kept.replica, place.clone(), limits);
        draft.choices.push(choice);
        kept.replica.allocations = shares(&job.snapshot, &place);
        kept.hosts = vec![host];
    }
    // Places within the normal limits come first. Claimed last, these places would find the normal room taken.
    draft.choices[first_new..].sort_by_key(|choice| choice.limits == Limits::NormalFirst);
    Ok(())
}

/// A replica without a place. If a leaving replica has the same consumer, this consumer gets the new place.
fn pending(planning: &Planning<'_>, draft: &mut Draft, id: String, role: usize) -> Replica {
    let consumer = ids::consumer_of(&planning.job.put.uuid, &id);
    let before = draft.gone.iter().position(|it| it.row.consumer == consumer);
    let before = before.map(|at| draft.gone.swap_remove(at));
    Replica {
        row: ReplicaRow {
            id,
            consumer,
            role: planning.job.roles()[role].name.clone(),
            revision: planning.revision,
            is_adopted: false,
        },
        generation: before.and_then(|it| it.generation),
        allocations: Vec::new(),
    }
}
