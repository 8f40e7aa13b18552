//! Replicas that exchange their roles: each replica gets the amounts of the new role, on the same host.

use std::sync::Arc;

use super::shares::shares;
use super::{Draft, Kept, Planning, Usages};
use crate::error::{Error, NoPlace, Reason, ReasonCode, Result};
use crate::model::claims::{Limits, claim_candidate, negated};
use crate::model::workloads::unfit::Unfit;
use crate::placing::PlacedReplica;
use crate::search::Snapshot;

/// Gives replicas that exchange their roles the amounts of the new role, on the same host.
///
/// # Errors
/// [`Error::NoPlace`] if a host cannot serve the new role.
pub fn swap(planning: &Planning<'_>, draft: &mut Draft, usages: &mut Usages) -> Result<()> {
    let snapshot = &planning.job.snapshot;
    // Without the excess, the amounts of the replicas fit again, and no more.
    let [normal, hard] = usages.excess.clone();
    usages.normal.add(&negated(&normal));
    usages.hard.add(&negated(&hard));
    for kept in draft.kept.iter_mut().filter(|it| it.is_swapped) {
        let found = match kept.hosts.first().copied() {
            Some(host) => planning.candidate_on(host, kept.role, usages)?,
            None => None,
        };
        let Some(candidate) = found else {
            return Err(Error::NoPlace {
                refusal: Arc::new(NoPlace {
                    missing: 1,
                    reasons: no_swap(planning, kept, usages.hard.snapshot()).into(),
                    is_exact: true,
                }),
            });
        };
        usages.add(&candidate.placements);
        let place = claim_candidate(snapshot, &candidate);
        kept.replica.row.revision = planning.revision;
        let choice = planning.choice(&kept.replica, place.clone(), Limits::NormalFirst);
        draft.choices.push(choice);
        kept.replica.allocations = shares(snapshot, &place);
        // The claim replaces the allocations on further hosts.
        kept.hosts.truncate(1);
    }
    usages.normal.add(&normal);
    usages.hard.add(&hard);
    Ok(())
}

/// Why the host of a replica cannot serve the new role. In `hard`, amounts that replicas give back are free.
fn no_swap(planning: &Planning<'_>, kept: &Kept, hard: &Snapshot) -> Reason {
    let job = planning.job;
    let Kept {
        replica, role, hosts, ..
    } = kept;
    let (id, name) = (&replica.row.id, &job.roles()[*role].name);
    let Some(&host) = hosts.first() else {
        let detail = format!("Replica {id} cannot get role {name}: it is not known where it stands.");
        return Reason::new(ReasonCode::NoCandidate, detail);
    };
    let slot = planning.list.slots[host as usize];
    let of_host = |code, detail| Reason {
        resource_provider: Some(job.snapshot.uuid(slot).to_owned()),
        provider_name: Some(job.snapshot.name(slot).into()),
        ..Reason::new(code, detail)
    };
    if !planning.eligible.is_eligible(host, *role) {
        let at = PlacedReplica { role: *role, host };
        let Unfit { code, class, host } = planning.hosts(hard).unfit(at, replica);
        return Reason {
            resource_class: class,
            ..of_host(code, format!("Replica {id} cannot get role {name}: it is on {host}."))
        };
    }
    let detail = format!("The host of replica {id} has too little room for role {name}.");
    match planning.hosts(hard).lack_of_room(*role, host, replica) {
        Some(lack) => Reason { detail, ..lack },
        None => of_host(ReasonCode::NoRoom, detail),
    }
}
