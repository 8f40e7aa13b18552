//! The data of a report, and the violations.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::{ShownHost, Violation};
use crate::error::{Reason, ReasonCode};
use crate::model::overuse::UsageLimits;
use crate::model::workloads::spec::{HOST, Spec, SpecRule};
use crate::model::workloads::unfit::{Unfit, WorkloadHosts};
use crate::model::workloads::{Replica, StoredWorkload};
use crate::placing::{self, AffinityKind, Axis, Broken, Level, PlacedReplica, Rule};
use crate::search::{ClassId, ProviderState, Slot};

/// A look at this many allocations counts as a step.
const SHARES_A_STEP: u64 = 16;

/// Of how many replicas a violation has consumers and hosts.
pub const NAMED_REPLICAS: usize = 15;

/// The data of a report.
pub struct ReportSource<'a> {
    pub hosts: WorkloadHosts<'a>,
    pub rules: &'a [Rule],
    pub spec: &'a Spec,
    /// The workloads named by the rules.
    pub others: &'a HashMap<String, StoredWorkload>,
    pub replicas: &'a [Replica],
    /// The hosts of each replica.
    pub hosts_of: &'a [Vec<u32>],
    /// The usage with the allocations of the replicas. A plan is judged before the snapshot shows the plan's
    /// allocations.
    pub used: &'a dyn Fn(Slot, ClassId) -> i64,
}

impl ReportSource<'_> {
    /// A violation of the replicas with these indices.
    pub fn violation(&self, (level, reason): (Level, Reason), at: &[usize]) -> Violation {
        let (replicas, hosts) = (self.replicas, self.hosts_of);
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

    /// A violation for each class of a provider with usage above a limit, with the replicas that use the class.
    pub fn overuses(&self) -> Vec<Violation> {
        let limits = UsageLimits::of(self.hosts.snapshot);
        let shares = self.replicas.iter().enumerate();
        let shares = shares.flat_map(|(at, replica)| replica.allocations.iter().map(move |share| (at, share)));
        self.hosts
            .settings
            .interrupt
            .count(shares.clone().count() as u64 / SHARES_A_STEP);
        let found = limits.of_shares(shares, self.used).into_iter();
        let violations = found.map(|(overuse, at)| self.violation((overuse.level, limits.reason(&overuse)), &at));
        violations.collect()
    }

    /// Replicas with allocations of a provider that is not up, on eligible hosts: a second provider may serve the host.
    /// A violation for each provider. `judged` has the indices and roles of replicas.
    pub fn not_up(&self, judged: impl Iterator<Item = (usize, usize)>) -> Vec<Violation> {
        let WorkloadHosts {
            snapshot,
            list,
            eligible,
            ..
        } = &self.hosts;
        let mut on_provider: BTreeMap<Slot, BTreeSet<usize>> = BTreeMap::new();
        for (at, role) in judged {
            let (fit, unfit): (Vec<u32>, Vec<u32>) = self.hosts_of[at]
                .iter()
                .partition(|host| eligible.is_eligible(**host, role));
            if fit.is_empty() {
                continue;
            }
            let is_unfit = |slot: Slot| {
                unfit
                    .iter()
                    .any(|host| list.slots[*host as usize] == snapshot.root(slot))
            };
            let shares = self.replicas[at].allocations.iter();
            let slots = shares.filter_map(|share| snapshot.by_uuid(&share.provider));
            let not_up = slots.filter(|slot| snapshot.state(*slot) != ProviderState::Up && !is_unfit(*slot));
            not_up.for_each(|slot| _ = on_provider.entry(slot).or_default().insert(at));
        }
        self.on_providers(on_provider, |_| (ReasonCode::State, "provider", "not up"))
    }

    /// Placed replicas without a host: all their providers are pools. A violation for each pool that is not up; if all
    /// pools of a replica are up, for the first pool. A provider unknown to the snapshot has no violation.
    pub fn without_host(&self, elsewhere: &[usize]) -> Vec<Violation> {
        let snapshot = self.hosts.snapshot;
        let is_up = |slot: Slot| snapshot.state(slot) == ProviderState::Up;
        let mut on_pool: BTreeMap<Slot, BTreeSet<usize>> = BTreeMap::new();
        for &at in elsewhere {
            let shares = self.replicas[at].allocations.iter();
            let slots = shares.filter_map(|share| snapshot.by_uuid(&share.provider));
            let (up, not_up): (Vec<Slot>, Vec<Slot>) = slots.partition(|slot| is_up(*slot));
            let named = if not_up.is_empty() {
                &up[..up.len().min(1)]
            } else {
                &not_up
            };
            named
                .iter()
                .for_each(|slot| _ = on_pool.entry(*slot).or_default().insert(at));
        }
        self.on_providers(on_pool, |slot| {
            if is_up(slot) {
                (ReasonCode::NoCandidate, "pool", "no host")
            } else {
                (ReasonCode::State, "pool", "not up")
            }
        })
    }

    /// A hard violation of the replicas of each provider. `what` gives the code, the kind of provider, and the defect
    /// of the provider.
    fn on_providers(
        &self,
        replicas: BTreeMap<Slot, BTreeSet<usize>>,
        what: impl Fn(Slot) -> (ReasonCode, &'static str, &'static str),
    ) -> Vec<Violation> {
        let snapshot = self.hosts.snapshot;
        let violations = replicas.into_iter().map(|(slot, at)| {
            let at: Vec<usize> = at.into_iter().collect();
            let ids: Vec<&str> = at.iter().map(|at| self.replicas[*at].row.id.as_str()).collect();
            let (name, (code, kind, wrong)) = (snapshot.name(slot), what(slot));
            let detail = format!("On {kind} {name}, which is {wrong}: {}.", ids.join(", "));
            let reason = Reason {
                resource_provider: Some(snapshot.uuid(slot).to_owned()),
                provider_name: Some(name.into()),
                ..Reason::new(code, detail)
            };
            self.violation((Level::Hard, reason), &at)
        });
        violations.collect()
    }

    /// The violation if fewer than `min` replicas are on hosts that are up. The violation names all remaining replicas.
    pub fn below_min(&self) -> Option<Violation> {
        let replicas = self.replicas;
        let min = self.spec.min?;
        let is_alive = |at: &usize| {
            let replica = &replicas[*at];
            replica.is_placed() && self.hosts.is_alive(replica, &self.hosts_of[*at])
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
        Some(self.violation((Level::Hard, reason), &missing))
    }

    /// The violation of replicas on an ineligible host. `at` is the place of the first replica.
    pub fn not_eligible(&self, at: PlacedReplica, replica: &Replica, ids: &[String]) -> (Level, Reason) {
        let Unfit { code, class, host } = self.hosts.unfit(at, replica);
        let reason = Reason {
            resource_provider: Some(self.uuid(at.host)),
            provider_name: Some(self.name(at.host)),
            resource_class: class,
            ..Reason::new(code, format!("On {host}: {}.", ids.join(", ")))
        };
        (Level::Hard, reason)
    }

    pub fn broken_rule(&self, found: &placing::BrokenRule, ids: &[String]) -> (Level, Reason) {
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

    pub fn uuid(&self, host: u32) -> String {
        self.hosts.snapshot.uuid(self.slot(host)).to_owned()
    }

    pub fn name(&self, host: u32) -> Arc<str> {
        self.hosts.snapshot.name(self.slot(host)).into()
    }

    pub fn shown(&self, host: u32) -> ShownHost {
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

    pub fn dimension(&self, axis: Axis) -> &str {
        match axis {
            Axis::Host => HOST,
            Axis::Domain(at) => &self.hosts.list.names[at],
        }
    }
}
