//! Why a query has no candidate: for each condition, how many providers it left out.
//!
//! Only a refused query is examined so, because no block of providers can be skipped then.

use std::collections::BTreeMap;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::search::{
    self, ClassId, Comparison, Explain, Expression, Rejection, Request, SearchSettings, Slot, Snapshot, Verdict,
};

/// How many providers each condition left out.
#[derive(Default)]
struct Counter(BTreeMap<Rejection, usize>);

impl Explain for Counter {
    fn rejected(&mut self, _: Slot, reason: Rejection) {
        *self.0.entry(reason).or_default() += 1;
    }
}

/// The reasons: first that there is no candidate, then the conditions, those that left out most before the others.
/// `beyond` is the snapshot without normal limits, if `snapshot` has them: what has room there lacks only normal room.
///
/// # Errors
/// As of [`search::candidates`].
pub fn reasons(
    snapshot: &Snapshot,
    beyond: Option<&Snapshot>,
    request: &Request,
    settings: &SearchSettings,
) -> Result<Reasons> {
    let counter = count(snapshot, request, settings)?;
    let beyond = beyond.map(|beyond| count(beyond, request, settings)).transpose()?;
    let providers = snapshot.len();
    let mut reasons = Reasons::from(Reason::new(
        ReasonCode::NoCandidate,
        format!("None of the {providers} resource providers, nor several of a tree together, can serve the query."),
    ));
    let mut counts: Vec<(Rejection, bool, usize)> = Vec::new();
    for (rejection, all) in counter.0 {
        let hard = match (rejection, &beyond) {
            (Rejection::NoRoom { .. }, Some(beyond)) => beyond.0.get(&rejection).copied().unwrap_or(0).min(all),
            _ => all,
        };
        counts.push((rejection, false, hard));
        counts.push((rejection, true, all - hard));
    }
    counts.retain(|(.., count)| *count > 0);
    counts.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    for (rejection, is_normal, count) in counts {
        reasons.add_counted(condition(snapshot, request, rejection, is_normal, count), count);
    }
    Ok(reasons)
}

/// The conditions that leave providers out, room among them: those that left out most come first, each with the number.
///
/// # Errors
/// As of [`search::candidates`].
pub fn conditions(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Vec<(Reason, usize)>> {
    let counter = count(snapshot, request, settings)?;
    let mut counts: Vec<(Rejection, usize)> = counter.0.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let reasons = counts
        .into_iter()
        .map(|(rejection, count)| (condition(snapshot, request, rejection, false, count), count));
    Ok(reasons.collect())
}

fn count(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Counter> {
    let mut counter = Counter::default();
    search::candidates(snapshot, request, settings, &mut counter)?.next();
    Ok(counter)
}

/// One condition, with the number of providers that it left out. `is_normal`: within the normal limit only.
fn condition(snapshot: &Snapshot, request: &Request, rejection: Rejection, is_normal: bool, count: usize) -> Reason {
    let of_class = |code, class: ClassId, what: &str| {
        let name = snapshot
            .catalog()
            .class_name(class)
            .map_or_else(String::new, |name| name.to_string());
        Reason {
            requested: requested(request, &name),
            resource_class: Some(name.clone()),
            ..Reason::new(code, format!("{count} resource providers {what} {name}."))
        }
    };
    let other = |code, what: &str| Reason::new(code, format!("{count} resource providers {what}."));
    match rejection {
        Rejection::NoRoom { class } if is_normal => of_class(
            ReasonCode::NoRoomNormal,
            class,
            "have too little room within the normal limit for",
        ),
        Rejection::NoRoom { class } => of_class(ReasonCode::NoRoom, class, "have too little room for"),
        Rejection::Units { class } => of_class(ReasonCode::Units, class, "do not allow this amount of"),
        Rejection::NoInventory { class } => of_class(ReasonCode::NoInventory, class, "have no inventory of"),
        Rejection::MissingTrait { .. } => other(ReasonCode::Traits, "lack a required trait"),
        Rejection::ForbiddenTrait => other(ReasonCode::Traits, "have a forbidden trait"),
        Rejection::NotMember => other(ReasonCode::Aggregates, "are not in a required aggregate"),
        Rejection::ForbiddenMember => other(ReasonCode::Aggregates, "are in a forbidden aggregate"),
        Rejection::OtherDomain => other(ReasonCode::Domain, "have a host in no required domain of a dimension"),
        Rejection::ForbiddenDomain => other(ReasonCode::Domain, "have a host in a forbidden domain"),
        Rejection::Condition { group, verdict } => {
            let detail = described(snapshot, request, (group, verdict), count);
            Reason::new(ReasonCode::Condition, detail)
        }
        Rejection::State { state } => {
            let what = format!("are {} themselves or below a provider that is", state.name());
            other(ReasonCode::State, &what)
        }
        Rejection::Root => other(
            ReasonCode::RootTraits,
            "have a root whose traits do not match root_required",
        ),
    }
}

/// Why a condition is not true for `count` providers.
fn described(
    snapshot: &Snapshot,
    request: &Request,
    (group, verdict): (Option<usize>, Verdict),
    count: usize,
) -> String {
    let group = group.and_then(|index| request.groups.get(index));
    let (condition, suffix, who) = match group {
        Some(group) => (&group.condition, &*group.suffix, "resource providers"),
        None => (&request.host.condition, "", "hosts"),
    };
    let compared = |at: usize| -> Option<Comparison> { condition.comparisons().get(at).map(|&found| found.clone()) };
    match verdict {
        Verdict::Missing(at) => {
            let name = compared(at).map_or_else(String::new, |comparison| comparison.name.to_string());
            if is_known(snapshot, &name) {
                format!("{count} {who} lack property {name} of where{suffix}.")
            } else {
                format!("{count} {who} lack property {name} of where{suffix}, which no provider has.")
            }
        }
        Verdict::Type(at) => {
            let (name, kind) = compared(at).map_or_else(Default::default, |comparison| {
                (comparison.name.to_string(), comparison.type_name())
            });
            format!("{count} {who} have property {name} of another type than the {kind} in where{suffix}.")
        }
        Verdict::True | Verdict::False => format!("{count} {who} do not meet where{suffix}: {}.", short(condition)),
    }
}

/// Whether any provider has a property of this name.
fn is_known(snapshot: &Snapshot, name: &str) -> bool {
    search::BUILT_IN_PROPERTIES.contains(&name) || snapshot.is_described_by(name)
}

/// The beginning of a condition, enough to know which one it is.
fn short(condition: &Expression) -> String {
    const MAX_CHARACTERS: usize = 100;
    let text = condition.to_string();
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// The amount of a class, if only one group requests it.
fn requested(request: &Request, class: &str) -> Option<i64> {
    let groups = request.groups.iter().flat_map(|group| &group.resources);
    let mut amounts = groups.filter(|(name, _)| name == class).map(|(_, amount)| *amount);
    amounts.next().filter(|_| amounts.next().is_none())
}
