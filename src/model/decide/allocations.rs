//! The rules of claims and releases.
//!
//! Which generations move is upstream's, because clients compare them (ARCHITECTURE.md, rule 2): every provider that
//! a claim names, each that a wiped consumer had, and every consumer that keeps something; not a provider that a
//! replacement or a `DELETE` merely releases.

use std::collections::{BTreeMap, BTreeSet};

use super::Rules;
use crate::error::{Error, Result};
use crate::model::allocations::{Claim, ConsumerClaim, Expected, Given, Release};
use crate::model::inventories::Inventory;
use crate::model::state::{ConsumerRow, State};
use crate::search::{ClassId, ProviderId};

/// What one consumer asks of one provider and class, with ids instead of names.
pub struct Ask<'a> {
    pub consumer: &'a str,
    pub provider: ProviderId,
    pub class: ClassId,
    pub amount: i64,
}

/// `PUT /allocations/{consumer}` and `POST /allocations`: all of it, or nothing.
pub fn claim(state: &mut State, rules: &Rules, claim: &Claim) -> Result<()> {
    for one in &claim.consumers {
        check_consumer(state, one)?;
    }
    let shares = find_providers(state, &claim.consumers)?;
    let asks = find_classes(state, shares, |class| unknown_class(claim, class))?;
    let change = Change::of(state, &claim.consumers, asks);
    check_room(state, rules, &Interim::new(), &change)?;
    apply(state, rules, &claim.consumers, &change.asks);
    Ok(())
}

/// `DELETE /allocations/{consumer}`.
pub fn release(state: &mut State, release: &Release) -> Result<()> {
    if state.consumer(&release.consumer).allocations.is_empty() {
        return Err(Error::NoAllocations {
            consumer: release.consumer.clone(),
        });
    }
    state.take_allocations(&release.consumer);
    state.consumer(&release.consumer).now = None;
    Ok(())
}

pub fn check_consumer(state: &mut State, one: &ConsumerClaim) -> Result<()> {
    let exists = state.consumer(&one.consumer).now.as_ref().map(|row| row.generation);
    let given = match &one.generation {
        Expected::Is(generation) => Some(Given::from(*generation)),
        Expected::Spelled(given) => Some(given.clone()),
        Expected::Any => return Ok(()),
        Expected::New => None,
    };
    let (expected, got) = match (given, exists) {
        (None, None) => return Ok(()),
        (Some(given), Some(generation)) if given.generation == generation => return Ok(()),
        (Some(given), Some(generation)) => (generation.to_string(), given.spelled),
        (Some(given), None) => ("null".to_owned(), given.spelled),
        // Upstream prints the null it was given as its own language does, and clients match on it.
        (None, Some(generation)) => (generation.to_string(), "None".to_owned()),
    };
    Err(Error::StaleConsumerGeneration { expected, got })
}

/// What one consumer asks of one provider: classes still by name.
type Share<'a> = (&'a str, ProviderId, &'a [(String, i64)]);

/// The providers that the consumers name: an unknown one is refused before an unknown class.
pub fn find_providers<'a>(state: &State, consumers: &'a [ConsumerClaim]) -> Result<Vec<Share<'a>>> {
    let mut shares = Vec::new();
    for one in consumers {
        for (uuid, resources) in &one.allocations {
            let provider = state
                .find_provider(uuid)
                .ok_or_else(|| Error::ClaimProviderNotFound { uuid: uuid.clone() })?;
            shares.push((one.consumer.as_str(), provider, resources.as_slice()));
        }
    }
    Ok(shares)
}

/// The classes that the shares name; `unknown` says how an unknown one is refused.
pub fn find_classes<'a>(
    state: &State,
    shares: Vec<Share<'a>>,
    unknown: impl Fn(&str) -> Error,
) -> Result<Vec<Ask<'a>>> {
    let mut asks = Vec::new();
    for (consumer, provider, resources) in shares {
        for (name, amount) in resources {
            asks.push(Ask {
                consumer,
                provider,
                class: state.class_id(name).ok_or_else(|| unknown(name))?,
                amount: *amount,
            });
        }
    }
    Ok(asks)
}

fn unknown_class(claim: &Claim, class: &str) -> Error {
    let named = claim.consumers.first().filter(|_| claim.names_consumer);
    Error::ClaimClassNotFound {
        context: named.map_or_else(String::new, |one| format!("for consumer {}: ", one.consumer)),
        class: class.to_owned(),
    }
}

/// By provider and class, an amount.
pub type Sums = BTreeMap<(ProviderId, ClassId), i64>;

/// Inventories that hold while a reshape is judged, in the place of those that the providers have.
pub type Interim = BTreeMap<ProviderId, BTreeMap<ClassId, Inventory>>;

/// What consumers ask for, beside what is there.
pub struct Change<'a> {
    pub asks: Vec<Ask<'a>>,
    /// What is used of each provider and class that they ask for, by whomever.
    before: Sums,
    /// What the consumers give back.
    pub released: Sums,
    /// Classes of what is wiped: refusals name them too.
    wiped: BTreeSet<ClassId>,
}

