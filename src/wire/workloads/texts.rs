//! Checks the form of the texts in a request. Texts that the workload already has stay as they are.

use super::body::StoredSpec;
use crate::error::Result;
use crate::model::workloads::{Spec, SpecRule};
use crate::wire::text_form::check;

/// Checks names of roles, names of dimensions, and texts in queries. `spec` is `given` in the form of the model. Roles
/// and rules of `before` are not checked.
///
/// # Errors
/// The first wrong member, by path.
pub fn check_spec(given: &StoredSpec, spec: &Spec, before: Option<&Spec>) -> Result<()> {
    let known_roles = before.map_or(&[][..], |before| &before.roles);
    for (at, (body, role)) in given.roles.iter().zip(&spec.roles).enumerate() {
        let mut known = known_roles.iter();
        if known.any(|known| (&known.name, &known.definition) == (&role.name, &role.definition)) {
            continue;
        }
        check(&format!("roles[{at}].name"), &role.name)?;
        body.query.check_texts(&format!("roles[{at}].query"))?;
    }
    let known_rules = before.and_then(|before| before.rules.as_deref()).unwrap_or_default();
    for (at, rule) in spec.rules.iter().flatten().enumerate() {
        match rule {
            _ if known_rules.contains(rule) => {}
            SpecRule::Spread(spread) => {
                for (position, name) in spread.dimensions.iter().enumerate() {
                    check(&format!("rules[{at}].dimensions[{position}]"), name)?;
                }
            }
            SpecRule::Within(within) => check(&format!("rules[{at}].dimension"), &within.dimension)?,
            SpecRule::Affinity(affinity) => check(&format!("rules[{at}].dimension"), &affinity.dimension)?,
        }
    }
    Ok(())
}
