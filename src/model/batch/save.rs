//! Writes the net effect of a batch: the difference between `base` and `now` of each entry of the batch's state.
//!
//! Naively, each command writes its own rows. A batch of claims on a single provider would update the provider once for
//! each claim. No statement would notice that a different writer changed a row after the batch's read.
//!
//! So the difference is written once for each table, in a number of statements that does not depend on the number of
//! commands. Each statement that changes or deletes rows is guarded: its WHERE clause has the generation or id of the
//! batch's read, and the count of touched rows is checked. A wrong count means that the state was out of date, and the
//! transaction must be rolled back.

mod allocations;
mod catalog;
mod consumers;
mod inventories;
mod name_guards;
mod owner_ids;
mod plan;
mod providers;
mod resource_providers;
mod workloads;

use std::collections::{BTreeSet, HashMap};

use chrono::NaiveDateTime;

use super::entry::is_changed;
use super::state::{ProviderEntry, State};
use crate::db::engines::dialect::Precision;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::{DbConnection, WriteError};
use crate::model::claims::memory;
use crate::model::snapshot::committed::{Committed, Rewritten};
use crate::search::{ClassId, Delta, Inventory, NameKinds, ProviderId, ProviderRow};
pub use owner_ids::OwnerIds;
pub use plan::plan;

/// Ids from the database for the batch's new rows, by provisional id. No two new rows have the same provisional id.
#[derive(Default)]
struct NewRowIds(HashMap<i32, i32>);

impl NewRowIds {
    /// The id in the database.
    fn real(&self, id: i32) -> i32 {
        self.0.get(&id).copied().unwrap_or(id)
    }
}

/// A save in progress.
struct Save<'a> {
    conn: &'a mut DbConnection,
    state: &'a State,
    now: NaiveDateTime,
    ids: NewRowIds,
}

impl Save<'_> {
    /// Runs a write, which may have no rows.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if the guard does not hold.
    fn write(&mut self, write: &GuardedWrite) -> SaveResult {
        write.run_checked(self.conn, self.now)
    }
}

/// The consumers and allocations of a large command are inserted in parts of this many rows, because rows take more
/// memory than the state. A server takes about as many rows in a statement.
const ROWS_A_PART: usize = 5_000;

/// [`WriteError::Conflict`] if the batch was decided on an outdated state.
type SaveResult = Result<(), WriteError>;

/// Writes the difference between `base` and `now` of all entries. `None` if there is no difference.
pub fn save(conn: &mut DbConnection, state: &State) -> Result<Option<Committed>, WriteError> {
    if !has_changes(state) {
        return Ok(None);
    }
    let mut save = Save {
        conn,
        state,
        now: state.now.naive_utc(),
        ids: NewRowIds::default(),
    };
    // Consumers before providers: all writers lock in this order, so there is no deadlock.
    consumers::update(&mut save)?;
    save.write(&resource_providers::move_generations(state))?;
    allocations::delete(&mut save)?;
    resource_providers::delete(&mut save)?;
    catalog::write(&mut save)?;
    state.own.tables.write(save.conn, save.now)?;
    workloads::write(&mut save)?;
    save.write(&name_guards::class_names(state))?;
    resource_providers::write(&mut save)?;
    providers::write(&mut save)?;
    inventories::write(&mut save)?;
    consumers::insert_and_delete(&mut save)?;
    allocations::insert_current(&mut save)?;
    save.write(&memory::insert(&state.own.answers))?;
    catalog::delete(&mut save)?;
    Ok(Some(committed_change(Precision::of(save.conn), state, &save.ids)))
}

/// Whether there is anything to write.
fn has_changes(state: &State) -> bool {
    state
        .providers
        .values()
        .any(|entry| entry.moves > 0 || !entry.rewritten.is_empty() || entry.base != entry.now)
        || state
            .consumers
            .values()
            .any(|entry| entry.base != entry.now || (entry.replaced && !entry.base_allocations.is_empty()))
        || is_changed(&state.classes)
        || is_changed(&state.traits)
        || !state.new_aggregates.is_empty()
        || state.own.are_changed()
}

