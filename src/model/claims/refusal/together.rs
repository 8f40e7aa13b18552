//! Why no tree serves the groups of a query together, although trees have a provider for each part.

use std::collections::BTreeMap;

use crate::error::{Reason, ReasonCode, Result};
use crate::search::{GroupConflict, GroupPolicy, Relation, Request, SearchSettings, Snapshot, group_conflict};

/// The reason, with the number of these trees; `None` if there are none. `has_room_beyond`: only the normal limits are
/// in the way.
pub fn conflict(
    snapshot: &Snapshot,
    has_room_beyond: bool,
    request: &Request,
    settings: &SearchSettings,
) -> Result<Option<(Reason, usize)>> {
    let Some(GroupConflict { trees, decisive }) = group_conflict(snapshot, request, settings)? else {
        return Ok(None);
    };
    let sums = sums(request);
    let is_sum = decisive[..] == [Relation::Sum];
    let in_trees = match trees {
        1 => "In one tree".to_owned(),
        _ => format!("In {trees} trees"),
    };
    let listed = || {
        let amounts: Vec<String> = sums.iter().map(|(class, sum)| format!("{sum} of {class}")).collect();
        amounts.join(", ")
    };
    let mut code = ReasonCode::Groups;
    let why = if is_sum && has_room_beyond {
        code = ReasonCode::NoRoomNormal;
        let sums = listed();
        format!("within the normal limit there is too little room for the sum: {sums}")
    } else if is_sum {
        let sums = listed();
        format!("there is too little room, or too small a max_unit, for the sum: {sums}")
    } else if decisive.is_empty() {
        format!("these conditions together exclude that: {}", relations(request))
    } else {
        let ways: Vec<String> = decisive.iter().map(|relation| name(*relation, request)).collect();
        format!("there would be a candidate without {}", ways.join(", or without "))
    };
    let only_sum = match &sums[..] {
        [(class, sum)] if is_sum && *sum < i64::MAX => Some(((*class).to_owned(), *sum)),
        _ => None,
    };
    let (resource_class, requested) = only_sum.unzip();
    let detail =
        format!("{in_trees} each part of the query has a provider, but they cannot serve all parts together; {why}.");
    let reason = Reason {
        resource_class,
        requested,
        ..Reason::new(code, detail)
    };
    Ok(Some((reason, trees)))
}

/// The classes that several groups request, each with the sum.
fn sums(request: &Request) -> Vec<(&str, i64)> {
    let mut sums: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
    for (class, amount) in request.groups.iter().flat_map(|group| &group.resources) {
        let (groups, sum) = sums.entry(class).or_default();
        *groups += 1;
        *sum = sum.saturating_add(*amount);
    }
    let shared = sums.into_iter().filter(|(_, (groups, _))| *groups > 1);
    shared.map(|(class, (_, sum))| (class, sum)).collect()
}

/// A relation in the spelling of the query.
fn name(relation: Relation, request: &Request) -> String {
    let same_subtree = || {
        let rules = request.same_subtrees.iter();
        let rules: Vec<String> = rules.map(|rule| format!("same_subtree={}", rule.join(","))).collect();
        rules.join("&")
    };
    match relation {
        Relation::Isolate => "group_policy=isolate".to_owned(),
        Relation::SameSubtree => same_subtree(),
        Relation::IsolateAndSameSubtree => format!("group_policy=isolate and {}", same_subtree()),
        Relation::Traits => {
            "required, which the providers of the group without a suffix do not meet together".to_owned()
        }
        Relation::Sum => "the amounts".to_owned(),
    }
}

/// All relations between the groups of a request.
fn relations(request: &Request) -> String {
    let relates = |relation: &Relation| match relation {
        Relation::Isolate => request.group_policy == Some(GroupPolicy::Isolate),
        Relation::SameSubtree => !request.same_subtrees.is_empty(),
        Relation::Traits => {
            let mut groups = request.groups.iter();
            groups.any(|group| group.suffix.is_empty() && !group.traits.required.is_empty())
        }
        Relation::Sum => true,
        Relation::IsolateAndSameSubtree => false,
    };
    let all = [
        Relation::Isolate,
        Relation::SameSubtree,
        Relation::Traits,
        Relation::Sum,
    ];
    let names: Vec<String> = all.into_iter().filter(relates).map(|it| name(it, request)).collect();
    names.join("; ")
}
