//! Plans the changes of a request on one version of the snapshot. Pure: no SQL and no clock.
//!
//! 1. Replicas leave: the replicas left out by the caller, and from each role with too many replicas the choice of
//!    `placing`.
//! 2. Replicas on lost hosts give up their places, if the request says so.
//! 3. Replicas that exchange their roles get the amounts of the new role on their host.
//! 4. The missing replicas are placed. No further placed replica moves: a rule that is still broken is a violation.

mod attempts;
mod places;
mod set;
mod shares;
mod stock;
mod swap;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use self::shares::placements;
use super::eligible_hosts::EligibleHosts;
use super::hosts::HostList;
use super::planned::Planned;
use super::report::Report;
use super::spec::{ReadSpec, Role};
use super::time::{STEPS_A_REPLICA, too_long, whole};
use super::unfit::WorkloadHosts;
use super::{Found, Incarnation, Put, Replica, affinity, ids};
use crate::db::writer::RowNames;
use crate::error::{Error, Result};
use crate::model::allocations::{ConsumerClaim, Expected, Takeover};
use crate::model::claims::{Candidates, ClaimCandidate, ConsumerChoice, Limits, avoiding, negated};
use crate::placing::{self, Eligible, Rule, Standing, Workload};
use crate::search::{
    self, Candidate, Interrupt, Placement, PlannedUsage, ProviderState, Rank, SearchSettings, Snapshot,
};

/// A request in progress, with the search of the next plan. Clones share the data.
#[derive(Clone, Debug)]
pub struct PlanJob {
    pub snapshot: Arc<Snapshot>,
    pub put: Arc<Put>,
    pub found: Arc<Found>,
    /// Rows locked by concurrent transactions. The plan avoids the providers among these rows.
    pub held: Arc<RowNames>,
    pub settings: SearchSettings,
    /// Of a new workload.
    pub incarnation: Incarnation,
    pub read_spec: ReadSpec,
    /// How many plans the request has taken, the next plan included.
    pub attempts: u32,
}

/// A staying replica.
struct Kept {
    replica: Replica,
    role: usize,
    /// All hosts of the replica. Empty if the replica has no place, has allocations of pools alone, or has a place
    /// unknown to the snapshot.
    hosts: Vec<u32>,
    /// Whether the replica gets the amounts of a new role.
    is_swapped: bool,
}

/// The changes of a plan in progress.
#[derive(Default)]
struct Draft {
    kept: Vec<Kept>,
    gone: Vec<Replica>,
    /// The places that replicas on lost hosts give up. The replicas are kept without a place.
    given_up: Vec<Replica>,
    lost: BTreeMap<u32, ProviderState>,
    /// Replicas to place: new replicas, and replicas that exchange their roles.
    choices: Vec<ConsumerChoice>,
    is_exact: bool,
}

/// The usage with the changes of a plan: within the normal limits, and within the capacities.
#[derive(Clone)]
struct Usages {
    normal: PlannedUsage,
    hard: PlannedUsage,
    /// The usage above the normal limits and above the capacities, where replicas exchange their roles. An excess may
    /// stay if the exchange does not raise the usage.
    excess: [Vec<Placement>; 2],
}

