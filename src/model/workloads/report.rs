//! A workload as clients see the state: the hosts of the replicas, the modes of the rules, and the violations.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::eligible_hosts::{EligibleHosts, known_dimensions};
use super::spec::{DEFAULT_DIMENSIONS, HOST, Spec, SpecRule};
use super::time::{STEPS_A_REPLICA, whole};
use super::unfit::{Hosts, Unfit};
use super::{Neighbourhood, Replica, SetAnswer, StoredWorkload, WorkloadRow, affinity, placed_and_pending};
use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::model::overuse::Limits;
use crate::placing::{self, AffinityKind, Axis, Broken, FurtherHost, Level, Mode, PlacedReplica, Rule, Workload};
use crate::search::{Interrupt, ProviderState, SearchSettings, Slot, Snapshot};

/// A workload with its state.
#[derive(Debug, Clone)]
pub struct Report {
    pub row: WorkloadRow,
    /// In natural order of their ids.
    pub replicas: Vec<ShownReplica>,
    /// Of each rule `spread`, by dimension.
    pub spread: Vec<SpreadReport>,
    /// Whether the majority is alive, and stays alive without any one domain.
    pub safety: SafetyReport,
    pub violations: Vec<Violation>,
    /// What the caller may not expect: dimensions of hosts that the default rule does not use.
    pub notes: Vec<String>,
    /// Why pending replicas got no place; empty unless a request has just tried.
    pub reasons: Reasons,
    /// False if a search was given up, so a better answer may exist.
    pub is_exact: bool,
    /// The changes by the write that the report answers.
    pub change: Change,
}

impl Report {
    /// How many replicas have a place, and how many lack a place.
    pub fn placed_and_pending(&self) -> (usize, usize) {
        placed_and_pending(self.replicas.iter().map(|shown| &shown.replica))
    }

    /// The report with the writer's answer: generations, and classes over normal limits.
    pub fn with_claimed(mut self, claimed: &SetAnswer) -> Report {
        let by_consumer: HashMap<&str, _> = claimed.iter().map(|it| (it.consumer.as_str(), it)).collect();
        for shown in &mut self.replicas {
            if let Some(claimed) = by_consumer.get(shown.replica.row.consumer.as_str()) {
                shown.replica.generation = Some(claimed.generation);
                shown.replica.allocations.clone_from(&claimed.providers);
                shown.over_normal.clone_from(&claimed.over_normal);
            }
        }
        self
    }
}

/// Replicas that got a place from a write, and replicas that lost a place. A dry run changes nothing.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Uuids of consumers.
    pub placed: Vec<String>,
    pub released: usize,
}

/// A replica with its host.
#[derive(Debug, Clone)]
pub struct ShownReplica {
    pub replica: Replica,
    /// All hosts of the replica. Empty if the replica is pending.
    pub hosts: Vec<ShownHost>,
    /// The classes of which the replica has just taken more than the normal limit.
    pub over_normal: Vec<String>,
}

impl ShownReplica {
    /// The first host: the uuid. `None` if the replica is pending.
    pub fn host(&self) -> Option<&str> {
        self.hosts.first().map(|host| host.uuid.as_str())
    }
}

/// A host of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownHost {
    pub uuid: String,
    pub name: Arc<str>,
}

/// The present meaning of a rule `spread` in a dimension.
#[derive(Debug, Clone)]
pub struct SpreadReport {
    pub rule: usize,
    pub level: Level,
    pub dimension: String,
    pub mode: Mode,
    /// Domains with an eligible host, at the first level with several.
    pub domains: u32,
    /// The most replicas that a domain may hold; `None` without domains.
    pub limit: Option<u32>,
    /// By path; in the dimension [`HOST`] by the uuid of the host.
    pub counts: BTreeMap<Arc<str>, u32>,
}

/// Whether the majority of the replicas is alive, and what takes the majority. A replica is alive on a host that is up.
#[derive(Debug, Clone, Default)]
pub struct SafetyReport {
    /// Whether a majority is alive outside of each domain. `None` without quorum, with less than two replicas, or
    /// without a rule that compares domains.
    pub is_safe: Option<bool>,
    /// Whether less than a majority is alive. `None` without quorum or without wanted replicas.
    pub is_quorum_lost: Option<bool>,
    /// By dimension of the rules `spread`.
    pub survives: Vec<SurvivesReport>,
}

