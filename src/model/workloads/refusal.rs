//! Why replicas have no place: how many hosts each condition removed, and which rule is short of how many.
//!
//! Each host that was removed is counted once, with the first condition that removes it. What explains a condition is not
//! counted: the search for a role may leave out providers that are no hosts, or hosts that were removed before.

use super::hosts::HostList;
use super::wish::Role;
use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::model::claims;
use crate::placing::{DomainLimit, Near, NearKind, Refusal, Removed, Rule};
use crate::search::{SearchSettings, Snapshot};

/// First that there is no place, then what removed hosts, in the order in which it is asked, then the domains that a rule
/// limits.
///
/// # Errors
/// Of the search.
pub fn reasons(
    snapshot: &Snapshot,
    list: &HostList,
    roles: &[Role],
    (missing, rules, own_rules, refusal): (&[u32], &[Rule], usize, &Refusal),
    settings: &SearchSettings,
) -> Result<Reasons> {
    let mut reasons = Reasons::from(first(refusal));
    for (removed, count) in &refusal.removed {
        reasons.add_counted(condition(list, *removed, *count, &rules[..own_rules]), *count as usize);
    }
    for (at, role) in roles.iter().enumerate().filter(|(at, _)| missing[*at] > 0) {
        let is_repeated = roles[..at]
            .iter()
            .enumerate()
            .any(|(other, it)| missing[other] > 0 && it.query.request == role.query.request);
        if is_repeated {
            continue;
        }
        for (reason, _) in claims::conditions(snapshot, None, &role.query.request, settings)? {
            let detail = format!("Role {}: {}", role.name, reason.detail);
            reasons.add_detail(Reason { detail, ..reason });
        }
    }
    for limit in full_rules(refusal) {
        reasons.add_detail(limit);
    }
    for limit in &refusal.limits {
        reasons.add_detail(domain(list, limit));
    }
    Ok(reasons)
}

fn first(refusal: &Refusal) -> Reason {
    let Refusal {
        hosts,
        left,
        missing,
        admitted,
        ..
    } = refusal;
    let what = if admitted < missing {
        format!("no more than {admitted} of them have a place")
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

/// What removed hosts. A rule that is not among `rules` is another workload's.
fn condition(list: &HostList, removed: Removed, count: u32, rules: &[Rule]) -> Reason {
    let hosts = if count == 1 {
        "1 host"
    } else {
        &*format!("{count} hosts")
    };
    match removed {
        Removed::NotEligible => Reason::new(
            ReasonCode::NoCandidate,
            format!("Not what any missing role asks for, apart from room: {hosts}."),
        ),
        Removed::NoDomain(dimension) => Reason::new(
            ReasonCode::Domain,
            format!("Without a domain in {}: {hosts}.", list.name(dimension)),
        ),
        Removed::Near(rule) => Reason {
            rule: rules.get(rule).map(|_| rule),
            ..match rules.get(rule) {
                None => Reason::new(
                    ReasonCode::Apart,
                    format!("Too near to a workload whose rules keep it apart from this one: {hosts}."),
                ),
                Some(Rule::Near(Near {
                    kind: NearKind::Together,
                    ..
                })) => Reason::new(ReasonCode::Together, format!("Away from the other workload: {hosts}.")),
                _ => Reason::new(ReasonCode::Apart, format!("Too near to the other workload: {hosts}.")),
            }
        },
        Removed::Taken => Reason::new(
            ReasonCode::OneAHost,
            format!("Already with a replica of the workload: {hosts}."),
        ),
        Removed::NoRoom => Reason::new(ReasonCode::NoRoom, format!("Without room: {hosts}.")),
        Removed::Full(rule) => Reason {
            rule: Some(rule),
            ..Reason::new(
                ReasonCode::Spread,
                format!("In a domain that holds as many as it may: {hosts}."),
            )
        },
    }
}

/// The rules that admit fewer replicas than are missing.
fn full_rules(refusal: &Refusal) -> Vec<Reason> {
    let mut rules: Vec<(usize, usize)> = refusal.limits.iter().map(|it| (it.rule, it.dimension)).collect();
    rules.dedup();
    let short = rules.into_iter().filter_map(|(rule, dimension)| {
        let of_rule = refusal
            .limits
            .iter()
            .filter(|it| (it.rule, it.dimension) == (rule, dimension));
        let admitted: u32 = of_rule.map(|it| it.limit.saturating_sub(it.taken).min(it.room)).sum();
        (admitted < refusal.missing).then(|| Reason {
            rule: Some(rule),
            requested: Some(refusal.missing.into()),
            free: Some(admitted.into()),
            ..Reason::new(
                ReasonCode::Spread,
                format!("The rule admits {admitted} of {} replicas.", refusal.missing),
            )
        })
    });
    short.collect()
}

fn domain(list: &HostList, limit: &DomainLimit) -> Reason {
    let DomainLimit {
        rule,
        dimension,
        domain,
        limit,
        taken,
        room,
    } = limit;
    let path = list.path(*dimension, *domain);
    Reason {
        rule: Some(*rule),
        domain: Some(format!("{}:{path}", list.name(*dimension))),
        free: Some(i64::from(limit.saturating_sub(*taken).min(*room))),
        ..Reason::new(
            ReasonCode::Spread,
            format!("Domain {path} has {taken} of at most {limit} replicas, and room for {room} more."),
        )
    }
}
