//! The sentences about conditions that left providers out.

use std::collections::BTreeSet;

use crate::error::{Reason, ReasonCode};
use crate::search::{self, ClassId, Comparison, Expression, Group, Rejection, Request, Snapshot, Traits, Truth};

/// The most names in a sentence.
const MAX_NAMES: usize = 4;

/// A condition, with the number of providers that the condition left out. `is_normal`: only within the normal limit.
pub fn condition(
    snapshot: &Snapshot,
    request: &Request,
    rejection: Rejection,
    is_normal: bool,
    count: usize,
) -> Reason {
    let of_class = |code, (group, class): (usize, ClassId), what: &str| {
        let name = snapshot.catalog().class_name(class);
        let name = name.map_or_else(String::new, |name| name.to_string());
        Reason {
            requested: requested(request, group, &name),
            resource_class: Some(name.clone()),
            ..Reason::new(
                code,
                format!("{count} resource providers {what} {name}{}.", of_group(request, group)),
            )
        }
    };
    let traits = |group| request.groups.get(group).map(|group: &Group| &group.traits);
    let members = |group| request.groups.get(group).map(|group: &Group| &group.member_of);
    let (code, what) = match rejection {
        Rejection::NoRoom { group, class } if is_normal => {
            let what = "have too little room within the normal limit for";
            return of_class(ReasonCode::NoRoomNormal, (group, class), what);
        }
        Rejection::NoRoom { group, class } => {
            return of_class(ReasonCode::NoRoom, (group, class), "have too little room for");
        }
        Rejection::Units { group, class } => {
            return of_class(ReasonCode::Units, (group, class), "do not allow this amount of");
        }
        Rejection::NoInventory { group, class } => {
            return of_class(ReasonCode::NoInventory, (group, class), "have no inventory of");
        }
        Rejection::MissingTraitInTree { group, index } => {
            let what = missing(traits(group), index);
            return Reason::new(ReasonCode::Traits, format!("{count} trees {what} of required."));
        }
        Rejection::Condition { group, verdict } => {
            let detail = described(snapshot, request, (group, verdict), count);
            return Reason::new(ReasonCode::Condition, detail);
        }
        Rejection::MissingTrait { group, index } => {
            let (what, key) = (missing(traits(group), index), keys(request, group, "required"));
            (ReasonCode::Traits, format!("{what} of {key}"))
        }
        Rejection::ForbiddenTrait { group } => {
            let names = traits(group).map_or_else(String::new, |traits| listed(traits.forbidden.iter()));
            let key = keys(request, group, "required");
            (ReasonCode::Traits, format!("have a trait that {key} forbids: {names}"))
        }
        Rejection::NotMember { group } => {
            let sets = members(group).map_or_else(String::new, |members| sets(&members.any_of).join(" and "));
            let key = keys(request, group, "member_of");
            (
                ReasonCode::Aggregates,
                format!("are not in the aggregates of {key}: {sets}"),
            )
        }
        Rejection::ForbiddenMember { group } => {
            let names = members(group).map_or_else(String::new, |members| listed(members.forbidden.iter()));
            let key = keys(request, group, "member_of");
            (
                ReasonCode::Aggregates,
                format!("are in an aggregate that {key} forbids: {names}"),
            )
        }
        Rejection::OtherDomain => (
            ReasonCode::Domain,
            "have a host in no required domain of a dimension".to_owned(),
        ),
        Rejection::ForbiddenDomain => (ReasonCode::Domain, "have a host in a forbidden domain".to_owned()),
        Rejection::State { state } => {
            let state = state.name();
            (
                ReasonCode::State,
                format!("are {state} themselves or below a provider that is"),
            )
        }
        Rejection::Root => {
            let traits = root_traits(&request.root_required);
            let what = format!("have a root whose traits do not match root_required: {traits}");
            (ReasonCode::RootTraits, what)
        }
    };
    Reason::new(code, format!("{count} resource providers {what}."))
}

/// The amount of a class that a group requests. `None` for `i64::MAX`, which stands for any larger amount.
fn requested(request: &Request, group: usize, class: &str) -> Option<i64> {
    let resources = &request.groups.get(group)?.resources;
    let (_, amount) = resources.iter().find(|(name, _)| name == class)?;
    Some(*amount).filter(|amount| *amount < i64::MAX)
}

