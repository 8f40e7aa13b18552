//! Replicas that exchange their roles: each replica gets the amounts of the new role, on the same host.

use std::sync::Arc;

use super::{Kept, Planning, shares};
use crate::error::{Error, NoPlace, Reason, ReasonCode, Result};
use crate::model::claims::{Limits, claim_candidate};
use crate::model::workloads::spec::Role;
use crate::model::workloads::unfit::Unfit;
use crate::placing::PlacedReplica;
use crate::search::{self, Candidate, PlannedUsage, Rank, Snapshot};

impl Planning<'_> {
    /// Gives replicas that exchange their roles the amounts of the new role, on the same host.
    ///
    /// # Errors
    /// [`Error::NoPlace`] if a host cannot serve the new role.
    pub fn swap(&mut self, normal: &mut PlannedUsage, hard: &mut PlannedUsage) -> Result<()> {
        for at in 0..self.kept.len() {
            let Kept {
                role,
                host,
                is_swapped: true,
                ..
            } = self.kept[at]
            else {
                continue;
            };
            let role = &self.job.put.spec.roles[role];
            let found = match host {
                Some(host) => self.candidate_on(host, role, [&mut *normal, &mut *hard])?,
                None => None,
            };
            let Some(candidate) = found else {
                return Err(Error::NoPlace {
                    refusal: Arc::new(NoPlace {
                        missing: 1,
                        reasons: self.no_swap(&self.kept[at], hard.snapshot()).into(),
                        is_exact: true,
                    }),
                });
            };
            normal.add(&candidate.placements);
            hard.add(&candidate.placements);
            let place = claim_candidate(&self.job.snapshot, &candidate);
            self.kept[at].replica.row.revision = self.revision;
            let choice = self.choice(&self.kept[at].replica, place.clone(), Limits::NormalFirst);
            self.choices.push(choice);
            self.kept[at].replica.allocations = shares(&self.job.snapshot, &place);
        }
        Ok(())
    }

    /// Why the host of a replica cannot serve the new role. In `hard`, amounts that replicas give back are free.
    fn no_swap(&self, kept: &Kept, hard: &Snapshot) -> Reason {
        let Kept {
            replica, role, host, ..
        } = kept;
        let (id, name) = (&replica.row.id, &self.job.put.spec.roles[*role].name);
        let Some(host) = *host else {
            let detail = format!("Replica {id} cannot get role {name}: it is not known where it stands.");
            return Reason::new(ReasonCode::NoCandidate, detail);
        };
        let slot = self.list.slots[host as usize];
        let of_host = |code, detail| Reason {
            resource_provider: Some(self.job.snapshot.uuid(slot).to_owned()),
            provider_name: Some(self.job.snapshot.name(slot).into()),
            ..Reason::new(code, detail)
        };
        if !self.eligible.is_eligible(host, *role) {
            let at = PlacedReplica { role: *role, host };
            let Unfit { code, class, host } = self.hosts(hard).unfit(at, replica);
            return Reason {
                resource_class: class,
                ..of_host(code, format!("Replica {id} cannot get role {name}: it is on {host}."))
            };
        }
        let detail = format!("The host of replica {id} has too little room for role {name}.");
        match self.hosts(hard).lack_of_room(*role, host, replica) {
            Some(lack) => Reason { detail, ..lack },
            None => of_host(ReasonCode::NoRoom, detail),
        }
    }

    /// The best candidate for a role on a host: within the normal limits, else within the capacities.
    pub fn candidate_on(&self, host: u32, role: &Role, usages: [&mut PlannedUsage; 2]) -> Result<Option<Candidate>> {
        let slot = self.list.slots[host as usize];
        let scoring = role.query.rank.and_then(Rank::scoring);
        for usage in usages {
            let snapshot = Arc::clone(usage.snapshot());
            let request = &role.query.request;
            let found = search::best_in_host(&snapshot, request, scoring, slot, &self.settings)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}
