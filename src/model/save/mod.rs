//! Writes what a batch decided: the net difference, in a number of statements that does not depend on how many
//! commands were in it. Every count is checked; one that is off means that the state it was decided on was not the
//! newest, and nothing of it may be committed.

mod allocations;
mod catalog;
mod consumers;
mod inventories;
mod owners;
mod plan;
mod resource_providers;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::NaiveDateTime;

use super::state::{ProviderEntry, State};
use crate::db::dialect::Precision;
use crate::db::{DbConnection, DbResult};
use crate::search::{AggregateId, ClassId, Delta, Inventory, ProviderId, ProviderRow, TraitId};
pub use owners::Owners;
pub use plan::plan;

/// What a committed batch changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Committed {
    /// Providers of which only usage and generation changed.
    pub deltas: Vec<Delta>,
    /// Providers that are new or changed otherwise: to be read again.
    pub reload: BTreeSet<ProviderId>,
    pub removed: Vec<ProviderId>,
    /// Whether classes, traits or aggregates came or went.
    pub catalog: bool,
    /// Of those to be read again, which need not be by whoever wrote them. Others are not told: inventories are set and not
    /// counted, so that it would matter in which order they hear of them.
    pub rewritten: Vec<Rewritten>,
    /// What the log says of it. Others are not told.
    pub warnings: Vec<String>,
}

/// A provider of which nothing changed but its inventories, and what claims change.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    pub delta: Delta,
    pub inventories: BTreeMap<ClassId, Inventory>,
}

impl Committed {
    pub fn is_empty(&self) -> bool {
        *self == Committed::default()
    }
}

/// How a save ended.
pub enum Saved {
    /// All is written; what it changed, and whether there was anything to write at all.
    Written { committed: Committed, wrote: bool },
    /// A guard found another state than the one decided on.
    Lost,
}

/// Ids that the database gave to rows which the batch made.
#[derive(Default)]
struct Ids {
    providers: HashMap<ProviderId, i32>,
    traits: HashMap<TraitId, i32>,
    aggregates: HashMap<AggregateId, i32>,
}

impl Ids {
    fn provider(&self, id: ProviderId) -> i32 {
        self.providers.get(&id).copied().unwrap_or(id.0)
    }

    fn trait_(&self, id: TraitId) -> i32 {
        self.traits.get(&id).copied().unwrap_or(id.0)
    }

    fn aggregate(&self, id: AggregateId) -> i32 {
        self.aggregates.get(&id).copied().unwrap_or(id.0)
    }
}

/// Whether a guarded statement touched the rows that it should have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    Held,
    Lost,
}

impl Guard {
    fn expect(expected: usize, touched: usize) -> Guard {
        if expected == touched { Guard::Held } else { Guard::Lost }
    }
}

/// One save in progress.
struct Save<'a> {
    conn: &'a mut DbConnection,
    state: &'a State,
    now: NaiveDateTime,
    ids: Ids,
}

