//! Why replicas have no place: how many hosts each condition removed, and which rules admit too few replicas.
//!
//! Each removed host is counted once, with the first condition against the host. Explanations of a condition are not
//! counted: the search for a role may leave out providers that are no hosts, or hosts removed before.

use std::collections::HashSet;

use super::hosts::HostList;
use super::spec::Role;
use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::model::explain;
use crate::placing::{Affinity, AffinityKind, Axis, DomainLimit, Eligible, Refusal, Removed, Rule, Swap, WithinLimit};
use crate::search::{self, Request, SearchSettings, Slot, Snapshot};

/// The reasons, in this order: the missing place; a helpful move; roles served by sharing providers alone; the domain
/// for all replicas; the conditions that removed hosts, in the order of the checks; the conditions of each role; the
/// rules and the domains at their limits; the first removed hosts.
///
/// # Errors
/// Of the search.
pub fn reasons(
    snapshot: &Snapshot,
    (list, eligible): (&HostList, &Eligible),
    roles: &[Role],
    (missing, rules, refusal, swap): (&[u32], &[Rule], &Refusal, Option<Swap>),
    settings: &SearchSettings,
) -> Result<Reasons> {
    let mut reasons = Reasons::from(first(refusal));
    if let Some(swap) = swap {
        reasons.add_detail(helpful(snapshot, list, swap));
    }
    let missing_roles = different(roles, missing);
    for (at, role) in &missing_roles {
        if !eligible.matches_any(*at) {
            let reason = without_host(snapshot, role, settings)?;
            reason.into_iter().for_each(|reason| reasons.add_detail(reason));
        }
    }
    if let Some(within) = &refusal.within {
        reasons.add_detail(one_domain(snapshot, list, within, refusal.missing));
    }
    for (removed, count) in &refusal.removed {
        let end = if *count == 1 {
            ": 1 host.".to_owned()
        } else {
            format!(": {count} hosts.")
        };
        let reason = condition(list, *removed, rules, &end);
        reasons.add_counted(reason, *count as usize);
    }
    for (at, role) in &missing_roles {
        for (reason, _) in explain::conditions(snapshot, &role.query.request, settings)? {
            let sum = free_in_sum(snapshot, (list, eligible), *at, &reason);
            let detail = format!("Role {}: {}{sum}", role.name, reason.detail);
            reasons.add_detail(Reason { detail, ..reason });
        }
    }
    for limit in full_rules(list, refusal) {
        reasons.add_detail(limit);
    }
    for limit in &refusal.limits {
        reasons.add_detail(domain(list, limit));
    }
    for (removed, hosts) in &refusal.named {
        for host in hosts {
            let slot = list.slots[*host as usize];
            let named = Reason {
                resource_provider: Some(snapshot.uuid(slot).to_owned()),
                provider_name: Some(snapshot.name(slot).into()),
                ..condition(list, *removed, rules, ".")
            };
            reasons.add_detail(match removed {
                Removed::NoRoom => with_room(snapshot, slot, &missing_roles, named),
                _ => named,
            });
        }
    }
    Ok(reasons)
}

/// The reason if a role uses sharing providers alone, which are no hosts. `None` if no sharing provider serves the
/// role.
fn without_host(snapshot: &Snapshot, role: &Role, settings: &SearchSettings) -> Result<Option<Reason>> {
    if !snapshot.has_sharing() {
        return Ok(None);
    }
    let found = search::eligible_hosts(snapshot, &role.query.request, settings)?;
    let serves = |pool: &Slot| found.of(snapshot.root(*pool)).is_some();
    Ok(snapshot.sharing().find(serves).map(|pool| Reason {
        resource_provider: Some(snapshot.uuid(pool).to_owned()),
        provider_name: Some(snapshot.name(pool).into()),
        ..Reason::new(
            ReasonCode::NoCandidate,
            format!(
                "Only sharing providers can serve role {}, and a sharing provider is no host. Let the query of the \
                 role ask for a resource of a host, too.",
                role.name
            ),
        )
    }))
}

