//! Plans the changes of a request on one version of the snapshot. Pure: no SQL and no clock.
//!
//! 1. Replicas leave: replicas that the caller leaves out, and of each role with too many the choice of `placing`.
//! 2. Replicas that exchange their roles get the amounts of the new role on their host.
//! 3. The missing replicas are placed. No other replica moves: a rule that is still broken is a violation.

mod places;
mod set;
mod shares;
mod stock;
mod swap;

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use self::shares::{placements, shares};
use super::eligible_hosts::EligibleHosts;
use super::host_offers::Offered;
use super::hosts::HostList;
use super::planned::Planned;
use super::report::Report;
use super::time::{STEPS_A_REPLICA, too_long, whole};
use super::unfit::Hosts;
use super::{Found, Put, Replica, ReplicaRow, affinity, ids};
use crate::db::writer::RowNames;
use crate::error::{Error, Result};
use crate::model::allocations::{ConsumerClaim, Expected, Takeover};
use crate::model::claims::{Candidates, ClaimCandidate, ConsumerChoice, Limits, avoiding, claim_candidate, negated};
use crate::placing::{self, Eligible, PlacedReplica, Rule, Workload};
use crate::search::{Interrupt, PlannedUsage, ProviderState, SearchSettings, Snapshot};

/// The search for a request. Clones share the data.
#[derive(Clone, Debug)]
pub struct PlanJob {
    pub snapshot: Arc<Snapshot>,
    pub put: Arc<Put>,
    pub found: Arc<Found>,
    /// Rows locked by other transactions. The plan avoids the providers among these rows.
    pub held: Arc<RowNames>,
    pub settings: SearchSettings,
}

/// A replica that stays.
struct Kept {
    replica: Replica,
    role: usize,
    /// `None` if the replica has no place, or if the snapshot does not know the place.
    host: Option<u32>,
    /// Whether the replica gets the amounts of another role.
    is_swapped: bool,
}

/// A plan in progress.
struct Planning<'a> {
    job: &'a PlanJob,
    /// The roles by name. The names are looked up, so that no replica is compared with every name.
    roles: HashMap<&'a str, usize>,
    /// The ids, if the caller names all ids.
    ids: Option<BTreeSet<&'a str>>,
    /// The ids whose replicas exchange their roles.
    swapped: BTreeSet<&'a str>,
    settings: SearchSettings,
    interrupt: &'a Interrupt,
    list: Arc<HostList>,
    /// The rules of the spec, and after these the rules of other workloads.
    rules: Vec<Rule>,
    /// The number of rules of the spec.
    own_rules: usize,
    eligible: Arc<Eligible>,
    revision: i64,
    kept: Vec<Kept>,
    gone: Vec<Replica>,
    /// Replicas that get a place: new replicas, and replicas that exchange their roles.
    choices: Vec<ConsumerChoice>,
    is_exact: bool,
}

