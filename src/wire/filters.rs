//! Parsers for the values of the query parameters `resources`, `required`, `member_of` and `in_tree`.

use std::collections::BTreeSet;

use super::bad_request;
use super::integer;
use super::python::strip;
use super::query::Query;
use super::uuid;
use crate::error::{Error, Result};
use crate::search::{MemberOf, Traits};
use crate::version::{ANY_TRAITS, FORBIDDEN_AGGREGATES, FORBIDDEN_TRAITS, REPEATED_MEMBER_OF, Version};

/// Parses `VCPU:2,MEMORY_MB:1024`. If a class occurs twice, the last amount counts.
pub fn resources(text: &str) -> Result<Vec<(String, i64)>> {
    let badly_formed = |got: &str| {
        bad_request(format!(
            "Badly formed resources parameter. Expected resources query string parameter in form: \
             ?resources=VCPU:2,MEMORY_MB:1024. Got: {got}."
        ))
    };
    if strip(text).is_empty() {
        return badly_formed("empty string");
    }
    let mut resources: Vec<(String, i64)> = Vec::new();
    for pair in text.split(',') {
        let Some((class, amount)) = pair.split_once(':').filter(|(_, amount)| !amount.contains(':')) else {
            return badly_formed(pair);
        };
        let Some(number) = integer::decimal(amount) else {
            return bad_request(format!(
                "Requested resource {class} expected positive integer amount. Got: {amount}."
            ));
        };
        if number < 1 {
            return bad_request(format!(
                "Requested resource {class} requires amount >= 1. Got: {number}."
            ));
        }
        match resources.iter_mut().find(|(name, _)| name == class) {
            Some((_, earlier)) => *earlier = number,
            None => resources.push((class.to_owned(), number)),
        }
    }
    Ok(resources)
}

/// Combines all `required` parameters of the group with this suffix. Before 1.39 only the last parameter counts.
pub fn required(version: Version, query: &Query, suffix: &str) -> Result<Traits> {
    let values = query.all(&format!("required{suffix}"));
    let ignored = if version < ANY_TRAITS {
        values.len().saturating_sub(1)
    } else {
        0
    };
    let mut combined = Traits::default();
    for value in &values[ignored..] {
        let traits = traits(value, version >= FORBIDDEN_TRAITS, version >= ANY_TRAITS)?;
        combined.required.extend(traits.required);
        combined.forbidden.extend(traits.forbidden);
    }
    Ok(combined)
}

/// Parses `A,B` (all are required), `!C` (forbidden), or `in:A,B` (any of the traits is required).
pub fn traits(text: &str, allow_forbidden: bool, allow_choice: bool) -> Result<Traits> {
    if let Some(choice) = text.strip_prefix("in:") {
        if allow_choice {
            return one_trait_of(text, choice);
        }
        return Err(Error::InvalidQuery(format!(
            "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. Got: {text}"
        )));
    }
    let names: Vec<&str> = text.split(',').map(strip).collect();
    // Several exclamation marks have the meaning of a single mark.
    let forbidden = names
        .iter()
        .filter(|name| name.starts_with('!'))
        .map(|name| name.trim_start_matches('!').to_owned());
    let forbidden: BTreeSet<String> = forbidden.collect();
    if names.iter().any(|name| name.is_empty()) || forbidden.contains("") {
        let form = if allow_forbidden {
            "HW_CPU_X86_VMX,!CUSTOM_MAGIC"
        } else {
            "HW_CPU_X86_VMX,CUSTOM_MAGIC"
        };
        return Err(Error::InvalidQuery(format!(
            "Expected 'required' parameter value of the form: {form}. Got an empty trait in: {text}"
        )));
    }
    if !forbidden.is_empty() && !allow_forbidden {
        return Err(Error::InvalidQuery(format!(
            "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: {text}"
        )));
    }
    let required = names.into_iter().filter(|name| !name.starts_with('!'));
    Ok(Traits {
        required: required.map(|name| BTreeSet::from([name.to_owned()])).collect(),
        forbidden,
    })
}

fn one_trait_of(text: &str, choice: &str) -> Result<Traits> {
    let names: BTreeSet<String> = choice.split(',').map(|name| strip(name).to_owned()).collect();
    if names.contains("") {
        return Err(Error::InvalidQuery(format!(
            "Expected 'required' parameter value of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: \
             {text}"
        )));
    }
    if names.iter().any(|name| name.starts_with('!')) {
        return Err(Error::InvalidQuery(format!(
            "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden traits. Got: {text}"
        )));
    }
    Ok(Traits {
        required: vec![names],
        forbidden: BTreeSet::new(),
    })
}

/// Combines all `member_of` parameters of the group with this suffix. Before 1.24 only a single parameter is allowed.
pub fn member_of(version: Version, query: &Query, suffix: &str) -> Result<MemberOf> {
    let values = query.all(&format!("member_of{suffix}"));
    if version < REPEATED_MEMBER_OF && values.len() > 1 {
        return bad_request(format!("Multiple member_of{suffix} parameters are not supported"));
    }
    let mut combined = MemberOf::default();
    for value in values {
        let (forbidden, aggregates) = aggregates(value)?;
        if !forbidden {
            combined.any_of.push(aggregates);
        } else if version >= FORBIDDEN_AGGREGATES {
            combined.forbidden.extend(aggregates);
        } else {
            return bad_request(format!(
                "Forbidden member_of{suffix} parameters are not supported in the specified microversion"
            ));
        }
    }
    Ok(combined)
}

/// Parses a uuid, or several uuids after `in:`. A leading `!` forbids the uuids. Returns whether the uuids are
/// forbidden, and the uuids.
pub fn aggregates(text: &str) -> Result<(bool, BTreeSet<String>)> {
    let (forbidden, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let choices = rest.strip_prefix("in:");
    if choices.is_none() && text.contains(',') {
        return bad_request(format!(
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid \
             microversion. Got: {text}"
        ));
    }
    let uuids: BTreeSet<String> = choices.unwrap_or(rest).split(',').map(str::to_owned).collect();
    if let Some(invalid) = uuids.iter().find(|text| uuid::canonical(text).is_none()) {
        return Err(Error::InvalidQuery(format!(
            "Expected 'member_of' parameter to contain valid UUID(s). Got: {invalid}"
        )));
    }
    Ok((forbidden, uuids))
}

/// The refusal of a query with more than `most` groups.
pub fn too_many_groups<T>(most: usize) -> Result<T> {
    bad_request(format!(
        "A query has at most {most} groups: parameters with the same suffix."
    ))
}

/// Parses the uuid of a provider in the requested tree.
pub fn in_tree(text: &str) -> Result<String> {
    let uuid = strip(text);
    if uuid::canonical(uuid).is_none() {
        return Err(Error::InvalidQuery(format!(
            "Expected 'in_tree' parameter to be a format of uuid. Got: {text}"
        )));
    }
    Ok(uuid.to_owned())
}

#[cfg(test)]
mod tests;