/// The fewest failures in one dimension after which no majority is alive. 0 if the majority is lost already.
#[derive(Debug, Clone)]
pub struct SurvivesReport {
    pub dimension: String,
    /// The fewest domains. `None` if the loss of all domains leaves a majority.
    pub domains: Option<u32>,
    /// The fewest domains and single replicas together.
    pub failures: u32,
}

/// A rule that is broken now.
#[derive(Debug, Clone)]
pub struct Violation {
    pub level: Level,
    /// `requested` is the present number of replicas, `free` the allowed number.
    pub reason: Reason,
    /// The ids of the replicas that break the rule.
    pub replicas: Vec<String>,
    /// Uuids of the first [`NAMED_REPLICAS`] replicas, and of all their hosts, each once.
    pub consumers: Vec<String>,
    pub hosts: Vec<String>,
    /// The names of `hosts`, in their order.
    pub host_names: Vec<Arc<str>>,
}

/// A look at this many allocations counts as a step.
const SHARES_A_STEP: u64 = 16;

/// The most dimensions in a note.
const NAMED_DIMENSIONS: usize = 15;

/// Of how many replicas a violation has consumers and hosts.
const NAMED_REPLICAS: usize = 15;

/// A stored workload to judge. Clones share the data.
#[derive(Clone)]
pub struct ReportJob {
    pub snapshot: Arc<Snapshot>,
    pub found: Arc<Neighbourhood>,
    pub spec: Arc<Spec>,
    pub settings: SearchSettings,
}

impl ReportJob {
    /// Judges. The providers of the snapshot count as steps of `interrupt` before the first look at a provider.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if `interrupt` ended the judgement. Errors of the search.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Report> {
        let settings = SearchSettings {
            interrupt: interrupt.clone(),
            ..self.settings.clone()
        };
        let Neighbourhood { workload, others } = &*self.found;
        let judge = || judge(&self.snapshot, (workload, &self.spec), others, &settings);
        whole(&self.snapshot, interrupt, judge)
    }
}

/// Judges a stored workload. `others` are the workloads that the rules name.
///
/// # Errors
/// Of the search.
pub fn judge(
    snapshot: &Snapshot,
    (stored, spec): (&StoredWorkload, &Spec),
    others: &HashMap<String, StoredWorkload>,
    settings: &SearchSettings,
) -> Result<Report> {
    let dimensions = spec.dimensions();
    let EligibleHosts { list, eligible } = EligibleHosts::of(snapshot, (spec, &dimensions), settings, true)?;
    let hosts = stored.replicas.iter().map(|it| affinity::hosts_of(snapshot, &list, it));
    let hosts: Vec<Vec<u32>> = hosts.collect();
    let reported = Reported {
        hosts: Hosts {
            snapshot,
            list: &list,
            eligible: &eligible,
            roles: &spec.roles,
            settings,
        },
        rules: &affinity::rules(snapshot, &list, spec, others),
        spec,
        others,
    };
    Ok(reported.report(stored.row.clone(), &stored.replicas, &hosts))
}

/// The data of a report.
pub struct Reported<'a> {
    pub hosts: Hosts<'a>,
    pub rules: &'a [Rule],
    pub spec: &'a Spec,
    /// The workloads that the rules name.
    pub others: &'a HashMap<String, StoredWorkload>,
}