impl PlanJob {
    /// Decides. The providers of the snapshot count as steps of `interrupt` before the first look at a provider.
    ///
    /// Held providers are avoided, unless no replica has a place without held providers, or the request is atomic and a
    /// replica has none.
    ///
    /// # Errors
    /// - [`Error::Busy`] if `interrupt` ended the plan, whatever was found by then.
    /// - [`Error::NoPlace`], [`Error::NoCapacity`] if the request is atomic and replicas have no place.
    /// - [`Error::BadRequest`] for ids and consumers that the workload cannot have. Errors of the search.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Planned> {
        if let Some(snapshot) = avoiding(&self.snapshot, &self.held) {
            let job = PlanJob {
                snapshot,
                ..self.clone()
            };
            match whole(&job.snapshot, interrupt, || job.plan(interrupt)) {
                Err(Error::NoPlace { .. } | Error::NoCapacity { .. }) => {}
                Ok(planned) if planned.report.reasons.is_empty() => return Ok(planned),
                // The reasons must not rest on a lock.
                Ok(planned) if !planned.set.placed.is_empty() => {
                    let with_held = whole(&self.snapshot, interrupt, || self.plan(interrupt))?;
                    let reasons = with_held.report.reasons;
                    let report = Report {
                        reasons,
                        ..planned.report
                    };
                    return Ok(Planned { report, ..planned });
                }
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        whole(&self.snapshot, interrupt, || self.plan(interrupt))
    }

    fn plan(&self, interrupt: &Interrupt) -> Result<Planned> {
        let spec = &self.put.spec;
        let mut dimensions = spec.dimensions();
        dimensions.extend(self.found.referrers.iter().flat_map(|(_, spec)| spec.dimensions()));
        dimensions.sort_unstable();
        dimensions.dedup();
        let settings = SearchSettings {
            interrupt: interrupt.clone(),
            // So the workload gets the places of an earlier dry run.
            seed: hash(&self.put.uuid),
            ..self.settings.clone()
        };
        // A retry repeats the stored spec. If a dimension is gone, no host is eligible.
        if !self.put.is_retry {
            affinity::check_dimensions(&self.snapshot, spec)?;
        }
        let EligibleHosts { list, eligible } =
            EligibleHosts::of(&self.snapshot, (spec, &dimensions), &settings, false)?;
        let mut rules = affinity::rules(&self.snapshot, &list, spec, &self.found.others);
        let own_rules = rules.len();
        let uuid = &self.put.uuid;
        rules.extend(affinity::rules_of_referrers(
            &self.snapshot,
            &list,
            uuid,
            &self.found.referrers,
            &self.found.others,
            interrupt,
        )?);
        let stored = self.found.stored.iter().map(|it| it.replicas.len()).sum::<usize>() + self.found.adopted.len();
        if interrupt.count(u64::from(spec.count()).max(stored as u64) * STEPS_A_REPLICA) {
            return Err(too_long());
        }
        let (roles, ids) = (spec.roles.iter().enumerate(), self.put.ids.as_ref());
        let mut planning = Planning {
            rules,
            own_rules,
            eligible,
            revision: self.revision(),
            job: self,
            roles: roles.map(|(at, role)| (role.name.as_str(), at)).collect(),
            ids: ids.map(|ids| ids.iter().map(String::as_str).collect()),
            swapped: self.put.swaps.iter().flatten().map(String::as_str).collect(),
            settings,
            interrupt,
            list,
            kept: Vec::new(),
            gone: Vec::new(),
            choices: Vec::new(),
            is_exact: true,
        };
        planning.take_stock()?;
        planning.release();
        let (mut normal, mut hard) = planning.usage();
        planning.swap(&mut normal, &mut hard)?;
        let reasons = planning.place(normal, hard)?;
        Ok(planning.into_planned(reasons))
    }

    fn revision(&self) -> i64 {
        match (&self.found.stored, &self.found.stored_spec) {
            (Some(stored), Some(spec)) => {
                let is_same = spec.is_same_revision(&self.put.spec);
                stored.row.revision + i64::from(!is_same)
            }
            (Some(stored), None) => stored.row.revision + 1,
            _ => 1,
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Planning<'_> {
    fn wanted(&self) -> Vec<u32> {
        self.job.put.spec.roles.iter().map(|role| role.count).collect()
    }

    fn role(&self, name: &str) -> Option<usize> {
        self.roles.get(name).copied()
    }

    /// Releases replicas of each role that has more than the wanted number.
    fn release(&mut self) {
        let wanted = self.wanted();
        let has = |role: usize| self.kept.iter().filter(|it| it.role == role).count();
        if (0..wanted.len()).all(|role| has(role) <= wanted[role] as usize) {
            return;
        }
        let is_lost = |host: u32| self.job.snapshot.state(self.list.slots[host as usize]) == ProviderState::Lost;
        let replicas = self.kept.iter().map(|it| placing::Replica {
            role: it.role,
            host: it.host,
            lost: it.host.is_some_and(is_lost),
        });
        let replicas: Vec<placing::Replica> = replicas.collect();
        let workload = self.workload(&wanted, &[]);
        let released = placing::release(&self.list.cluster, &self.eligible, &workload, &replicas, self.interrupt);
        self.is_exact &= released.is_exact;
        for at in released.gone.into_iter().rev() {
            self.gone.push(self.kept.remove(at).replica);
        }
    }

    /// The hosts, with the data for the reasons of refusals.
    fn hosts<'a>(&'a self, snapshot: &'a Snapshot) -> Hosts<'a> {
        Hosts {
            snapshot,
            list: &self.list,
            eligible: &self.eligible,
            roles: &self.job.put.spec.roles,
            settings: &self.settings,
        }
    }

    fn workload<'a>(&'a self, wanted: &'a [u32], placed: &'a [PlacedReplica]) -> Workload<'a> {
        Workload {
            wanted,
            rules: &self.rules,
            quorum: self.job.put.spec.quorum,
            placed,
        }
    }

    /// The usage within the normal limits, and within the capacities, without the amounts that this request gives back.
    fn usage(&self) -> (PlannedUsage, PlannedUsage) {
        let snapshot = &self.job.snapshot;
        let normal = if snapshot.catalog().has_normal_limits() {
            Arc::new(snapshot.at_normal_limits())
        } else {
            Arc::clone(snapshot)
        };
        // An adopted consumer that leaves keeps the allocations.
        let gone = self.gone.iter().filter(|it| !it.row.is_adopted);
        let swapped = self.kept.iter().filter(|it| it.is_swapped).map(|it| &it.replica);
        let (mut normal, mut hard) = (PlannedUsage::new(normal), PlannedUsage::new(Arc::clone(snapshot)));
        for replica in gone.chain(swapped) {
            let back = negated(&placements(snapshot, replica));
            normal.add(&back);
            hard.add(&back);
        }
        (normal, hard)
    }

    /// Gives the missing replicas their ids, and the first replicas of each role a place.
    ///
    /// # Errors
    /// [`Error::BadRequest`] if too few of the caller's ids are free.
    fn add_new(&mut self, missing: &[u32], mut places: Vec<Vec<(u32, Offered)>>) -> Result<()> {
        let used: BTreeSet<String> = self.kept.iter().map(|it| it.replica.row.id.clone()).collect();
        let (put, adopted) = (&self.job.put, self.adopted());
        // An adopted consumer that leaves keeps the allocations, so no new replica takes the consumer over.
        let leaving = self.gone.iter().filter(|it| it.row.is_adopted);
        let leaving: BTreeSet<String> = leaving.map(|it| it.row.consumer.clone()).collect();
        let is_taken = |id: &String| {
            ids::other_id(&adopted, &put.uuid, id).is_some()
                || !leaving.is_empty() && leaving.contains(&ids::consumer_of(&put.uuid, id))
        };
        let mut free = ids::free(put.ids.as_deref(), &used).filter(|id| !is_taken(id));
        for (role, missing) in missing.iter().enumerate() {
            let waiting = self.kept.iter().filter(|it| it.role == role && !it.replica.is_placed());
            let waiting = waiting.count();
            for _ in waiting..*missing as usize {
                let Some(id) = free.next() else {
                    return Err(Error::BadRequest {
                        detail: "ids: too few of them are free: replicas with the others would be consumers that were \
                                 adopted. Name other ids, or leave `ids` out."
                            .to_owned(),
                    });
                };
                let replica = self.pending(id, role);
                self.kept.push(Kept {
                    replica,
                    role,
                    host: None,
                    is_swapped: false,
                });
            }
        }
        self.kept
            .sort_by(|one, other| ids::natural_order(&one.replica.row.id, &other.replica.row.id));
        places.iter_mut().for_each(|places| places.reverse());
        let first_new = self.choices.len();
        for at in 0..self.kept.len() {
            if self.kept[at].replica.is_placed() {
                continue;
            }
            let Some((host, offered)) = places[self.kept[at].role].pop() else {
                continue;
            };
            let place = claim_candidate(&self.job.snapshot, &offered.candidate);
            // If the normal room is gone at the claim, a different host may have some. So the claim keeps the normal
            // limits, and the request is planned again.
            let limits = if offered.offer.over > 0 {
                Limits::NormalFirst
            } else {
                Limits::Normal
            };
            self.kept[at].replica.row.revision = self.revision;
            let choice = self.choice(&self.kept[at].replica, place.clone(), limits);
            self.choices.push(choice);
            self.kept[at].replica.allocations = shares(&self.job.snapshot, &place);
            self.kept[at].host = Some(host);
        }
        // Places within the normal limits come first. Claimed last, these places would find the normal room taken.
        self.choices[first_new..].sort_by_key(|choice| choice.limits == Limits::NormalFirst);
        Ok(())
    }

    /// A replica without a place. If a leaving replica has the same consumer, this consumer gets the new place.
    fn pending(&mut self, id: String, role: usize) -> Replica {
        let consumer = ids::consumer_of(&self.job.put.uuid, &id);
        let before = self.gone.iter().position(|it| it.row.consumer == consumer);
        let before = before.map(|at| self.gone.swap_remove(at));
        Replica {
            row: ReplicaRow {
                id,
                consumer,
                role: self.job.put.spec.roles[role].name.clone(),
                revision: self.revision,
                is_adopted: false,
            },
            generation: before.and_then(|it| it.generation),
            allocations: Vec::new(),
        }
    }

    fn choice(&self, replica: &Replica, place: ClaimCandidate, limits: Limits) -> ConsumerChoice {
        let put = &self.job.put;
        ConsumerChoice {
            claim: ConsumerClaim {
                consumer: replica.row.consumer.clone(),
                allocations: Vec::new(),
                owner: Some(put.owner.clone()),
                generation: replica.generation.map_or(Expected::New, Expected::Is),
                takeover: Takeover::OwnProject,
                consumer_type: Some(put.spec.consumer_type.clone()),
            },
            candidates: Candidates::all(Arc::new([place])),
            limits,
            is_required: true,
        }
    }
}