/// The suffixes of the group, and of groups with the same request.
fn suffixes(request: &Request, group: usize) -> impl Iterator<Item = &str> {
    let asks_the_same = move |other: &&Group| {
        let Some(group) = request.groups.get(group) else {
            return false;
        };
        let Group { suffix, .. } = group;
        suffix.is_empty() == other.suffix.is_empty()
            && *group
                == Group {
                    suffix: suffix.clone(),
                    ..(*other).clone()
                }
    };
    request.groups.iter().filter(asks_the_same).map(|group| &*group.suffix)
}

/// The keys of the query with this name, for the group and for groups with the same request.
fn keys(request: &Request, group: usize, name: &str) -> String {
    let keys: Vec<String> = suffixes(request, group)
        .map(|suffix| format!("{name}{suffix}"))
        .collect();
    listed(keys.iter())
}

/// Empty if the request has a single group.
fn of_group(request: &Request, group: usize) -> String {
    let suffixes: Vec<&str> = suffixes(request, group).collect();
    match suffixes[..] {
        _ if request.groups.len() == 1 => String::new(),
        [""] => " of the group without a suffix".to_owned(),
        _ => format!(" of {}", keys(request, group, "resources")),
    }
}

fn missing(traits: Option<&Traits>, index: usize) -> String {
    let any_of = traits.and_then(|traits| traits.required.get(index));
    let any_of = any_of.into_iter().flatten();
    match any_of.clone().count() {
        1 => format!("lack trait {}", listed(any_of)),
        _ => format!("have none of the traits {}", listed(any_of)),
    }
}

/// Sets of which one name each is required, in the spelling of `member_of` and of `root_required`.
fn sets(all: &[BTreeSet<String>]) -> Vec<String> {
    let sets = all.iter().map(|any_of| match any_of.len() {
        1 => listed(any_of.iter()),
        _ => format!("in:{}", listed(any_of.iter())),
    });
    sets.collect()
}

/// In the spelling of `root_required`.
fn root_traits(traits: &Traits) -> String {
    let mut all = sets(&traits.required);
    all.extend(traits.forbidden.iter().map(|name| format!("!{name}")));
    listed(all.iter())
}

/// The first names.
fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut names = names.map(String::as_str);
    let mut first: Vec<&str> = names.by_ref().take(MAX_NAMES).collect();
    first.extend(names.next().map(|_| "…"));
    first.join(", ")
}

/// Why a condition is not true for `count` providers.
fn described(snapshot: &Snapshot, request: &Request, (group, verdict): (Option<usize>, Truth), count: usize) -> String {
    let group = group.and_then(|index| request.groups.get(index));
    let (condition, suffix, who) = match group {
        Some(group) => (&group.condition, &*group.suffix, "resource providers"),
        None => (&request.host.condition, "", "hosts"),
    };
    let compared = |at: usize| -> Option<Comparison> { condition.comparisons().get(at).map(|&found| found.clone()) };
    match verdict {
        Truth::Missing(at) => {
            let name = compared(at).map_or_else(String::new, |comparison| comparison.name.to_string());
            if is_known(snapshot, &name) {
                format!("{count} {who} lack property {name} of where{suffix}.")
            } else {
                format!("{count} {who} lack property {name} of where{suffix}, which no provider has.")
            }
        }
        Truth::Type(at) => {
            let (name, kind) = compared(at).map_or_else(Default::default, |comparison| {
                (comparison.name.to_string(), comparison.type_name())
            });
            format!("{count} {who} have property {name} of another type than the {kind} in where{suffix}.")
        }
        Truth::True | Truth::False => format!("{count} {who} do not meet where{suffix}: {}.", short(condition)),
    }
}

/// Whether any provider has a property of this name.
fn is_known(snapshot: &Snapshot, name: &str) -> bool {
    search::BUILT_IN_PROPERTIES.contains(&name) || snapshot.is_described_by(name)
}

/// The beginning of a condition, long enough to recognise the condition.
fn short(condition: &Expression) -> String {
    const MAX_CHARACTERS: usize = 100;
    let text = condition.to_string();
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}
