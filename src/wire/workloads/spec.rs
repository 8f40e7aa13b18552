//! The spec of a workload in the form of the model, from a body or from the stored text.

use std::collections::HashSet;

use super::body::{RoleBody, StoredSpec};
use crate::error::Result;
use crate::model::claims::ClaimQuery;
use crate::model::workloads::{Role, Spec};
use crate::wire::bad_request;
use crate::wire::native::read_body;
use crate::wire::output::json;

/// The most replicas of a workload.
const MAX_REPLICAS: u32 = 1_000;

/// Reads the stored text.
///
/// # Errors
/// As of a body: a former version may have stored a spec that this version cannot read.
pub fn read_stored(text: &str) -> Result<Spec> {
    spec_of(&read_body(text.as_bytes())?)
}

/// The spec in the form of the model.
///
/// # Errors
/// The first wrong member, by path.
pub fn spec_of(stored: &StoredSpec) -> Result<Spec> {
    let mut names = HashSet::new();
    let roles = stored.roles.iter().enumerate().map(|(at, body)| {
        let role = role(&format!("roles[{at}]"), body)?;
        if !names.insert(role.name.clone()) {
            return bad_request(format!("roles[{at}].name: '{}' occurs twice.", role.name));
        }
        Ok(role)
    });
    let roles: Vec<Role> = roles.collect::<Result<_>>()?;
    let count: u64 = roles.iter().map(|role| u64::from(role.count)).sum();
    if count > MAX_REPLICAS.into() {
        return bad_request(format!(
            "roles: {count} replicas; a workload has at most {MAX_REPLICAS}."
        ));
    }
    let min = stored.min.map(|min| u32::try_from(min.0).unwrap_or(u32::MAX));
    if let Some(min) = min.filter(|min| u64::from(*min) > count) {
        return bad_request(format!("min: {min} replicas are more than the {count} of all roles."));
    }
    let rules = stored.rules.as_ref().map(|rules| {
        let rules = rules.iter().enumerate();
        rules.map(|(at, rule)| rule.rule(&format!("rules[{at}]"))).collect()
    });
    Ok(Spec {
        roles,
        rules: rules.transpose()?,
        quorum: stored.quorum,
        min,
        lost_after: stored.lost_after.map(|it| u32::try_from(it.0).unwrap_or(u32::MAX)),
        consumer_type: stored.consumer_type.clone(),
    })
}

fn role(path: &str, body: &RoleBody) -> Result<Role> {
    let definition = json(&(&body.query, &body.payload));
    Ok(Role {
        name: body.name.0.clone(),
        count: u32::try_from(body.count.0).unwrap_or(u32::MAX),
        query: ClaimQuery {
            request: body.query.read::<0>(&format!("{path}.query"))?,
            rank: body.rank.map(|rank| rank.0),
        },
        definition: String::from_utf8_lossy(&definition).into(),
    })
}
