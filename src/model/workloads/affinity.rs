//! Translates the rules of a spec into rules of `placing`, with names looked up.

use std::collections::{HashMap, HashSet};

use super::StoredWorkload;
use super::hosts::HostList;
use super::spec::{AffinityRule, DEFAULT_DIMENSIONS, HOST, Spec, SpecRule};
use super::time::too_long;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::workloads::Replica;
use crate::mutants::{Mutant, is};
use crate::placing::{
    self, Affinity, AffinityKind, Axis, DomainId, DomainTree, FurtherHost, Level, Members, Mode, PlacedReplica, Rule,
    Spread, Within,
};
use crate::search::{ProviderState, Slot, Snapshot};

/// A look at this many marks of domains or hosts counts as a step.
const DOMAINS_A_STEP: usize = 64;

/// The rules, in the order of the spec. If the spec has no list of rules: the default rule alone.
pub fn rules(snapshot: &Snapshot, list: &HostList, spec: &Spec, others: &HashMap<String, StoredWorkload>) -> Vec<Rule> {
    let Some(rules) = &spec.rules else {
        return default_rule(list);
    };
    let rule = |rule: &SpecRule| match rule {
        SpecRule::Spread(spread) => Rule::Spread(Spread {
            level: spread.level,
            mode: spread.mode,
            axes: spread.dimensions.iter().filter_map(|name| axis(list, name)).collect(),
            strict: spread.strict,
        }),
        SpecRule::Affinity(affinity) => Rule::Affinity(Affinity {
            level: affinity.level,
            kind: affinity.kind,
            members: members(snapshot, list, affinity, others.get(&affinity.workload)),
        }),
        SpecRule::Within(within) => Rule::Within(Within {
            level: within.level,
            // A plan looks up all dimensions of the spec.
            axis: axis(list, &within.dimension).unwrap_or(Axis::Host),
        }),
    };
    rules.iter().map(rule).collect()
}

/// The dimensions of a list in which a host needs a domain under the rules. Rules about workloads need none.
pub fn needed_dimensions(snapshot: &Snapshot, list: &HostList, spec: &Spec) -> Vec<usize> {
    placing::needed_dimensions(&rules(snapshot, list, spec, &HashMap::new()))
}

/// Refuses rules about dimensions that no host has. A mistyped name would restrict nothing, or everything.
///
/// # Errors
/// [`Error::BadRequest`] with the first of these rules, and the existing dimensions.
pub fn check_dimensions(snapshot: &Snapshot, spec: &Spec) -> Result<()> {
    const MAX_NAMES: usize = 15;
    let exists = |name: &str| name == HOST || snapshot.has_dimension(name);
    for (at, rule) in spec.rules.iter().flatten().enumerate() {
        let (member, names) = match rule {
            SpecRule::Spread(spread) => ("dimensions", spread.dimensions.as_slice()),
            SpecRule::Affinity(affinity) => ("dimension", std::slice::from_ref(&affinity.dimension)),
            SpecRule::Within(within) => ("dimension", std::slice::from_ref(&within.dimension)),
        };
        let Some(name) = names.iter().find(|name| !exists(name)) else {
            continue;
        };
        let known = snapshot.dimensions();
        let known = known.iter().map(|name| &***name).chain([HOST]);
        let known: Vec<&str> = known.take(MAX_NAMES).collect();
        return Err(Error::BadRequest {
            detail: format!(
                "rules[{at}].{member}: no host has a domain in '{name}'. Dimensions are {}.",
                known.join(", ")
            ),
        });
    }
    Ok(())
}

/// Adaptive over the default dimensions that exist.
fn default_rule(list: &HostList) -> Vec<Rule> {
    let axes = DEFAULT_DIMENSIONS.iter().filter_map(|name| list.dimension(name));
    let axes: Vec<Axis> = axes
        .filter(|at| list.cluster.dimensions[*at].tree.count() > 1)
        .map(Axis::Domain)
        .collect();
    if axes.is_empty() {
        return Vec::new();
    }
    vec![Rule::Spread(Spread {
        level: Level::Hard,
        mode: Mode::Adaptive,
        axes,
        strict: false,
    })]
}

fn axis(list: &HostList, name: &str) -> Option<Axis> {
    if name == HOST {
        return Some(Axis::Host);
    }
    list.dimension(name).map(Axis::Domain)
}

