//! Judges a workload: which modes its rules have, what is safe, and what is violated.

use std::collections::HashMap;
use std::sync::Arc;

use super::violations::ReportSource;
use super::{Change, Report, SafetyReport, ShownReplica, SpreadReport, SurvivesReport, Violation};
use crate::error::{Reasons, Result};
use crate::model::workloads::eligible_hosts::{EligibleHosts, known_dimensions};
use crate::model::workloads::spec::{DEFAULT_DIMENSIONS, Spec};
use crate::model::workloads::time::{STEPS_A_REPLICA, whole};
use crate::model::workloads::unfit::WorkloadHosts;
use crate::model::workloads::{Neighbourhood, StoredWorkload, WorkloadRow, affinity};
use crate::placing::{self, Axis, Broken, FurtherHost, PlacedReplica, Workload};
use crate::search::{Interrupt, SearchSettings, Snapshot};

/// The most dimensions in a note.
const NAMED_DIMENSIONS: usize = 15;

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
    let source = ReportSource {
        hosts: WorkloadHosts {
            snapshot,
            list: &list,
            eligible: &eligible,
            roles: &spec.roles,
            settings,
        },
        rules: &affinity::rules(snapshot, &list, spec, others),
        spec,
        others,
        replicas: &stored.replicas,
        hosts_of: &hosts,
        used: &|slot, class| snapshot.used(slot, class),
    };
    Ok(source.report(stored.row.clone()))
}

impl ReportSource<'_> {
    /// After the interrupt of the settings is set the report comes soon, and means nothing.
    pub fn report(&self, row: WorkloadRow) -> Report {
        let (replicas, hosts) = (self.replicas, self.hosts_of);
        let roles = self.spec.roles.iter().enumerate();
        let roles: HashMap<&str, usize> = roles.map(|(at, role)| (role.name.as_str(), at)).collect();
        let (mut judged, mut elsewhere): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut placed, mut further): (Vec<PlacedReplica>, Vec<FurtherHost>) = (Vec::new(), Vec::new());
        let standing = replicas.iter().zip(hosts).enumerate();
        for (at, (replica, hosts)) in standing.filter(|(_, (replica, _))| replica.is_placed()) {
            let Some(&role) = roles.get(replica.row.role.as_str()) else {
                continue;
            };
            match affinity::placed_on(role, placed.len(), hosts) {
                Some((replica, its_further)) => {
                    placed.push(replica);
                    further.extend(its_further);
                    judged.push(at);
                }
                None => elsewhere.push(at),
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
        let is_alive = |at: &usize| self.hosts.is_alive(&replicas[*at], &hosts[*at]);
        let alive: Vec<bool> = judged.iter().chain(&elsewhere).map(is_alive).collect();
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
            self.violation((level, reason), &at)
        });
        let judged_as = judged.iter().zip(&placed).map(|(at, placed)| (*at, placed.role));
        let of_all = self
            .not_up(judged_as)
            .into_iter()
            .chain(self.without_host(&elsewhere))
            .chain(self.overuses())
            .chain(self.below_min());
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
}