/// The roles with missing replicas, by index, each query once.
fn different<'a>(roles: &'a [Role], missing: &[u32]) -> Vec<(usize, &'a Role)> {
    let mut known: HashSet<&Request> = HashSet::new();
    let missing = roles.iter().enumerate().filter(|(at, _)| missing[*at] > 0);
    missing.filter(|(_, role)| known.insert(&role.query.request)).collect()
}

/// If a role lacks room: a sentence about the free amount of all eligible hosts, and of all sharing providers. The sum
/// may suffice, and each host have too little.
fn free_in_sum(snapshot: &Snapshot, (list, eligible): (&HostList, &Eligible), role: usize, reason: &Reason) -> String {
    let class = reason.resource_class.as_deref();
    let class = class.filter(|_| reason.code == ReasonCode::NoRoom);
    let Some(class) = class.and_then(|class| snapshot.catalog().class_id(class)) else {
        return String::new();
    };
    let hosts = (0..)
        .zip(&list.slots)
        .filter(|(host, _)| eligible.is_eligible(*host, role));
    let sum = snapshot.free_of(class, hosts.map(|(_, slot)| *slot), i64::MAX);
    let pools = if snapshot.has_sharing() {
        " and all sharing providers"
    } else {
        ""
    };
    format!(" The hosts that the role may use{pools} have {sum} free in sum.")
}

/// Adds the first class of which no provider of the host has enough for a role, with the largest free amount of a
/// provider. Without a short class, or if trees share resources, the reason stays unchanged.
fn with_room(snapshot: &Snapshot, host: Slot, roles: &[(usize, &Role)], reason: Reason) -> Reason {
    if snapshot.has_sharing() {
        return reason;
    }
    let tree = snapshot.tree(host);
    let most = |class: &str| {
        let class = snapshot.catalog().class_id(class)?;
        let free = tree.iter().filter_map(|slot| {
            let limit = snapshot.inventory(*slot, class)?.limit();
            Some(limit.saturating_sub(snapshot.used(*slot, class)))
        });
        free.max()
    };
    let asked = roles.iter().flat_map(|(_, role)| &role.query.request.groups);
    let mut asked = asked.flat_map(|group| &group.resources);
    let short = asked.find_map(|(class, amount)| {
        let free = most(class).filter(|free| free < amount)?;
        Some((class, *amount, free))
    });
    match short {
        Some((class, amount, free)) => Reason {
            resource_class: Some(class.clone()),
            requested: Some(amount),
            free: Some(free),
            ..reason
        },
        None => reason,
    }
}

fn first(refusal: &Refusal) -> Reason {
    let Refusal {
        hosts,
        left,
        missing,
        admitted,
        ..
    } = refusal;
    let one_domain = if refusal.within.is_some() { " in one domain" } else { "" };
    let what = if admitted < missing {
        format!("no more than {admitted} of them have a place{one_domain}")
    } else {
        "the rules together admit no placement".to_owned()
    };
    Reason {
        requested: Some((*missing).into()),
        free: Some((*admitted).into()),
        ..Reason::new(
            ReasonCode::NoPlace,
            format!("{missing} replicas are missing: {what}. Of {hosts} hosts, {left} may take one."),
        )
    }
}

/// A helpful move: after the move the missing replicas have a place.
fn helpful(snapshot: &Snapshot, list: &HostList, swap: Swap) -> Reason {
    let [from, to] = [swap.from, swap.to].map(|host| list.slots[host as usize]);
    Reason {
        resource_provider: Some(snapshot.uuid(from).to_owned()),
        provider_name: Some(snapshot.name(from).into()),
        ..Reason::new(
            ReasonCode::Spread,
            format!(
                "The missing replicas have a place if the replica on {} moves to {}.",
                snapshot.name(from),
                snapshot.name(to)
            ),
        )
    }
}

