//! The rules of claims and releases.
//!
//! A claim moves these generations, as in OpenStack Placement, because clients compare generations:
//! - of each provider that the claim names;
//! - of each provider that a wiped consumer used. A claim wipes a consumer by giving no allocations;
//! - of each consumer that keeps allocations.
//!
//! A provider from which a replacement or a `DELETE` only releases allocations keeps its generation.

mod release;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Rules;
use crate::error::{Error, Result, Room};
use crate::model::allocations::{Claim, ConsumerClaim, Expected, Given, Takeover};
use crate::model::batch::call_usage::CallAmounts;
use crate::model::batch::command::{ClaimCounts, Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::generation_moves::{GENERATION_MAX, GenerationMoves};
use crate::model::batch::optimistic::is_new;
use crate::model::batch::state::{ConsumerRow, State};
use crate::model::inventories::Inventory;
use crate::search::{ClassId, ProviderId};

/// An amount of a class, requested by a consumer from a provider.
#[derive(Debug, Clone, Copy)]
pub struct AllocationRequest<'a> {
    pub consumer: &'a str,
    pub provider: ProviderId,
    pub class: ClassId,
    pub amount: i64,
    /// The uuid of the provider, as in the claim.
    pub uuid: &'a str,
    pub class_name: &'a str,
}

/// `PUT /allocations/{consumer}` and `POST /allocations`: all of the claim, or nothing.
impl Write for Claim {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.add_claims(&self.consumers);
    }

    fn load(&self) -> Load {
        let wipes = |claim: &ConsumerClaim| claim.allocations.is_empty();
        Load {
            rows: rows_of(&self.consumers),
            is_plannable: self.consumers.iter().all(|claim| is_new(claim) && !wipes(claim)),
            reach: Reach::Claims,
            searched: None,
        }
    }

    fn counts(&self) -> ClaimCounts {
        let claiming = self.consumers.iter().filter(|it| !it.allocations.is_empty()).count();
        ClaimCounts {
            claiming: claiming as u64,
            releasing: (self.consumers.len() - claiming) as u64,
        }
    }

    fn claimed_consumers(&self) -> Vec<&str> {
        self.consumers.iter().map(|claim| claim.consumer.as_str()).collect()
    }

    fn decide(&self, state: &mut State, rules: &Rules) -> Result<()> {
        let checked = check(state, rules, self)?;
        grant(state, rules, self, checked);
        Ok(())
    }
}

/// The number of rows of consumers with their allocations.
pub fn rows_of(consumers: &[ConsumerClaim]) -> usize {
    let allocations = consumers.iter().flat_map(|claim| &claim.allocations);
    consumers.len() + allocations.map(|(_, resources)| resources.len()).sum::<usize>()
}

/// A claim that is allowed.
pub struct CheckedClaim<'a> {
    requests: Vec<AllocationRequest<'a>>,
    moves: GenerationMoves,
}

impl<'a> CheckedClaim<'a> {
    /// A request for each provider and class, in the order of the claim of a single consumer. On MariaDB a claim may
    /// name a provider in several spellings. The amount is the sum of these requests, under the names of the first.
    pub fn sums(&self) -> Vec<AllocationRequest<'a>> {
        let (mut sums, mut known): (Vec<AllocationRequest<'a>>, BTreeMap<_, usize>) = (Vec::new(), BTreeMap::new());
        for request in &self.requests {
            match known.entry((request.provider, request.class)) {
                Entry::Occupied(at) => {
                    let sum = &mut sums[*at.get()].amount;
                    *sum = sum.saturating_add(request.amount);
                }
                Entry::Vacant(entry) => {
                    entry.insert(sums.len());
                    sums.push(*request);
                }
            }
        }
        sums
    }
}

/// Checks a claim, and changes nothing.
pub fn check<'a>(state: &mut State, rules: &Rules, claim: &'a Claim) -> Result<CheckedClaim<'a>> {
    for consumer_claim in &claim.consumers {
        check_consumer(state, consumer_claim)?;
    }
    check_providers(state, &claim.consumers)?;
    let requests = requests_of(state, &claim.consumers, |class| unknown_class(claim, class))?;
    let change = AllocationChange::of(state, &claim.consumers, requests);
    check_amounts(state, rules, &InterimInventories::new(), &change)?;
    check_consumer_generations(state, &claim.consumers)?;
    let moves = state.check_moves(change.moved.iter().copied().collect())?;
    let requests = change.requests;
    Ok(CheckedClaim { requests, moves })
}

/// Changes the state as the claim says. No command may have changed the state since the check.
pub fn grant(state: &mut State, rules: &Rules, claim: &Claim, checked: CheckedClaim<'_>) {
    apply(state, rules, &claim.consumers, &checked.requests);
    state.move_generations(checked.moves);
}

