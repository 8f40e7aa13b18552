//! Why a query has no candidate: for each condition, how many providers it left out.
//!
//! Only a refused query is examined so, because no block of providers can be skipped then.

use std::collections::BTreeMap;

use crate::error::{Reason, ReasonCode, Reasons, Result};
use crate::search::{self, ClassId, Explain, Rejection, Request, SearchSettings, Slot, Snapshot};

/// How many providers each condition left out.
#[derive(Default)]
struct Counter(BTreeMap<Rejection, usize>);

impl Explain for Counter {
    fn rejected(&mut self, _: Slot, reason: Rejection) {
        *self.0.entry(reason).or_default() += 1;
    }
}

/// The reasons: first that there is no candidate, then the conditions, those that left out most before the others.
///
/// # Errors
/// As of [`search::candidates`].
pub fn reasons(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<Reasons> {
    let mut counter = Counter::default();
    search::candidates(snapshot, request, settings, &mut counter)?.next();
    let providers = snapshot.len();
    let mut reasons = Reasons::from(Reason::new(
        ReasonCode::NoCandidate,
        format!("None of the {providers} resource providers, nor several of a tree together, can serve the query."),
    ));
    let mut counts: Vec<(Rejection, usize)> = counter.0.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (rejection, count) in counts {
        reasons.add_counted(condition(snapshot, request, rejection, count), count);
    }
    Ok(reasons)
}

/// One condition, with the number of providers that it left out.
fn condition(snapshot: &Snapshot, request: &Request, rejection: Rejection, count: usize) -> Reason {
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
        Rejection::NoRoom { class } => of_class(ReasonCode::NoRoom, class, "have too little room for"),
        Rejection::Units { class } => of_class(ReasonCode::Units, class, "do not allow this amount of"),
        Rejection::NoInventory { class } => of_class(ReasonCode::NoInventory, class, "have no inventory of"),
        Rejection::MissingTrait { .. } => other(ReasonCode::Traits, "lack a required trait"),
        Rejection::ForbiddenTrait => other(ReasonCode::Traits, "have a forbidden trait"),
        Rejection::NotMember => other(ReasonCode::Aggregates, "are not in a required aggregate"),
        Rejection::ForbiddenMember => other(ReasonCode::Aggregates, "are in a forbidden aggregate"),
        Rejection::Root => other(
            ReasonCode::RootTraits,
            "have a root whose traits do not match root_required",
        ),
    }
}

/// The amount of a class, if only one group requests it.
fn requested(request: &Request, class: &str) -> Option<i64> {
    let groups = request.groups.iter().flat_map(|group| &group.resources);
    let mut amounts = groups.filter(|(name, _)| name == class).map(|(_, amount)| *amount);
    amounts.next().filter(|_| amounts.next().is_none())
}