/// The domain of a `Within` rule for all replicas, and how many more replicas the domain takes.
fn one_domain(snapshot: &Snapshot, list: &HostList, within: &WithinLimit, missing: u32) -> Reason {
    let WithinLimit {
        rule,
        axis,
        domain,
        taken,
        admitted,
    } = *within;
    let host = list.slots.get(domain.0 as usize).filter(|_| axis == Axis::Host);
    let (path, place) = match (axis, host) {
        (Axis::Domain(at), _) => {
            let path = list.named_path(at, domain);
            (Some(path.clone()), path)
        }
        (Axis::Host, host) => (
            None,
            host.map_or_else(String::new, |host| snapshot.name(*host).to_owned()),
        ),
    };
    let which = if taken > 0 {
        format!("{taken} replicas are in {place}, and all others have to be there, too")
    } else {
        format!("All replicas have to be in one domain, and {place} takes the most")
    };
    Reason {
        rule: Some(rule),
        resource_provider: host.map(|host| snapshot.uuid(*host).to_owned()),
        provider_name: host.map(|host| snapshot.name(*host).into()),
        domain: path,
        requested: Some(missing.into()),
        free: Some(admitted.into()),
        ..Reason::new(
            ReasonCode::Within,
            format!("{which}: {admitted} of {missing} missing replicas."),
        )
    }
}

/// The reason for removed hosts, with a text that ends with `end`. A rule beyond `rules` belongs to a referrer.
fn condition(list: &HostList, removed: Removed, rules: &[Rule], end: &str) -> Reason {
    let without_domain;
    let (code, what, rule) = match removed {
        Removed::NotEligible => (
            ReasonCode::NoCandidate,
            "Not what any missing role asks for, apart from room",
            None,
        ),
        Removed::NoDomain(dimension) => {
            without_domain = format!("Without a domain in {}", list.names[dimension]);
            (ReasonCode::Domain, without_domain.as_str(), None)
        }
        Removed::Outside(rule) => (ReasonCode::Within, "Outside of the domain for all replicas", Some(rule)),
        Removed::Affinity(rule) => {
            let (code, what) = match rules.get(rule) {
                None => (
                    ReasonCode::Apart,
                    "Too near to a workload whose rules keep it apart from this one",
                ),
                Some(Rule::Affinity(Affinity {
                    kind: AffinityKind::Affinity,
                    ..
                })) => (ReasonCode::Together, "Away from the other workload"),
                Some(_) => (ReasonCode::Apart, "Too near to the other workload"),
            };
            (code, what, rules.get(rule).map(|_| rule))
        }
        Removed::Taken => (ReasonCode::OneAHost, "Already with a replica of the workload", None),
        Removed::NoRoom => (ReasonCode::NoRoom, "Without room", None),
        Removed::Full(rule) => (
            ReasonCode::Spread,
            "In a domain that holds as many as it may",
            Some(rule),
        ),
    };
    Reason {
        rule,
        ..Reason::new(code, format!("{what}{end}"))
    }
}

/// The rules that admit fewer replicas than are missing.
fn full_rules(list: &HostList, refusal: &Refusal) -> Vec<Reason> {
    let of_rules = refusal
        .limits
        .chunk_by(|one, other| (one.rule, one.dimension) == (other.rule, other.dimension));
    let short = of_rules.filter_map(|of_rule| {
        let DomainLimit { rule, dimension, .. } = of_rule[0];
        let admitted: u32 = of_rule.iter().map(DomainLimit::free).sum();
        (admitted < refusal.missing).then(|| Reason {
            rule: Some(rule),
            requested: Some(refusal.missing.into()),
            free: Some(admitted.into()),
            domain: Some(list.names[dimension].clone()),
            ..Reason::new(
                ReasonCode::Spread,
                format!(
                    "The rule admits {admitted} of {} replicas in dimension {}.",
                    refusal.missing, list.names[dimension]
                ),
            )
        })
    });
    short.collect()
}

fn domain(list: &HostList, domain_limit: &DomainLimit) -> Reason {
    let DomainLimit {
        rule,
        dimension,
        domain,
        limit,
        taken,
        room,
    } = domain_limit;
    let path = list.cluster.dimensions[*dimension].tree.path(*domain);
    Reason {
        rule: Some(*rule),
        domain: Some(list.named_path(*dimension, *domain)),
        free: Some(domain_limit.free().into()),
        ..Reason::new(
            ReasonCode::Spread,
            format!("Domain {path} has {taken} of at most {limit} replicas, and room for {room} more."),
        )
    }
}