impl Change<'_> {
    pub fn of<'a>(state: &mut State, consumers: &[ConsumerClaim], asks: Vec<Ask<'a>>) -> Change<'a> {
        let (mut released, mut wiped) = (Sums::new(), BTreeSet::new());
        for one in consumers {
            for (provider, class, used) in &state.consumer(&one.consumer).allocations {
                *released.entry((*provider, *class)).or_insert(0) += used;
                if one.allocations.is_empty() {
                    wiped.insert(*class);
                }
            }
        }
        let before = asks.iter().map(|ask| {
            let row = state.provider(ask.provider);
            let used = row.and_then(|row| row.used.get(&ask.class)).copied().unwrap_or(0);
            ((ask.provider, ask.class), used)
        });
        Change {
            before: before.collect(),
            asks,
            released,
            wiped,
        }
    }
}

pub fn check_room(state: &mut State, rules: &Rules, interim: &Interim, change: &Change<'_>) -> Result<()> {
    check_some_inventory(state, interim, change)?;
    let mut asked = Sums::new();
    for ask in &change.asks {
        let key = (ask.provider, ask.class);
        let sum = asked.entry(key).or_insert(0);
        *sum = sum.saturating_add(ask.amount);
        let Some(row) = state.provider(ask.provider) else {
            continue;
        };
        let provider = row.uuid.to_string();
        let inventories = interim.get(&ask.provider).unwrap_or(&row.inventories);
        let inventory = inventories.get(&ask.class).copied();
        let class = state.class_name(ask.class).to_string();
        let Some(inventory) = inventory else {
            return Err(Error::ClaimWithoutInventory { class, provider });
        };
        if !inventory.allows_amount(ask.amount, rules.strict_step_size) {
            return Err(Error::ConstraintsViolated { class, provider });
        }
        let previous = change.before.get(&key).copied().unwrap_or(0);
        let used = previous - change.released.get(&key).copied().unwrap_or(0);
        // A change that makes an overcommitment no worse is allowed; where nothing was used there is none.
        let no_worse = previous != 0 && used + *sum <= previous;
        if !inventory.has_room(used, *sum) && !no_worse {
            return Err(Error::CapacityExceeded { class, provider });
        }
    }
    Ok(())
}

/// Upstream first refuses providers that have no inventory of any class the request names.
fn check_some_inventory(state: &mut State, interim: &Interim, change: &Change<'_>) -> Result<()> {
    let mut classes = change.wiped.clone();
    classes.extend(change.asks.iter().map(|ask| ask.class));
    let providers: BTreeSet<ProviderId> = change.asks.iter().map(|ask| ask.provider).collect();
    let mut without = Vec::new();
    for id in providers {
        let Some(row) = state.provider(id) else { continue };
        let inventories = interim.get(&id).unwrap_or(&row.inventories);
        if !classes.iter().any(|class| inventories.contains_key(class)) {
            without.push(row.uuid.to_string());
        }
    }
    if without.is_empty() {
        return Ok(());
    }
    let class = classes
        .iter()
        .map(|id| state.class_name(*id).to_string())
        .collect::<Vec<_>>()
        .join(", ");
    Err(Error::ClaimWithoutInventory {
        class,
        provider: without.join(", "),
    })
}

pub fn apply(state: &mut State, rules: &Rules, consumers: &[ConsumerClaim], asks: &[Ask<'_>]) {
    let mut moved: BTreeSet<ProviderId> = asks.iter().map(|ask| ask.provider).collect();
    for one in consumers {
        let had = state.take_allocations(&one.consumer);
        if one.allocations.is_empty() {
            moved.extend(had.iter().map(|(provider, ..)| *provider));
            state.consumer(&one.consumer).now = None;
        } else {
            keep_consumer(state, rules, one);
        }
    }
    for ask in asks {
        state.give_allocation(ask.consumer, ask.provider, ask.class, ask.amount);
    }
    for provider in moved {
        state.move_generation(provider);
    }
}

/// Makes or updates the consumer's row, and moves its generation: a new one begins at 1.
fn keep_consumer(state: &mut State, rules: &Rules, one: &ConsumerClaim) {
    let entry = state.consumer(&one.consumer);
    let new = rules.new_consumer(one);
    entry.now = Some(match entry.now.take().or_else(|| wiped_row(entry.base.as_ref())) {
        Some(row) => ConsumerRow {
            id: row.id,
            generation: row.generation + 1,
            consumer_type: new.consumer_type.or(row.consumer_type),
            ..new
        },
        None => new,
    });
}

/// A consumer that this batch wiped and makes again is a new one, though its row is still there to be reused.
fn wiped_row(base: Option<&ConsumerRow>) -> Option<ConsumerRow> {
    base.map(|row| ConsumerRow {
        generation: 0,
        consumer_type: None,
        ..row.clone()
    })
}