/// Whether more of a provider changed than a [`Delta`] carries, so peers must read the provider again.
fn needs_reload(entry: &ProviderEntry) -> bool {
    match (&entry.base, &entry.now) {
        (Some(base), Some(now)) => {
            !entry.rewritten.is_empty() || base.inventories != now.inventories || changed_beyond_inventories(base, now)
        }
        (None, Some(_)) => true,
        _ => false,
    }
}

/// Whether more of a provider changed than inventories and the fields of a [`Delta`]. The pattern names all fields, so
/// a new field cannot be forgotten. Its changes would be written and never reach the peers.
fn changed_beyond_inventories(base: &ProviderRow, now: &ProviderRow) -> bool {
    let ProviderRow {
        // These never change.
        id: _,
        uuid: _,
        name,
        // Deltas carry these.
        generation: _,
        modified: _,
        used: _,
        parent,
        root,
        // Compared by `needs_reload`.
        inventories: _,
        traits,
        aggregates,
    } = base;
    *name != now.name
        || *parent != now.parent
        || *root != now.root
        || *traits != now.traits
        || *aggregates != now.aggregates
}

/// The change for peers, with the parts that this process can apply without a reload.
fn committed_change(precision: Precision, state: &State, ids: &NewRowIds) -> Committed {
    let mut committed = change_for_peers(state, ids);
    let described: BTreeSet<ProviderId> = state.changed_descriptions().map(|(id, ..)| id).collect();
    let entries = state.providers.iter().filter(|(id, _)| !described.contains(id));
    committed.rewritten = entries
        .filter_map(|(id, entry)| rewritten(precision, *id, entry))
        .collect();
    committed.warnings = state.warnings.clone();
    committed
}

fn change_for_peers(state: &State, ids: &NewRowIds) -> Committed {
    let mut committed = Committed::default();
    for (id, entry) in &state.providers {
        match (&entry.base, &entry.now) {
            (Some(_), None) => committed.removed.push(*id),
            (_, Some(_)) if needs_reload(entry) => {
                committed.reload.insert(ProviderId(ids.real(id.0)));
            }
            _ => committed.deltas.extend(delta(*id, entry)),
        }
    }
    let described = state.changed_descriptions();
    let described = described.map(|(id, ..)| ProviderId(ids.real(id.0)));
    committed.reload.extend(described);
    committed.reload.extend(state.hosts_of_other_health());
    committed
        .deltas
        .retain(|delta| !committed.reload.contains(&delta.provider));
    committed.names = NameKinds {
        classes: is_changed(&state.classes) || state.own.tables.are_declarations_changed(),
        traits: is_changed(&state.traits),
        aggregates: !state.new_aggregates.is_empty(),
    };
    committed
}

/// The provider's new inventories and delta, if nothing else changed.
fn rewritten(precision: Precision, id: ProviderId, entry: &ProviderEntry) -> Option<Rewritten> {
    let (base, now) = (entry.base.as_ref()?, entry.now.as_ref()?);
    if !needs_reload(entry) || changed_beyond_inventories(base, now) {
        return None;
    }
    // As a reload would read the inventory: the column may round the ratio.
    let as_read = |(class, inventory): (&ClassId, &Inventory)| {
        let allocation_ratio = precision.ratio(inventory.allocation_ratio);
        (
            *class,
            Inventory {
                allocation_ratio,
                ..*inventory
            },
        )
    };
    Some(Rewritten {
        delta: delta(id, entry)?,
        inventories: now.inventories.iter().map(as_read).collect(),
    })
}

/// The change of the provider's usage and generation; `None` if neither changed.
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
        .filter(|(_, change)| *change != 0)
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