type Step = fn(&mut Save<'_>) -> DbResult<Guard>;

/// Writes the difference between the state's bases and what they are now.
pub fn save(conn: &mut DbConnection, state: &State) -> DbResult<Saved> {
    let wrote = differs(state);
    let mut save = Save {
        conn,
        state,
        now: state.now.naive_utc(),
        ids: Ids::default(),
    };
    let steps: &[Step] = &[
        // Consumers before providers: locks are taken in one order everywhere.
        consumers::update,
        resource_providers::move_generations,
        allocations::delete,
        resource_providers::delete,
        catalog::write,
        resource_providers::write,
        inventories::write,
        consumers::insert_and_delete,
        allocations::insert,
        catalog::delete,
    ];
    for step in steps {
        if step(&mut save)? == Guard::Lost {
            return Ok(Saved::Lost);
        }
    }
    let committed = committed_by(Precision::of(save.conn), state, &save.ids);
    Ok(Saved::Written { committed, wrote })
}

/// Whether there is anything to write.
fn differs(state: &State) -> bool {
    let names = |entry: &super::state::NameEntry| entry.base != entry.now;
    state
        .providers
        .values()
        .any(|entry| entry.moves > 0 || !entry.rewritten.is_empty() || entry.base != entry.now)
        || state
            .consumers
            .values()
            .any(|entry| entry.base != entry.now || (entry.replaced && !entry.held.is_empty()))
        || state.classes.values().any(names)
        || state.traits.values().any(names)
        || !state.new_aggregates.is_empty()
}

/// Whether a provider changed in more than usage, generation and time.
fn changed_otherwise(entry: &ProviderEntry) -> bool {
    let inventories = |base: &ProviderRow, now: &ProviderRow| base.inventories != now.inventories;
    match (&entry.base, &entry.now) {
        (Some(base), Some(now)) => {
            !entry.rewritten.is_empty() || inventories(base, now) || changed_beyond_inventories(base, now)
        }
        (None, Some(_)) => true,
        _ => false,
    }
}

fn changed_beyond_inventories(base: &ProviderRow, now: &ProviderRow) -> bool {
    base.name != now.name
        || base.parent != now.parent
        || base.root != now.root
        || base.traits != now.traits
        || base.aggregates != now.aggregates
}

/// What a state that was written changed, with what whoever wrote it need not read.
fn committed_by(precision: Precision, state: &State, ids: &Ids) -> Committed {
    let mut committed = committed(state, ids);
    let entries = state.providers.iter();
    committed.rewritten = entries
        .filter_map(|(id, entry)| rewritten(precision, *id, entry))
        .collect();
    committed.warnings = state.warnings.clone();
    committed
}

fn committed(state: &State, ids: &Ids) -> Committed {
    let mut committed = Committed::default();
    for (id, entry) in &state.providers {
        match (&entry.base, &entry.now) {
            (Some(_), None) => committed.removed.push(*id),
            (_, Some(_)) if changed_otherwise(entry) => {
                committed.reload.insert(ProviderId(ids.provider(*id)));
            }
            _ => committed.deltas.extend(delta(*id, entry)),
        }
    }
    let names = |entry: &super::state::NameEntry| entry.base != entry.now;
    committed.catalog =
        state.classes.values().any(names) || state.traits.values().any(names) || !state.new_aggregates.is_empty();
    committed
}

fn rewritten(precision: Precision, id: ProviderId, entry: &ProviderEntry) -> Option<Rewritten> {
    let (base, now) = (entry.base.as_ref()?, entry.now.as_ref()?);
    if !changed_otherwise(entry) || changed_beyond_inventories(base, now) {
        return None;
    }
    let as_read = |(class, it): (&ClassId, &Inventory)| {
        let allocation_ratio = precision.ratio(it.allocation_ratio);
        (
            *class,
            Inventory {
                allocation_ratio,
                ..*it
            },
        )
    };
    Some(Rewritten {
        delta: delta(id, entry)?,
        inventories: now.inventories.iter().map(as_read).collect(),
    })
}

fn delta(id: ProviderId, entry: &ProviderEntry) -> Option<Delta> {
    let (base, now) = (entry.base.as_ref()?, entry.now.as_ref()?);
    let classes: BTreeSet<_> = base.used.keys().chain(now.used.keys()).copied().collect();
    let used: Vec<_> = classes
        .into_iter()
        .map(|class| {
            (
                class,
                now.used.get(&class).unwrap_or(&0) - base.used.get(&class).unwrap_or(&0),
            )
        })
        .filter(|(_, more)| *more != 0)
        .collect();
    let modified = (entry.moves > 0).then_some(now.modified);
    (entry.moves > 0 || !used.is_empty()).then_some(Delta {
        provider: id,
        moves: entry.moves,
        generation: now.generation,
        modified,
        used,
    })
}
