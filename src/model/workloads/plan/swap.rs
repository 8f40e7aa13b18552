//! Replicas that exchange their roles: each gets what its new role needs, on the host where it stands.

use std::sync::Arc;

use super::{Kept, Planning, shares};
use crate::error::{Error, NoPlace, Reason, ReasonCode, Result};
use crate::model::claims::{Limits, claim_candidate};
use crate::model::workloads::wish::Role;
use crate::search::{self, Candidate, PlannedUsage, Rank};

impl Planning<'_> {
    /// Gives replicas that exchange their roles what the new role needs, on their host.
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
            let role = &self.job.roles[role];
            let found = match host {
                Some(host) => self.candidate_on(host, role, [&mut *normal, &mut *hard])?,
                None => None,
            };
            let id = &self.kept[at].replica.row.id;
            let Some(candidate) = found else {
                let detail = format!(
                    "The host of replica {id} has too little room for role {}, or is not what the role asks for.",
                    role.name
                );
                return Err(Error::NoPlace {
                    refusal: Arc::new(NoPlace {
                        missing: 1,
                        reasons: Reason::new(ReasonCode::NoRoom, detail).into(),
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
            self.kept[at].replica.allocations = shares(&place);
        }
        Ok(())
    }

    /// The best candidate for a role on one host: within the normal limits, else within the capacities.
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
