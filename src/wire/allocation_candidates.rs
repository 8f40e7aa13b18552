//! Parses the query of `GET /allocation_candidates`. The submodule `answer` writes the answer.

mod answer;

use std::collections::{BTreeSet, HashSet};

use indexmap::IndexMap;

use super::filters::Zero;
use super::python::{repr_list, strip};
use super::query::Query;
use super::steps::Steps;
use super::{bad_request, filters, integer, native_keys};
use crate::error::{Error, Result};
use crate::search::{Group, GroupPolicy, Request, Traits};
use crate::version::{FORBIDDEN_TRAITS, NESTED_CANDIDATES, SAME_SUBTREE, Version};

pub use answer::CandidatesAnswer;

static LIST: Steps = Steps::of_query(include_str!("schemas/allocation_candidates.json"), "list");

/// The names of a group's parameters, without the suffix.
const PREFIXES: [&str; 5] = ["resources", "required", "member_of", "in_tree", native_keys::WHERE];

/// The most groups of a query, and the most rules of `same_subtree`. The search compares all groups with each other.
const MAX_GROUPS: usize = 1_000;

/// The groups by suffix, in the order of their first occurrence.
type GroupsBySuffix = IndexMap<String, Group>;

fn bad_value<T>(detail: String) -> Result<T> {
    Err(Error::BadQueryValue { detail })
}

/// Reads the query string of `GET /allocation_candidates`.
pub fn read_list(version: Version, query: &str) -> Result<Request> {
    read_request(version, &Query::read(&LIST, version, query)?, Zero::Refused)
}

/// Reads a query after validation by a schema. Parameters with unknown names are ignored.
pub fn read_request(version: Version, query: &Query, zero: Zero) -> Result<Request> {
    let limit = limit(query)?;
    let policy = query.all("group_policy").first().copied();
    let root_required = root_required(query)?;
    let same_subtrees = same_subtrees(query)?;
    let host = native_keys::host_conditions(query)?;
    let mut groups = groups(version, query, zero)?;
    if zero == Zero::Nothing {
        leave_out_empty(&mut groups, &same_subtrees);
    }
    if version >= SAME_SUBTREE {
        check_subtrees(&groups, &same_subtrees)?;
    } else {
        check_resources(&groups)?;
    }
    if version >= FORBIDDEN_TRAITS {
        check_contradictions(&groups)?;
    }
    if policy.is_none() && groups.keys().filter(|suffix| !suffix.is_empty()).count() > 1 {
        return bad_request(
            "The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.",
        );
    }
    Ok(Request {
        groups: groups.into_values().collect(),
        group_policy: policy.map(|name| match name {
            "isolate" => GroupPolicy::Isolate,
            _ => GroupPolicy::None,
        }),
        same_subtrees: same_subtrees
            .into_iter()
            .map(|suffixes| suffixes.into_iter().collect())
            .collect(),
        root_required,
        host,
        limit,
        nested: version >= NESTED_CANDIDATES,
    })
}

/// The first `limit` counts, although the schema validated the last `limit`.
fn limit(query: &Query) -> Result<Option<usize>> {
    let Some(&text) = query.all("limit").first() else {
        return Ok(None);
    };
    match integer::decimal(text) {
        Some(limit @ 1..) => Ok(Some(usize::try_from(limit).unwrap_or(usize::MAX))),
        _ => Err(Error::InvalidQuery(format!(
            "'limit' must be an integer of at least 1. Got: {text}"
        ))),
    }
}

fn root_required(query: &Query) -> Result<Traits> {
    let texts = query.all("root_required");
    let Some(text) = texts.first() else {
        return Ok(Traits::default());
    };
    query.check_single(&["root_required"])?;
    let traits = filters::traits(text, true, false)?;
    let required: BTreeSet<&str> = traits.required.iter().flatten().map(String::as_str).collect();
    let conflicts: Vec<&str> = required
        .into_iter()
        .filter(|name| traits.forbidden.contains(*name))
        .collect();
    if !conflicts.is_empty() {
        let conflicts = conflicts.join(", ");
        return bad_value(format!(
            "Conflicting required and forbidden traits found in root_required: {conflicts}"
        ));
    }
    Ok(traits)
}

fn same_subtrees(query: &Query) -> Result<Vec<BTreeSet<String>>> {
    let texts = query.all("same_subtree");
    if texts.len() > MAX_GROUPS {
        return bad_request(format!(
            "same_subtree occurs {} times; a query has at most {MAX_GROUPS} of them.",
            texts.len()
        ));
    }
    let subtrees = texts.into_iter().map(|text| {
        let suffixes: BTreeSet<String> = text.split(',').map(|suffix| strip(suffix).to_owned()).collect();
        if suffixes.contains("") {
            return bad_value("Empty string (unsuffixed group) can not be specified in `same_subtree` ".to_owned());
        }
        Ok(suffixes)
    });
    subtrees.collect()
}

