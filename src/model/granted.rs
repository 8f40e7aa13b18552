//! The result of a write as one text of bounded length, for the request's line in the log: the consumers, the amounts
//! and the providers.

use super::Model;
use super::allocations::{Claim, ProviderShare};
use super::claims::PlacedCall;
use super::workloads::Report;
use crate::error::named;

/// The most providers of the first consumer in the text, and the most classes of each provider.
const NAMED_PROVIDERS: usize = 3;
const NAMED_CLASSES: usize = 8;

/// A provider's uuid, and the amounts by class.
type GrantedShare<'a> = (&'a str, Vec<(&'a str, i64)>);

/// The allocations by a claim of OpenStack's routes.
pub fn by_claim(model: &Model, claim: &Claim) -> String {
    let granting = || claim.consumers.iter().filter(|it| !it.allocations.is_empty());
    let granted = granting().count();
    let first = granting().next().map(|first| {
        let shares = first.allocations.iter().map(|(provider, resources)| {
            let amounts = resources.iter().map(|(class, amount)| (class.as_str(), *amount));
            (provider.as_str(), amounts.collect())
        });
        (first.consumer.as_str(), shares.collect())
    });
    text(model, first, granted, claim.consumers.len() - granted)
}

/// The allocations by a call of `POST /v1/claims`; `None` without allocations.
pub fn by_call(model: &Model, placed: &PlacedCall) -> Option<String> {
    let mut granted = placed.consumers.iter().flatten();
    let first = granted.next()?;
    let granted = 1 + granted.count();
    let text = text(model, Some((&first.consumer, shares(&first.providers))), granted, 0);
    let refused = placed.consumers.len() - granted;
    Some(match refused {
        0 => text,
        _ => format!("{text}; {refused} refused"),
    })
}

/// The allocations and releases of a workload's replicas by a write; `None` if there are neither.
pub fn to_workload(model: &Model, report: &Report) -> Option<String> {
    let change = &report.change;
    if change.placed.is_empty() && change.released == 0 {
        return None;
    }
    let first = change.placed.first().and_then(|consumer| {
        let mut replicas = report.replicas.iter().map(|shown| &shown.replica);
        let replica = replicas.find(|replica| replica.row.consumer == *consumer)?;
        Some((consumer.as_str(), shares(&replica.allocations)))
    });
    let text = text(model, first, change.placed.len(), change.released);
    Some(format!(
        "workload {}: {text}",
        named(Some(&report.row.name), &report.row.uuid)
    ))
}

/// `first` is the first consumer with new allocations, `granted` the number of these consumers. `released`
/// consumers lost allocations.
fn text(model: &Model, first: Option<(&str, Vec<GrantedShare<'_>>)>, granted: usize, released: usize) -> String {
    let mut parts = Vec::new();
    if let Some((consumer, shares)) = first {
        let who = match granted {
            1 => format!("consumer {consumer}"),
            all => format!("{all} consumers, the first {consumer}"),
        };
        parts.push(format!("{who}: {}", places(model, &shares)));
    }
    if released > 0 {
        parts.push(format!("{released} released"));
    }
    parts.join("; ")
}

/// The first providers by name and uuid, with the amounts.
fn places(model: &Model, shares: &[GrantedShare<'_>]) -> String {
    let snapshot = model.store.newest();
    let place = |(provider, amounts): &GrantedShare<'_>| {
        let shown = amounts.iter().take(NAMED_CLASSES);
        let mut classes: Vec<String> = shown.map(|(class, amount)| format!("{class}:{amount}")).collect();
        if amounts.len() > NAMED_CLASSES {
            classes.push("…".to_owned());
        }
        let name = snapshot.by_uuid(provider).map(|slot| snapshot.name(slot));
        format!("{} on {}", classes.join(","), named(name, provider))
    };
    let mut places: Vec<String> = shares.iter().take(NAMED_PROVIDERS).map(place).collect();
    if shares.len() > NAMED_PROVIDERS {
        places.push(format!("{} more providers", shares.len() - NAMED_PROVIDERS));
    }
    places.join(", ")
}

fn shares(all: &[ProviderShare]) -> Vec<GrantedShare<'_>> {
    let shares = all.iter().map(|share| {
        let amounts = share.resources.iter().map(|(class, amount)| (&**class, *amount));
        (&*share.provider, amounts.collect())
    });
    shares.collect()
}