/// The facts on which a plan rests.
struct Planning<'a> {
    job: &'a PlanJob,
    /// The roles by name. The names are looked up, so that no replica is compared with every name.
    roles: HashMap<&'a str, usize>,
    settings: SearchSettings,
    interrupt: &'a Interrupt,
    list: Arc<HostList>,
    /// The rules of the spec, followed by the rules of referrers.
    rules: Vec<Rule>,
    /// The number of rules of the spec.
    own_rules: usize,
    eligible: Arc<Eligible>,
    revision: i64,
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
    pub fn plan_around_held(&self, interrupt: &Interrupt) -> Result<Planned> {
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
        let roles = self.roles().iter().enumerate();
        let planning = Planning {
            rules,
            own_rules,
            eligible,
            revision: self.revision(),
            job: self,
            roles: roles.map(|(at, role)| (role.name.as_str(), at)).collect(),
            settings,
            interrupt,
            list,
        };
        let mut draft = stock::take(&planning)?;
        release(&planning, &mut draft);
        let mut usages = usages(&self.snapshot, &draft);
        swap::swap(&planning, &mut draft, &mut usages)?;
        let reasons = places::place(&planning, &mut draft, &mut usages)?;
        Ok(set::planned(&planning, draft, reasons, &usages.hard))
    }

    fn roles(&self) -> &[Role] {
        &self.put.spec.roles
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

impl Draft {
    /// The ids of adopted consumers, of staying and of leaving replicas.
    fn adopted(&self) -> HashMap<String, String> {
        let all = self.kept.iter().map(|it| &it.replica).chain(&self.gone);
        let adopted = all.map(|it| &it.row).filter(|it| it.is_adopted);
        adopted.map(|it| (it.consumer.clone(), it.id.clone())).collect()
    }

    /// Sorts the staying replicas by their ids.
    fn sort(&mut self) {
        self.kept
            .sort_by(|one, other| ids::natural_order(&one.replica.row.id, &other.replica.row.id));
    }
}

impl Usages {
    fn add(&mut self, placements: &[Placement]) {
        self.normal.add(placements);
        self.hard.add(placements);
    }
}

impl Planning<'_> {
    /// The state of a host whose replicas are placed again: lost, or unknown for longer than the spec allows.
    fn lost_state(&self, host: u32) -> Option<ProviderState> {
        let (snapshot, slot) = (&self.job.snapshot, self.list.slots[host as usize]);
        let state = snapshot.state(slot);
        let is_lost = match state {
            ProviderState::Lost => true,
            ProviderState::Unknown => self.job.found.long_unknown.contains(snapshot.uuid(slot)),
            ProviderState::Up | ProviderState::Draining | ProviderState::Off => false,
        };
        is_lost.then_some(state)
    }

    fn wanted(&self) -> Vec<u32> {
        self.job.roles().iter().map(|role| role.count).collect()
    }

    fn role(&self, name: &str) -> Option<usize> {
        self.roles.get(name).copied()
    }

    /// The hosts, with the data for the reasons of refusals.
    fn hosts<'a>(&'a self, snapshot: &'a Snapshot) -> WorkloadHosts<'a> {
        WorkloadHosts {
            snapshot,
            list: &self.list,
            eligible: &self.eligible,
            roles: self.job.roles(),
            settings: &self.settings,
        }
    }

    fn workload<'a>(&'a self, wanted: &'a [u32], standing: Standing<'a>) -> Workload<'a> {
        Workload {
            wanted,
            rules: &self.rules,
            quorum: self.job.put.spec.quorum,
            placed: standing.placed,
            further: standing.further,
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

    /// The best candidate for a role on a host: within the normal limits, else within the capacities.
    fn candidate_on(&self, host: u32, role: usize, usages: &mut Usages) -> Result<Option<Candidate>> {
        let (slot, role) = (self.list.slots[host as usize], &self.job.roles()[role]);
        let scoring = role.query.rank.and_then(Rank::scoring);
        for usage in [&mut usages.normal, &mut usages.hard] {
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

/// Releases replicas of each role with too many replicas.
fn release(planning: &Planning<'_>, draft: &mut Draft) {
    let (wanted, list) = (planning.wanted(), &planning.list);
    let has = |role: usize| draft.kept.iter().filter(|it| it.role == role).count();
    if (0..wanted.len()).all(|role| has(role) <= wanted[role] as usize) {
        return;
    }
    let snapshot = &planning.job.snapshot;
    let is_lost = |host: u32| {
        let state = snapshot.state(list.slots[host as usize]);
        matches!(state, ProviderState::Lost | ProviderState::Unknown)
    };
    let replicas = draft.kept.iter().map(|it| placing::Releasable {
        role: it.role,
        hosts: it.hosts.clone(),
        lost: it.hosts.first().is_some_and(|host| is_lost(*host)),
    });
    let replicas: Vec<placing::Releasable> = replicas.collect();
    let workload = planning.workload(&wanted, Standing::default());
    let (eligible, interrupt) = (&planning.eligible, planning.interrupt);
    let released = placing::release(&list.cluster, eligible, &workload, &replicas, interrupt);
    draft.is_exact &= released.is_exact;
    for at in released.gone.into_iter().rev() {
        draft.gone.push(draft.kept.remove(at).replica);
    }
}

/// The usage without the amounts given back by the request.
fn usages(snapshot: &Arc<Snapshot>, draft: &Draft) -> Usages {
    let normal = if snapshot.catalog().has_normal_limits() {
        Arc::new(snapshot.at_normal_limits())
    } else {
        Arc::clone(snapshot)
    };
    // An adopted consumer that leaves keeps the allocations.
    let gone = draft.gone.iter().filter(|it| !it.row.is_adopted);
    let swapped = draft.kept.iter().filter(|it| it.is_swapped).map(|it| &it.replica);
    let mut usages = Usages {
        normal: PlannedUsage::new(normal),
        hard: PlannedUsage::new(Arc::clone(snapshot)),
        excess: [Vec::new(), Vec::new()],
    };
    for replica in gone.chain(&draft.given_up) {
        usages.add(&negated(&placements(snapshot, replica)));
    }
    let swapped: Vec<Placement> = swapped.flat_map(|replica| placements(snapshot, replica)).collect();
    usages.excess = [&usages.normal, &usages.hard].map(|usage| usage.over_limits(&swapped));
    usages.add(&negated(&swapped));
    usages
}
