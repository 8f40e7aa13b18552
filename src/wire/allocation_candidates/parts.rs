//! The parts of a query for candidates, and the checks of all parts together.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::error::{Error, Result};
use crate::search::{Group, GroupPolicy, HostConditions, Request, Traits};
use crate::version::{FORBIDDEN_TRAITS, NESTED_CANDIDATES, SAME_SUBTREE, Version};
use crate::wire::bad_request;
use crate::wire::python::repr_list;

/// The most groups of a query, and the most rules of `same_subtree`. The search compares all groups with each other.
pub const MAX_GROUPS: usize = 1_000;

/// The groups by suffix, in the order of their first occurrence.
pub type GroupsBySuffix = IndexMap<String, Group>;

/// The refusal of a value, or of values that contradict each other.
pub fn bad_value<T>(detail: String) -> Result<T> {
    Err(Error::BadQueryValue { detail })
}

/// The parts of a query, each of which is valid by itself.
pub struct QueryParts {
    pub groups: GroupsBySuffix,
    pub group_policy: Option<GroupPolicy>,
    /// The suffixes of each `same_subtree`.
    pub same_subtrees: Vec<BTreeSet<String>>,
    pub root_required: Traits,
    pub host: HostConditions,
    pub limit: Option<usize>,
}

impl QueryParts {
    /// The request of these parts.
    ///
    /// # Errors
    /// Missing resources, unknown suffixes, contradictory traits, and a missing `group_policy`.
    pub fn request(self, version: Version) -> Result<Request> {
        let groups = &self.groups;
        if version >= SAME_SUBTREE {
            check_subtrees(groups, &self.same_subtrees)?;
        } else {
            check_resources(groups)?;
        }
        if version >= FORBIDDEN_TRAITS {
            check_contradictions(groups)?;
        }
        if self.group_policy.is_none() && groups.keys().filter(|suffix| !suffix.is_empty()).count() > 1 {
            return bad_request(
                "The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.",
            );
        }
        let same_subtrees = self.same_subtrees.into_iter();
        Ok(Request {
            groups: self.groups.into_values().collect(),
            group_policy: self.group_policy,
            same_subtrees: same_subtrees.map(|suffixes| suffixes.into_iter().collect()).collect(),
            root_required: self.root_required,
            host: self.host,
            limit: self.limit,
            nested: version >= NESTED_CANDIDATES,
        })
    }
}

/// Refuses a trait of the root if the trait is both required and forbidden.
///
/// # Errors
/// [`Error::BadQueryValue`].
pub fn check_root(traits: &Traits) -> Result<()> {
    let required: BTreeSet<&str> = traits.required.iter().flatten().map(String::as_str).collect();
    let conflicts = required.into_iter().filter(|name| traits.forbidden.contains(*name));
    let conflicts: Vec<&str> = conflicts.collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    bad_value(format!(
        "Conflicting required and forbidden traits found in root_required: {}",
        conflicts.join(", ")
    ))
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