impl Reported<'_> {
    /// `hosts` has the hosts of each replica. After the interrupt of the settings is set the report comes soon, and
    /// means nothing.
    pub fn report(&self, row: WorkloadRow, replicas: &[Replica], hosts: &[Vec<u32>]) -> Report {
        let roles = self.spec.roles.iter().enumerate();
        let roles: HashMap<&str, usize> = roles.map(|(at, role)| (role.name.as_str(), at)).collect();
        let mut judged: Vec<usize> = Vec::new();
        let (mut placed, mut further): (Vec<PlacedReplica>, Vec<FurtherHost>) = (Vec::new(), Vec::new());
        let standing = replicas.iter().zip(hosts).enumerate();
        for (at, (replica, hosts)) in standing.filter(|(_, (replica, _))| replica.is_placed()) {
            let role = roles.get(replica.row.role.as_str()).copied();
            let found = role.and_then(|role| affinity::placed_on(role, placed.len(), hosts));
            if let Some((replica, its_further)) = found {
                placed.push(replica);
                further.extend(its_further);
                judged.push(at);
            }
        }
        let wanted: Vec<u32> = self.spec.roles.iter().map(|role| role.count).collect();
        let workload = Workload {
            wanted: &wanted,
            rules: self.rules,
            quorum: self.spec.quorum,
            placed: &placed,
            further: &further,
        };
        let is_alive = |at: &usize| hosts[*at].iter().any(|host| self.hosts.is_up(*host));
        let alive: Vec<bool> = judged.iter().map(is_alive).collect();
        let interrupt = &self.hosts.settings.interrupt;
        interrupt.count(replicas.len() as u64 * STEPS_A_REPLICA);
        let hosts_of = (&self.hosts.list.cluster, self.hosts.eligible);
        let judgement = placing::judge(hosts_of, &workload, &alive, interrupt);
        let violations = judgement.violations.iter();
        let violations = violations.take_while(|it| !interrupt.count(it.replicas.len() as u64));
        let violations = violations.map(|it| {
            let at: Vec<usize> = it.replicas.iter().map(|at| judged[*at]).collect();
            let ids: Vec<String> = at.iter().map(|at| replicas[*at].row.id.clone()).collect();
            let (level, reason) = match it.rule {
                Broken::NotEligible => {
                    let role = placed[it.replicas[0]].role;
                    let host = it.domain.0;
                    self.not_eligible(PlacedReplica { role, host }, &replicas[at[0]], &ids)
                }
                _ => self.broken_rule(it, &ids),
            };
            self.violation((level, reason), &at, (replicas, hosts))
        });
        let judged_as = judged.iter().zip(&placed).map(|(at, placed)| (*at, placed.role));
        let of_all = self.not_up(replicas, hosts, judged_as).into_iter();
        let of_all = of_all.chain(self.overuses(replicas, hosts)).chain(self.below_min(replicas, hosts));
        let violations: Vec<Violation> = violations.chain(of_all).collect();
        let shown = replicas.iter().zip(hosts).map(|(replica, hosts)| ShownReplica {
            replica: replica.clone(),
            hosts: hosts.iter().map(|host| self.shown(*host)).collect(),
            over_normal: Vec::new(),
        });
        Report {
            row,
            replicas: shown.collect(),
            spread: judgement.modes.iter().map(|mode| self.spread(mode)).collect(),
            safety: self.safety(judgement.safety),
            violations,
            notes: self.notes(),
            reasons: Reasons::default(),
            is_exact: true,
            change: Change::default(),
        }
    }

    /// A violation of the replicas with these indices.
    fn violation(
        &self,
        (level, reason): (Level, Reason),
        at: &[usize],
        (replicas, hosts): (&[Replica], &[Vec<u32>]),
    ) -> Violation {
        let named = || at.iter().take(NAMED_REPLICAS);
        let mut known: HashSet<u32> = HashSet::new();
        let all_hosts = named().flat_map(|at| hosts[*at].iter().copied());
        let named_hosts: Vec<u32> = all_hosts.filter(|host| known.insert(*host)).collect();
        Violation {
            level,
            reason,
            replicas: at.iter().map(|at| replicas[*at].row.id.clone()).collect(),
            consumers: named().map(|at| replicas[*at].row.consumer.clone()).collect(),
            host_names: named_hosts.iter().map(|host| self.name(*host)).collect(),
            hosts: named_hosts.into_iter().map(|host| self.uuid(host)).collect(),
        }
    }

    /// The classes that replicas have of providers above their limits.
    fn overuses(&self, replicas: &[Replica], hosts: &[Vec<u32>]) -> Vec<Violation> {
        let limits = Limits::of(self.hosts.snapshot);
        let shares = replicas.iter().enumerate();
        let shares = shares.flat_map(|(at, replica)| replica.allocations.iter().map(move |share| (at, share)));
        self.hosts
            .settings
            .interrupt
            .count(shares.clone().count() as u64 / SHARES_A_STEP);
        let found = limits.of_shares(shares).into_iter();
        let violations =
            found.map(|(overuse, at)| self.violation((overuse.level, limits.reason(&overuse)), &at, (replicas, hosts)));
        violations.collect()
    }

    /// Without `rules`: the dimensions of hosts over which the replicas are not spread.
    fn notes(&self) -> Vec<String> {
        if self.spec.rules.is_some() || self.spec.is_single() {
            return Vec::new();
        }
        let known = known_dimensions(self.hosts.snapshot);
        let others = known.iter().map(|name| &**name);
        let others: Vec<&str> = others.filter(|name| !DEFAULT_DIMENSIONS.contains(name)).collect();
        if others.is_empty() {
            return Vec::new();
        }
        let names = others[..others.len().min(NAMED_DIMENSIONS)].join(", ");
        let default = DEFAULT_DIMENSIONS.join(" and ");
        vec![format!(
            "The default rule is about the dimensions {default}, and does not use {names}. Name a dimension in `rules` \
             to spread over it."
        )]
    }

    /// Replicas with allocations of a provider that is not up, on hosts that are eligible all the same: a second
    /// provider may serve the host. One violation for each provider. `judged` are the indices and the roles of replicas.
    fn not_up(
        &self,
        replicas: &[Replica],
        hosts: &[Vec<u32>],
        judged: impl Iterator<Item = (usize, usize)>,
    ) -> Vec<Violation> {
        let Hosts {
            snapshot,
            list,
            eligible,
            ..
        } = &self.hosts;
        let mut on_provider: BTreeMap<Slot, BTreeSet<usize>> = BTreeMap::new();
        for (at, role) in judged {
            let (fit, unfit): (Vec<u32>, Vec<u32>) =
                hosts[at].iter().partition(|host| eligible.is_eligible(**host, role));
            if fit.is_empty() {
                continue;
            }
            let is_unfit = |slot: Slot| unfit.iter().any(|host| list.slots[*host as usize] == snapshot.root(slot));
            let shares = replicas[at].allocations.iter();
            let slots = shares.filter_map(|share| snapshot.by_uuid(&share.provider));
            let not_up = slots.filter(|slot| snapshot.state(*slot) != ProviderState::Up && !is_unfit(*slot));
            not_up.for_each(|slot| _ = on_provider.entry(slot).or_default().insert(at));
        }
        let violations = on_provider.into_iter().map(|(slot, at)| {
            let at: Vec<usize> = at.into_iter().collect();
            let ids: Vec<&str> = at.iter().map(|at| replicas[*at].row.id.as_str()).collect();
            let name = snapshot.name(slot);
            let detail = format!("On provider {name}, which is not up: {}.", ids.join(", "));
            let reason = Reason {
                resource_provider: Some(snapshot.uuid(slot).to_owned()),
                provider_name: Some(name.into()),
                ..Reason::new(ReasonCode::State, detail)
            };
            self.violation((Level::Hard, reason), &at, (replicas, hosts))
        });
        violations.collect()
    }

    /// The violation if fewer replicas than needed are on hosts that are up: with all other replicas.
    fn below_min(&self, replicas: &[Replica], hosts: &[Vec<u32>]) -> Option<Violation> {
        let min = self.spec.min?;
        let is_alive = |at: &usize| {
            let known = &hosts[*at];
            replicas[*at].is_placed() && (known.is_empty() || known.iter().any(|host| self.hosts.is_up(*host)))
        };
        let missing: Vec<usize> = (0..replicas.len()).filter(|at| !is_alive(at)).collect();
        let alive = (replicas.len() - missing.len()) as u32;
        if alive >= min {
            return None;
        }
        let ids: Vec<&str> = missing.iter().map(|at| replicas[*at].row.id.as_str()).collect();
        let detail = format!(
            "At least {min} replicas are needed, and {alive} are on hosts that are up. The others: {}.",
            ids.join(", ")
        );
        let reason = Reason {
            requested: Some(min.into()),
            free: Some(alive.into()),
            ..Reason::new(ReasonCode::Min, detail)
        };
        Some(self.violation((Level::Hard, reason), &missing, (replicas, hosts)))
    }

    fn uuid(&self, host: u32) -> String {
        self.hosts.snapshot.uuid(self.slot(host)).to_owned()
    }

    fn name(&self, host: u32) -> Arc<str> {
        self.hosts.snapshot.name(self.slot(host)).into()
    }

    fn shown(&self, host: u32) -> ShownHost {
        ShownHost {
            uuid: self.uuid(host),
            name: self.name(host),
        }
    }

    fn slot(&self, host: u32) -> Slot {
        self.hosts.list.slots[host as usize]
    }

    fn level(&self, rule: usize) -> Level {
        match &self.rules[rule] {
            Rule::Spread(spread) => spread.level,
            Rule::Affinity(affinity) => affinity.level,
            Rule::Within(within) => within.level,
        }
    }

    fn dimension(&self, axis: Axis) -> &str {
        match axis {
            Axis::Host => HOST,
            Axis::Domain(at) => &self.hosts.list.names[at],
        }
    }

    fn spread(&self, mode: &placing::SpreadMode) -> SpreadReport {
        let placing::AxisRule { rule, level, axis, .. } = mode.rule;
        let trees = &self.hosts.list.cluster.dimensions;
        let counts = mode.counts.iter().map(|it| match axis {
            Axis::Host => (self.uuid(it.domain.0).into(), it.count),
            Axis::Domain(at) => (trees[at].tree.shared_path(it.domain), it.count),
        });
        SpreadReport {
            rule,
            level,
            dimension: self.dimension(axis).to_owned(),
            mode: mode.rule.mode,
            domains: mode.rule.domains,
            limit: mode.limit,
            counts: counts.collect(),
        }
    }

    fn safety(&self, safety: placing::Safety) -> SafetyReport {
        let survives = safety.survives.iter().map(|it| SurvivesReport {
            dimension: self.dimension(it.axis).to_owned(),
            domains: it.domains,
            failures: it.failures,
        });
        SafetyReport {
            survives: survives.collect(),
            is_safe: safety.is_safe,
            is_quorum_lost: safety.is_quorum_lost,
        }
    }

    /// The violation of replicas on a host that is not eligible. `at` is the place of the first replica.
    fn not_eligible(&self, at: PlacedReplica, replica: &Replica, ids: &[String]) -> (Level, Reason) {
        let Unfit { code, class, host } = self.hosts.unfit(at, replica);
        let reason = Reason {
            resource_provider: Some(self.uuid(at.host)),
            provider_name: Some(self.name(at.host)),
            resource_class: class,
            ..Reason::new(code, format!("On {host}: {}.", ids.join(", ")))
        };
        (Level::Hard, reason)
    }

    fn broken_rule(&self, found: &placing::Violation, ids: &[String]) -> (Level, Reason) {
        let (level, code, rule) = match found.rule {
            Broken::Rule(rule) => {
                let code = match &self.rules[rule] {
                    Rule::Spread(_) => ReasonCode::Spread,
                    Rule::Within(_) => ReasonCode::Within,
                    Rule::Affinity(affinity) if affinity.kind == AffinityKind::Affinity => ReasonCode::Together,
                    Rule::Affinity(_) => ReasonCode::Apart,
                };
                (self.level(rule), code, Some(rule))
            }
            Broken::OneAHost | Broken::NotEligible => (Level::Hard, ReasonCode::OneAHost, None),
        };
        let host = (found.axis == Axis::Host).then(|| self.uuid(found.domain.0));
        let path = match found.axis {
            Axis::Host => None,
            Axis::Domain(at) => Some(self.hosts.list.named_path(at, found.domain)),
        };
        let place = path.clone().or_else(|| host.clone()).unwrap_or_default();
        let ids = ids.join(", ");
        let detail = match code {
            ReasonCode::Spread | ReasonCode::OneAHost => format!(
                "{place} holds {} replicas and may hold {}: {ids}.",
                found.count, found.limit
            ),
            ReasonCode::Within => format!("Outside of {place}, which holds {} replicas: {ids}.", found.count),
            ReasonCode::Together if rule.is_some_and(|rule| self.names_missing(rule)) => {
                format!("The other workload does not exist, so there is no host to stay together: {ids}.")
            }
            ReasonCode::Together => format!("Away from the other workload: {ids}."),
            _ => format!("Too near to the other workload: {ids}."),
        };
        let counts = matches!(code, ReasonCode::Spread | ReasonCode::OneAHost);
        let reason = Reason {
            rule,
            provider_name: host.is_some().then(|| self.name(found.domain.0)),
            resource_provider: host,
            requested: counts.then_some(found.count.into()),
            free: counts.then_some(found.limit.into()),
            domain: path,
            ..Reason::new(code, detail)
        };
        (level, reason)
    }

    /// Whether a rule names a deleted workload.
    fn names_missing(&self, rule: usize) -> bool {
        let rule = self.spec.rules.as_ref().and_then(|rules| rules.get(rule));
        matches!(rule, Some(SpecRule::Affinity(affinity)) if !self.others.contains_key(&affinity.workload))
    }
}