fn groups(version: Version, query: &Query, zero: Zero) -> Result<GroupsBySuffix> {
    let mut groups = GroupsBySuffix::new();
    let mut names = HashSet::new();
    for (name, text) in query.pairs() {
        // The schema has checked whether the version allows the suffix.
        let split = PREFIXES
            .iter()
            .find_map(|prefix| Some((*prefix, name.strip_prefix(prefix)?)));
        let Some((prefix, suffix)) = split else { continue };
        // As a Python pattern, the schema accepts a final line feed. The line feed does not belong to the suffix.
        let suffix = suffix.strip_suffix('\n').unwrap_or(suffix);
        // Without a suffix it is a condition on the host, which belongs to no group.
        if name == native_keys::WHERE {
            continue;
        }
        if groups.len() == MAX_GROUPS && !groups.contains_key(suffix) {
            return bad_request(format!(
                "A query has at most {MAX_GROUPS} groups: parameters with the same suffix."
            ));
        }
        let group = groups.entry(suffix.to_owned()).or_insert_with(|| Group {
            suffix: suffix.to_owned(),
            ..Group::default()
        });
        // The last `resources` and `in_tree` count. `required` and `member_of` are read once, with all values.
        let first = names.insert(name);
        match prefix {
            "resources" => group.resources = filters::resources(text, zero)?,
            native_keys::WHERE => group.condition = native_keys::condition(query, name)?,
            "in_tree" => group.in_tree = Some(filters::in_tree(text)?),
            _ if !first => {}
            "required" => group.traits = filters::required(version, query, suffix)?,
            _ => group.member_of = filters::member_of(version, query, suffix)?,
        }
    }
    Ok(groups)
}

/// Leaves out the groups which ask for nothing, because all their amounts are 0. A group of a subtree stays.
fn leave_out_empty(groups: &mut GroupsBySuffix, subtrees: &[BTreeSet<String>]) {
    groups.retain(|suffix, group| {
        let empty = Group {
            suffix: suffix.clone(),
            ..Group::default()
        };
        *group != empty || subtrees.iter().any(|it| it.contains(suffix))
    });
}

/// Before 1.36 every group must have resources.
fn check_resources(groups: &GroupsBySuffix) -> Result<()> {
    let resourceless = || groups.values().filter(|group| group.resources.is_empty());
    let orphans = |name: &str, has: fn(&Group) -> bool| {
        let orphans = resourceless()
            .filter(|group| has(group))
            .map(|group| format!("{name}{}", group.suffix));
        orphans.collect::<Vec<_>>().join(", ")
    };
    let orphaned = orphans("required", |group| !group.traits.required.is_empty());
    if !orphaned.is_empty() {
        return bad_request(format!(
            "All traits parameters must be associated with resources.  Found the following orphaned traits keys: \
             {orphaned}"
        ));
    }
    let orphaned = orphans("member_of", |group| group.member_of != Default::default());
    if !orphaned.is_empty() {
        return bad_request(format!(
            "All member_of parameters must be associated with resources. Found the following orphaned member_of keys: \
             {orphaned}"
        ));
    }
    if resourceless().next().is_some() {
        return bad_request("All request groups must specify resources.");
    }
    if groups.is_empty() {
        return bad_request("At least one request group (`resources` or `resources{$S}`) is required.");
    }
    Ok(())
}

/// From 1.36 on, a group in `same_subtree` may be without resources.
fn check_subtrees(groups: &GroupsBySuffix, subtrees: &[BTreeSet<String>]) -> Result<()> {
    let in_subtrees: BTreeSet<&str> = subtrees.iter().flatten().map(String::as_str).collect();
    let resourceless = groups
        .values()
        .filter(|group| group.resources.is_empty())
        .map(|group| group.suffix.as_str());
    let resourceless: Vec<&str> = resourceless.collect();
    if resourceless.len() == groups.len() {
        return Err(Error::MissingQueryValue {
            detail: "There must be at least one resources or resources[$S] parameter.".to_owned(),
        });
    }
    let bad: Vec<&str> = resourceless
        .into_iter()
        .filter(|suffix| !in_subtrees.contains(suffix))
        .collect();
    if !bad.is_empty() {
        return bad_value(format!(
            "Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - {}.",
            repr_list(bad)
        ));
    }
    let bad: Vec<&str> = in_subtrees
        .into_iter()
        .filter(|suffix| !groups.contains_key(*suffix))
        .collect();
    if !bad.is_empty() {
        return bad_value(format!(
            "Real suffixes should be specified in `same_subtree`: {} not found in {}.",
            repr_list(bad),
            repr_list(groups.keys().map(String::as_str))
        ));
    }
    Ok(())
}

fn check_contradictions(groups: &GroupsBySuffix) -> Result<()> {
    let mut conflicts: Vec<String> = Vec::new();
    for group in groups.values() {
        let contradictory = group
            .traits
            .required
            .iter()
            .filter(|choice| choice.is_subset(&group.traits.forbidden));
        conflicts.extend(contradictory.map(|choice| {
            let names: Vec<&str> = choice.iter().map(String::as_str).collect();
            format!("required{}: ({})", group.suffix, names.join(", "))
        }));
    }
    if conflicts.is_empty() {
        return Ok(());
    }
    conflicts.sort();
    bad_request(format!(
        "Conflicting required and forbidden traits found in the following traits keys: {}",
        conflicts.join(", ")
    ))
}

#[cfg(test)]
mod tests;
