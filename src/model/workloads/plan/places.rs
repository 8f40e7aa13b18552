//! Places for the missing replicas.
//!
//! `placing` chooses hosts by the offer of each host alone. Replicas on different hosts may need room of the same
//! sharing provider, so the places of a choice are taken one after the other. If a place is gone, the replica gets a
//! different place on the same host. If there is none, the replica is placed again, beside the other replicas. A better
//! choice may exist in this case, and a refusal is no proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Planning;
use crate::error::{Error, NoPlace, Reasons, Result};
use crate::model::workloads::host_offers::{HostOffers, Offered};
use crate::model::workloads::time::too_long;
use crate::model::workloads::{admission, refusal};
use crate::placing::{self, Effort, Offer, Placed, PlacedReplica, Refusal};
use crate::search::{PlannedUsage, Snapshot};

/// A new replica's place.
struct Place {
    host: u32,
    role: usize,
    offered: Offered,
}

impl Planning<'_> {
    /// Places the missing replicas. Returns why some have no place.
    pub fn place(&mut self, mut normal: PlannedUsage, mut hard: PlannedUsage) -> Result<Reasons> {
        let (wanted, mut placed) = self.placed();
        let missing = missing(&wanted, &placed);
        if missing.iter().all(|count| *count == 0) {
            return Ok(Reasons::default());
        }
        let roles = &self.job.put.spec.roles;
        if self.job.put.is_atomic {
            admission::check(
                normal.snapshot(),
                (&self.list, &self.eligible),
                roles,
                &missing,
                self.interrupt,
            )?;
        }
        let mut places: Vec<Vec<(u32, Offered)>> = vec![Vec::new(); wanted.len()];
        let refused = loop {
            let snapshots = [Arc::clone(normal.snapshot()), Arc::clone(hard.snapshot())];
            let (chosen, refusal) = self.choose(&snapshots, &wanted, &placed)?;
            let refused = refusal.map(|refusal| (refusal, snapshots));
            if self.interrupt.has_ended() {
                return Err(too_long());
            }
            if self.job.put.is_atomic && refused.is_some() {
                break refused;
            }
            let count = chosen.len();
            let taken = self.take(chosen, [&mut normal, &mut hard])?;
            let is_last = taken.len() == count;
            for Place { host, role, offered } in taken {
                placed.push(PlacedReplica { role, host });
                places[role].push((host, offered));
            }
            if is_last {
                break refused;
            }
            self.is_exact = false;
        };
        let reasons = match refused {
            Some((refusal, [_, hard])) => self.refused(&hard, &missing, &refusal)?,
            None => Reasons::default(),
        };
        self.add_new(&missing, places)?;
        Ok(reasons)
    }

    /// The wanted replicas by role, and the placed replicas. A replica at a place that the snapshot does not know is
    /// left out of both, and not judged.
    fn placed(&self) -> (Vec<u32>, Vec<PlacedReplica>) {
        let mut wanted = self.wanted();
        let mut placed: Vec<PlacedReplica> = Vec::new();
        for it in self.kept.iter().filter(|it| it.replica.is_placed()) {
            match it.host {
                Some(host) => placed.push(PlacedReplica { role: it.role, host }),
                None => wanted[it.role] -= 1,
            }
        }
        (wanted, placed)
    }

    /// Chooses hosts by the offer of each host alone, within the normal limits and within the capacities.
    fn choose(
        &mut self,
        [normal, hard]: &[Arc<Snapshot>; 2],
        wanted: &[u32],
        placed: &[PlacedReplica],
    ) -> Result<(Vec<Place>, Option<Refusal>)> {
        let missing = missing(wanted, placed);
        let offers = HostOffers::new(
            [normal, hard],
            &self.list,
            &self.job.put.spec.roles,
            &missing,
            &self.settings,
        )?;
        let effort = Effort {
            atomic: self.job.put.is_atomic,
            seed: self.settings.seed,
            budget: Effort::BUDGET,
            interrupt: self.interrupt.clone(),
        };
        let hosts = (&self.list.cluster, &*self.eligible);
        let answer = placing::place(hosts, &offers, &self.workload(wanted, placed), &effort);
        if self.interrupt.has_ended() {
            return Err(too_long());
        }
        let places = places(&offers, &answer)?;
        self.is_exact &= offers.is_exact() && answer.is_exact;
        Ok((places, answer.refusal))
    }

    /// Takes places one after the other. Returns the first place, and all places for which the host still has room.
    fn take(&self, chosen: Vec<Place>, [normal, hard]: [&mut PlannedUsage; 2]) -> Result<Vec<Place>> {
        if !hard.snapshot().has_sharing() {
            return Ok(chosen);
        }
        let mut taken = Vec::with_capacity(chosen.len());
        for place in chosen {
            let Place { host, role, offered } = place;
            let usage = if offered.offer.over > 0 { &*hard } else { &*normal };
            let offered = if usage.has_room(&offered.candidate.placements) {
                Some(offered)
            } else {
                let found = self.candidate_on(host, &self.job.put.spec.roles[role], [&mut *normal, &mut *hard])?;
                found.map(|candidate| {
                    let over = normal.added_over(&candidate.placements);
                    let offer = Offer { over, ..offered.offer };
                    Offered { offer, candidate }
                })
            };
            if let Some(offered) = offered {
                normal.add(&offered.candidate.placements);
                hard.add(&offered.candidate.placements);
                taken.push(Place { host, role, offered });
            }
        }
        Ok(taken)
    }

    /// Why replicas have no place.
    ///
    /// # Errors
    /// [`Error::NoPlace`] if the request is atomic.
    fn refused(&self, snapshot: &Snapshot, missing: &[u32], refusal: &Refusal) -> Result<Reasons> {
        let found = (missing, &self.rules[..self.own_rules], refusal);
        let reasons = refusal::reasons(snapshot, &self.list, &self.job.put.spec.roles, found, &self.settings)?;
        if !self.job.put.is_atomic {
            return Ok(reasons);
        }
        Err(Error::NoPlace {
            refusal: Arc::new(NoPlace {
                missing: missing.iter().sum(),
                reasons,
                is_exact: self.is_exact,
            }),
        })
    }
}

/// How many replicas of each role are wanted and are not placed.
fn missing(wanted: &[u32], placed: &[PlacedReplica]) -> Vec<u32> {
    let mut missing = wanted.to_vec();
    placed.iter().for_each(|it| missing[it.role] -= 1);
    missing
}

/// The places of new replicas.
///
/// # Errors
/// [`Error::Internal`] if the search for a candidate does not find the place whose cost was known.
fn places(offers: &HostOffers<'_>, placed: &Placed) -> Result<Vec<Place>> {
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
        places.extend(offered.map(|(role, offered)| Place { host, role, offered }));
    }
    Ok(places)
}
