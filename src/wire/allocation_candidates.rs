//! Parses the query of `GET /allocation_candidates`. The submodule `answer` writes the answer.

mod answer;
mod parts;

use std::collections::{BTreeSet, HashSet};

use parts::bad_value;
pub use parts::{GroupsBySuffix, MAX_GROUPS, QueryParts, check_root};

use super::python::strip;
use super::query::Query;
use super::steps::Steps;
use super::{bad_request, filters, integer};
use crate::error::{Error, Result};
use crate::search::{Group, GroupPolicy, HostConditions, Request, Traits};
use crate::version::Version;

pub use answer::CandidatesAnswer;

static LIST: Steps = Steps::of_query(include_str!("schemas/allocation_candidates.json"), "list");

/// The names of a group's parameters, without the suffix.
const PREFIXES: [&str; 4] = ["resources", "required", "member_of", "in_tree"];

/// Reads the query string of `GET /allocation_candidates`.
pub fn read_list(version: Version, query: &str) -> Result<Request> {
    read_request(version, &Query::read(&LIST, version, query)?)
}

/// Reads a query after validation by the schema.
fn read_request(version: Version, query: &Query) -> Result<Request> {
    let limit = limit(query)?;
    let policy = query.all("group_policy").first().copied();
    let parts = QueryParts {
        root_required: root_required(query)?,
        same_subtrees: same_subtrees(query)?,
        groups: groups(version, query)?,
        group_policy: policy.map(|name| match name {
            "isolate" => GroupPolicy::Isolate,
            _ => GroupPolicy::None,
        }),
        host: HostConditions::default(),
        limit,
    };
    parts.request(version)
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
    query.check_single("root_required")?;
    let traits = filters::traits(text, true, false)?;
    check_root(&traits)?;
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

fn groups(version: Version, query: &Query) -> Result<GroupsBySuffix> {
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
        if groups.len() == MAX_GROUPS && !groups.contains_key(suffix) {
            return filters::too_many_groups(MAX_GROUPS);
        }
        let group = groups.entry(suffix.to_owned()).or_insert_with(|| Group {
            suffix: suffix.to_owned(),
            ..Group::default()
        });
        // The last `resources` and `in_tree` count. `required` and `member_of` are read once, with all values.
        let first = names.insert(name);
        match prefix {
            "resources" => group.resources = filters::resources(text)?,
            "in_tree" => group.in_tree = Some(filters::in_tree(text)?),
            _ if !first => {}
            "required" => group.traits = filters::required(version, query, suffix)?,
            _ => group.member_of = filters::member_of(version, query, suffix)?,
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests;
