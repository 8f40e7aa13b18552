//! A query as a request for candidates.

use super::parameters::{GroupParameters, QueryParameters};
use super::values::joined;
use crate::error::Result;
use crate::search::{Group, HostConditions, Request};
use crate::version::Version;
use crate::wire::allocation_candidates::{MAX_GROUPS, QueryParts, check_root};
use crate::wire::native::UnreadParameters;
use crate::wire::native_keys::{WHERE, condition};

/// Reads the parameters that say what is wanted. `LEAST` is the least amount of a class; an amount of 0 leaves the
/// class out. Only providers with the state `up` get anything new from the native API.
///
/// # Errors
/// The first wrong parameter, or a contradiction of parameters.
pub fn read_request<const LEAST: i64>(mut parameters: UnreadParameters) -> Result<Request> {
    let query: QueryParameters = parameters.take()?;
    let groups: Vec<(String, GroupParameters<LEAST>)> = parameters.take_groups(MAX_GROUPS)?;
    parameters.check_all_taken()?;
    let root_required = query.root_required.0;
    check_root(&root_required)?;
    let host = HostConditions {
        condition: condition(WHERE, &query.condition)?,
        in_domains: query.in_domain.0.into_iter().map(|domain| domain.0).collect(),
        not_in_domains: query.not_in_domain.0.into_iter().map(|domain| domain.0).collect(),
        only_up: true,
    };
    let parts = QueryParts {
        groups: groups.into_iter().map(group).collect::<Result<_>>()?,
        group_policy: query.group_policy.map(|policy| policy.0),
        same_subtrees: query.same_subtree.0.into_iter().map(|suffixes| suffixes.0).collect(),
        root_required,
        host,
        limit: None,
    };
    let parts = match LEAST {
        0 => without_empty_groups(parts),
        _ => parts,
    };
    parts.request(Version::MAX)
}

fn group<const LEAST: i64>((suffix, parameters): (String, GroupParameters<LEAST>)) -> Result<(String, Group)> {
    let (traits, member_of) = joined(parameters.required.0, parameters.member_of.0);
    let amounts = parameters.resources.0.into_iter();
    let group = Group {
        suffix: suffix.clone(),
        resources: amounts.filter(|(_, amount)| *amount > 0).collect(),
        traits,
        member_of,
        in_tree: parameters.in_tree.map(|uuid| uuid.0),
        condition: condition(&format!("{WHERE}{suffix}"), &parameters.condition)?,
    };
    Ok((suffix, group))
}

/// Leaves out the groups which ask for nothing, because all their amounts are 0. A group of a subtree stays.
fn without_empty_groups(mut parts: QueryParts) -> QueryParts {
    let subtrees = &parts.same_subtrees;
    parts.groups.retain(|suffix, group| {
        let empty = Group {
            suffix: suffix.clone(),
            ..Group::default()
        };
        *group != empty || subtrees.iter().any(|suffixes| suffixes.contains(suffix))
    });
    parts
}