/// Compares the consumer's generation with the claim's expectation.
pub fn check_consumer(state: &mut State, claim: &ConsumerClaim) -> Result<()> {
    let row = state.consumer(&claim.consumer).now.as_ref();
    let is_foreign = row.is_some_and(|row| is_foreign(claim, row));
    let current = row.map(|row| row.generation);
    let given = match &claim.generation {
        Expected::Is(generation) => Some(Given::from(*generation)),
        Expected::Raw(given) => Some(given.clone()),
        Expected::Any => return Ok(()),
        Expected::New => None,
    };
    let (expected, got) = match (given, current) {
        (None, None) => return Ok(()),
        // A foreign consumer is refused like an unknown consumer, although the uuid is taken.
        (Some(given), Some(_)) if is_foreign => ("null".to_owned(), given.literal),
        (None, Some(_)) if is_foreign => ("another uuid".to_owned(), "None".to_owned()),
        (Some(given), Some(generation)) if given.generation == generation => return Ok(()),
        (Some(given), Some(generation)) => (generation.to_string(), given.literal),
        (Some(given), None) => ("null".to_owned(), given.literal),
        // OpenStack Placement prints a null as Python does, and clients match on the sentence.
        (None, Some(generation)) => (generation.to_string(), "None".to_owned()),
    };
    Err(Error::StaleConsumerGeneration { expected, got })
}

/// Whether the consumer is outside of the claim's project, and the claim may take only consumers of the project.
fn is_foreign(claim: &ConsumerClaim, row: &ConsumerRow) -> bool {
    let is_own = || claim.owner.as_ref().is_some_and(|owner| owner.project == row.project);
    claim.takeover == Takeover::OwnProject && !is_own()
}

/// Refuses consumers whose generation would increase beyond what the database stores.
pub fn check_consumer_generations(state: &mut State, claims: &[ConsumerClaim]) -> Result<()> {
    for claim in claims.iter().filter(|claim| !claim.allocations.is_empty()) {
        let row = state.consumer(&claim.consumer).now.as_ref();
        if row.is_some_and(|row| row.generation >= GENERATION_MAX) {
            return Err(Error::ConsumerGenerationLimit {
                consumer: claim.consumer.clone(),
            });
        }
    }
    Ok(())
}

/// Refuses unknown providers. A separate step, because an unknown provider is refused before an unknown class.
pub fn check_providers(state: &State, consumers: &[ConsumerClaim]) -> Result<()> {
    let mut providers = consumers.iter().flat_map(|claim| &claim.allocations);
    providers.try_for_each(|(uuid, _)| find_provider(state, uuid).map(drop))
}

fn find_provider(state: &State, uuid: &str) -> Result<ProviderId> {
    state
        .find_provider(uuid)
        .ok_or_else(|| Error::ClaimProviderNotFound { uuid: uuid.to_owned() })
}

/// The requests of the consumers. `unknown` returns the error for an unknown class.
pub fn requests_of<'a>(
    state: &State,
    consumers: &'a [ConsumerClaim],
    unknown: impl Fn(&str) -> Error,
) -> Result<Vec<AllocationRequest<'a>>> {
    let mut requests = Vec::new();
    for claim in consumers {
        for (uuid, resources) in &claim.allocations {
            let provider = find_provider(state, uuid)?;
            for (name, amount) in resources {
                requests.push(AllocationRequest {
                    consumer: &claim.consumer,
                    provider,
                    class: state.class_id(name).ok_or_else(|| unknown(name))?,
                    amount: *amount,
                    uuid,
                    class_name: name,
                });
            }
        }
    }
    Ok(requests)
}

fn unknown_class(claim: &Claim, class: &str) -> Error {
    let consumer = claim.consumers.first().filter(|_| claim.names_consumer);
    Error::ClaimClassNotFound {
        context: consumer.map_or_else(String::new, |first| format!("for consumer {}: ", first.consumer)),
        class: class.to_owned(),
    }
}

/// Inventories that stand in for the providers' own while a reshape is checked.
pub type InterimInventories = BTreeMap<ProviderId, BTreeMap<ClassId, Inventory>>;

/// The allocations requested by a command, and the resulting change of usage.
pub struct AllocationChange<'a> {
    pub requests: Vec<AllocationRequest<'a>>,
    /// The amounts that the command's consumers release.
    pub released: CallAmounts,
    /// The providers whose generations move.
    pub moved: BTreeSet<ProviderId>,
    /// Classes released by wiped consumers. Refusals name these classes too.
    wiped: BTreeSet<ClassId>,
}

impl AllocationChange<'_> {
    pub fn of<'a>(
        state: &mut State,
        consumers: &[ConsumerClaim],
        requests: Vec<AllocationRequest<'a>>,
    ) -> AllocationChange<'a> {
        let (mut released, mut wiped) = (CallAmounts::new(), BTreeSet::new());
        let mut moved: BTreeSet<ProviderId> = requests.iter().map(|request| request.provider).collect();
        for claim in consumers {
            for (provider, class, used) in &state.consumer(&claim.consumer).allocations {
                *released.entry((*provider, *class)).or_insert(0) += used;
                if claim.allocations.is_empty() {
                    wiped.insert(*class);
                    moved.insert(*provider);
                }
            }
        }
        AllocationChange {
            requests,
            released,
            moved,
            wiped,
        }
    }
}

