//! The result of a write as one text of bounded length, for the request's line in the log: the consumers that got or
//! lost allocations, the amounts and the providers.

use super::Model;
use super::allocations::{Claim, ConsumerClaim, ProviderShare};
use super::claims::PlacedCall;
use super::reshaper::Reshape;
use super::workloads::{Deleted, Report, WorkloadRow};
use crate::error::named;

/// The most providers of the first consumer in the text, and the most classes of each provider.
const NAMED_PROVIDERS: usize = 3;
const NAMED_CLASSES: usize = 8;

/// A provider's uuid, and the amounts by class.
type GrantedShare<'a> = (&'a str, Vec<(&'a str, i64)>);

/// The allocations by a claim of OpenStack's routes.
pub fn by_claim(model: &Model, claim: &Claim) -> String {
    by_consumers(model, &claim.consumers)
}

fn by_consumers(model: &Model, consumers: &[ConsumerClaim]) -> String {
    let (granting, releasing): (Vec<_>, Vec<_>) = consumers.iter().partition(|it| !it.allocations.is_empty());
    let first = granting.first().map(|first| {
        let shares = first.allocations.iter().map(|(provider, resources)| {
            let amounts = resources.iter().map(|(class, amount)| (class.as_str(), *amount));
            (provider.as_str(), amounts.collect())
        });
        (first.consumer.as_str(), shares.collect())
    });
    let released = releasing.first().map(|first| first.consumer.as_str());
    text(model, (first, granting.len()), (released, releasing.len()))
}

/// The allocations after a reshape.
pub fn by_reshape(model: &Model, reshape: &Reshape) -> String {
    let providers = reshape.providers.iter().map(|reshaped| reshaped.provider.as_str());
    let mut first: Vec<String> = providers.take(NAMED_PROVIDERS).map(|it| provider(model, it)).collect();
    if reshape.providers.len() > NAMED_PROVIDERS {
        first.push(format!("{} more providers", reshape.providers.len() - NAMED_PROVIDERS));
    }
    let inventories = format!("inventories of {}", first.join(", "));
    match by_consumers(model, &reshape.consumers) {
        claims if claims.is_empty() => inventories,
        claims => format!("{claims}; {inventories}"),
    }
}

/// The allocations that `DELETE /allocations/{consumer}` has released.
pub fn by_release(model: &Model, consumer: &str, released: &[ProviderShare]) -> String {
    text(model, (Some((consumer, shares(released))), 1), (None, 0))
}

/// The allocations of the replicas of a deleted workload; `None` if no replica had a place.
pub fn by_deletion(model: &Model, deleted: &Deleted) -> Option<String> {
    let first = deleted.released.first()?;
    let first = (first.row.consumer.as_str(), shares(&first.allocations));
    let text = text(model, (Some(first), deleted.released.len()), (None, 0));
    Some(format!("{}: {text}", workload(&deleted.row)))
}

/// The allocations by a call of `POST /v1/claims`; `None` without allocations.
pub fn by_call(model: &Model, placed: &PlacedCall) -> Option<String> {
    let mut granted = placed.consumers.iter().flatten();
    let first = granted.next()?;
    let granted = 1 + granted.count();
    let first = (first.consumer.as_str(), shares(&first.providers));
    let text = text(model, (Some(first), granted), (None, 0));
    let refused = placed.consumers.len() - granted;
    Some(match refused {
        0 => text,
        _ => format!("{text}; {refused} refused"),
    })
}

/// The allocations and releases of a workload's replicas by a write, and how many plans the write took; `None` if there
/// are neither.
pub fn to_workload(model: &Model, report: &Report) -> Option<String> {
    let change = &report.change;
    if change.placed.is_empty() && change.released.is_empty() {
        return None;
    }
    let first = change.placed.first().and_then(|consumer| {
        let mut replicas = report.replicas.iter().map(|shown| &shown.replica);
        let replica = replicas.find(|replica| replica.row.consumer == *consumer)?;
        Some((consumer.as_str(), shares(&replica.allocations)))
    });
    let released = change.released.first().map(String::as_str);
    let text = text(model, (first, change.placed.len()), (released, change.released.len()));
    let attempts = match change.attempts {
        1 => "1 attempt".to_owned(),
        all => format!("{all} attempts"),
    };
    Some(format!("{}: {text}; {attempts}", workload(&report.row)))
}

fn workload(row: &WorkloadRow) -> String {
    format!("workload {}", named(Some(&row.name), &row.uuid))
}

/// The first consumer with allocations, and the number of these consumers.
type FirstGranted<'a> = (Option<(&'a str, Vec<GrantedShare<'a>>)>, usize);
/// The first consumer without allocations now, and the number of these consumers.
type FirstReleased<'a> = (Option<&'a str>, usize);

fn text(model: &Model, (first, granted): FirstGranted<'_>, released: FirstReleased<'_>) -> String {
    let mut parts = Vec::new();
    if let Some((consumer, shares)) = first {
        let who = match granted {
            1 => format!("consumer {consumer}"),
            all => format!("{all} consumers, the first {consumer}"),
        };
        parts.push(format!("{who}: {}", places(model, &shares)));
    }
    parts.extend(match released {
        (None, _) => None,
        (Some(first), 1) => Some(format!("1 released: {first}")),
        (Some(first), all) => Some(format!("{all} released, the first {first}")),
    });
    parts.join("; ")
}

/// The first providers by name and uuid, with the amounts.
fn places(model: &Model, shares: &[GrantedShare<'_>]) -> String {
    let place = |(uuid, amounts): &GrantedShare<'_>| {
        let shown = amounts.iter().take(NAMED_CLASSES);
        let mut classes: Vec<String> = shown.map(|(class, amount)| format!("{class}:{amount}")).collect();
        if amounts.len() > NAMED_CLASSES {
            classes.push("…".to_owned());
        }
        format!("{} on {}", classes.join(","), provider(model, uuid))
    };
    let mut places: Vec<String> = shares.iter().take(NAMED_PROVIDERS).map(place).collect();
    if shares.len() > NAMED_PROVIDERS {
        places.push(format!("{} more providers", shares.len() - NAMED_PROVIDERS));
    }
    places.join(", ")
}

/// The provider's name and uuid.
fn provider(model: &Model, uuid: &str) -> String {
    let snapshot = model.store.newest();
    let name = snapshot.by_uuid(uuid).map(|slot| snapshot.name(slot));
    named(name, uuid)
}

fn shares(all: &[ProviderShare]) -> Vec<GrantedShare<'_>> {
    let shares = all.iter().map(|share| {
        let amounts = share.resources.iter().map(|(class, amount)| (&**class, *amount));
        (&*share.provider, amounts.collect())
    });
    shares.collect()
}