/// The hosts or domains of the workload that the rule names.
fn members(snapshot: &Snapshot, list: &HostList, affinity: &AffinityRule, other: Option<&StoredWorkload>) -> Members {
    let replicas = other.map_or(&[][..], |other| &other.replicas);
    let mut hosts: Vec<u32> = replicas.iter().flat_map(|it| hosts_of(snapshot, list, it)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let Some(Axis::Domain(dimension)) = axis(list, &affinity.dimension) else {
        return Members::Hosts(hosts);
    };
    let leaves = &list.cluster.dimensions[dimension].leaves;
    let mut domains: Vec<_> = hosts.iter().map(|host| leaves[*host as usize]).collect();
    // A replica in no domain is near to no host.
    domains.retain(|domain| *domain != DomainTree::ROOT);
    domains.sort_unstable();
    domains.dedup();
    Members::Domains { dimension, domains }
}

/// The rules `apart` of workloads that name this workload, as rules of this workload: hosts on which a place would
/// break a rule. `referrers` are the specs of these workloads by uuid.
///
/// A new replica breaks no rule `together` of another workload.
///
/// # Errors
/// [`Error::Busy`] after an interrupt.
pub fn rules_of_referrers(
    snapshot: &Snapshot,
    list: &HostList,
    uuid: &str,
    referrers: &[(String, Spec)],
    others: &HashMap<String, StoredWorkload>,
    interrupt: &Interrupt,
) -> Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for (referrer, spec) in referrers {
        for rule in spec.rules.iter().flatten() {
            let SpecRule::Affinity(affinity) = rule else { continue };
            if affinity.kind != AffinityKind::AntiAffinity || affinity.workload != uuid {
                continue;
            }
            let other = others.get(referrer);
            let replicas = other.map_or(0, |other| other.replicas.len());
            if interrupt.count(steps_around(list, affinity, replicas)) {
                return Err(too_long());
            }
            rules.push(Rule::Affinity(Affinity {
                level: affinity.level,
                kind: AffinityKind::AntiAffinity,
                members: Members::Hosts(hosts_around(snapshot, list, affinity, other)),
            }));
        }
    }
    Ok(rules)
}

/// The steps of [`hosts_around`]: a look at each replica of the other workload, and at the domains and hosts of the
/// dimension.
fn steps_around(list: &HostList, affinity: &AffinityRule, replicas: usize) -> u64 {
    let dimension = list
        .dimension(&affinity.dimension)
        .map(|at| &list.cluster.dimensions[at]);
    let looked_at = dimension.map_or(0, |dimension| dimension.tree.count() + dimension.leaves.len());
    (1 + looked_at / DOMAINS_A_STEP + replicas) as u64
}

/// The hosts whose domain is or contains the domain of a replica of the other workload.
fn hosts_around(
    snapshot: &Snapshot,
    list: &HostList,
    affinity: &AffinityRule,
    other: Option<&StoredWorkload>,
) -> Vec<u32> {
    let (dimension, domains) = match members(snapshot, list, affinity, other) {
        Members::Hosts(hosts) => return hosts,
        Members::Domains { dimension, domains } => (&list.cluster.dimensions[dimension], domains),
    };
    let mut around = vec![false; dimension.tree.count()];
    for mut domain in domains {
        while domain != DomainTree::ROOT && !around[domain.0 as usize] {
            around[domain.0 as usize] = true;
            domain = dimension.tree.parent(domain);
        }
    }
    let is_around = |leaf: DomainId| around[leaf.0 as usize];
    let hosts = (0..).zip(&dimension.leaves).filter(|(_, leaf)| is_around(**leaf));
    hosts.map(|(host, _)| host).collect()
}

/// The hosts of a replica: all hosts on which the consumer has allocations, each once, in the order of the allocations.
/// Hosts that are up come first: if a consumer was moved, an allocation on the old host may be left.
///
/// A provider that shares resources with other trees counts only if the replica has no provider without shared
/// resources. Empty if the snapshot has none of the replica's providers.
pub fn hosts_of(snapshot: &Snapshot, list: &HostList, replica: &Replica) -> Vec<u32> {
    let shares = replica.allocations.iter();
    let (sharing, own): (Vec<Slot>, Vec<Slot>) = shares
        .filter_map(|share| snapshot.by_uuid(&share.provider))
        .partition(|slot| snapshot.is_sharing(*slot));
    let counted = if own.is_empty() {
        &sharing[..sharing.len().min(1)]
    } else {
        &own[..]
    };
    if let [only] = counted {
        return list.of_root(snapshot.root(*only)).into_iter().collect();
    }
    let mut known: HashSet<u32> = HashSet::new();
    let hosts = counted.iter().filter_map(|slot| list.of_root(snapshot.root(*slot)));
    let mut hosts: Vec<u32> = hosts.filter(|host| known.insert(*host)).collect();
    hosts.sort_by_key(|host| snapshot.state(list.slots[*host as usize]) != ProviderState::Up);
    if is(Mutant::FirstHost) {
        hosts.truncate(1);
    }
    hosts
}

/// A replica that is placed on these hosts, as the replica with index `replica`: the first host, and further hosts.
/// `None` without a host.
pub fn placed_on(role: usize, replica: usize, hosts: &[u32]) -> Option<(PlacedReplica, Vec<FurtherHost>)> {
    let (&host, further) = hosts.split_first()?;
    let further = further.iter().map(|&host| FurtherHost { replica, host });
    Some((PlacedReplica { role, host }, further.collect()))
}