/// Checks that the inventories allow every requested amount, and have room.
pub fn check_amounts(
    state: &mut State,
    rules: &Rules,
    interim: &InterimInventories,
    change: &AllocationChange<'_>,
) -> Result<()> {
    check_any_inventory(state, interim, change)?;
    let mut requested = CallAmounts::new();
    for request in &change.requests {
        let key = (request.provider, request.class);
        let sum = requested.entry(key).or_insert(0);
        *sum = sum.saturating_add(request.amount);
        let (at_first, later) = (
            state.call.before(request.provider, request.class),
            state.call.later(request.provider, request.class),
        );
        let Some(row) = state.provider(request.provider) else {
            continue;
        };
        let (uuid, name) = (Arc::clone(&row.uuid), Arc::clone(&row.name));
        let inventories = interim.get(&request.provider).unwrap_or(&row.inventories);
        let inventory = inventories.get(&request.class).copied();
        let previous = row.used.get(&request.class).copied().unwrap_or(0);
        let named = || (state.class_name(request.class).to_string(), uuid.to_string());
        let Some(inventory) = inventory else {
            let (class, provider) = named();
            return Err(Error::ClaimWithoutInventory { class, provider });
        };
        if !inventory.allows_amount(request.amount, rules.strict_step_size) {
            let (class, provider) = named();
            return Err(Error::ConstraintsViolated { class, provider });
        }
        let used = previous - change.released.get(&key).copied().unwrap_or(0) - later;
        // An overcommitment may stay if the change does not raise the usage. Without usage there is no overcommitment.
        let before = at_first.unwrap_or(previous);
        let no_worse = before != 0 && used + *sum <= before;
        if !inventory.has_room(used, *sum) && !no_worse {
            let room = Room {
                provider_name: Some(name),
                requested: *sum,
                used,
                capacity: inventory.limit(),
            };
            let (class, provider) = named();
            return Err(Error::CapacityExceeded { class, provider, room });
        }
    }
    Ok(())
}

/// Refuses providers without an inventory of any class in the command. As in OpenStack Placement, this check comes
/// before the amounts.
fn check_any_inventory(state: &mut State, interim: &InterimInventories, change: &AllocationChange<'_>) -> Result<()> {
    let mut classes = change.wiped.clone();
    classes.extend(change.requests.iter().map(|request| request.class));
    let providers: BTreeSet<ProviderId> = change.requests.iter().map(|request| request.provider).collect();
    let mut without_inventory = Vec::new();
    for id in providers {
        let Some(row) = state.provider(id) else { continue };
        let inventories = interim.get(&id).unwrap_or(&row.inventories);
        if !classes.iter().any(|class| inventories.contains_key(class)) {
            without_inventory.push(row.uuid.to_string());
        }
    }
    if without_inventory.is_empty() {
        return Ok(());
    }
    let class = classes
        .iter()
        .map(|id| state.class_name(*id).to_string())
        .collect::<Vec<_>>()
        .join(", ");
    Err(Error::ClaimWithoutInventory {
        class,
        provider: without_inventory.join(", "),
    })
}

/// Replaces the consumers' allocations by the requests, and moves the consumers' generations.
pub fn apply(state: &mut State, rules: &Rules, consumers: &[ConsumerClaim], requests: &[AllocationRequest<'_>]) {
    for claim in consumers {
        state.release_allocations(&claim.consumer);
        if claim.allocations.is_empty() {
            state.consumer(&claim.consumer).now = None;
        } else {
            upsert_consumer(state, rules, claim);
        }
    }
    for request in requests {
        state.allocate(request.consumer, request.provider, request.class, request.amount);
    }
}

/// Creates the consumer's row at generation 1, or updates the row and moves the generation.
fn upsert_consumer(state: &mut State, rules: &Rules, claim: &ConsumerClaim) {
    let entry = state.consumer(&claim.consumer);
    let new = rules.new_consumer(claim);
    let row = match entry.now.take().or_else(|| wiped_row(entry.base.as_ref())) {
        Some(row) => ConsumerRow {
            id: row.id,
            generation: row.generation + 1,
            consumer_type: new.consumer_type.or(row.consumer_type),
            ..new
        },
        None => new,
    };
    let generation = row.generation;
    entry.now = Some(row);
    state.warn_near_limit("Consumer", &claim.consumer, generation);
}

/// The row of a consumer which this batch wiped and now creates again. The consumer counts as new, but keeps the id of
/// the row in the table.
fn wiped_row(base: Option<&ConsumerRow>) -> Option<ConsumerRow> {
    base.map(|row| ConsumerRow {
        generation: 0,
        consumer_type: None,
        ..row.clone()
    })
}
