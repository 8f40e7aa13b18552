//! Writes the inventories, traits and aggregates of providers.

use std::collections::BTreeSet;

use diesel::prelude::*;

use super::{Save, SaveResult};
use crate::db::WriteError;
use crate::db::engines::dialect::insert_rows;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::{DeleteRows, Value};
use crate::db::schema::{inventories, resource_provider_traits};
use crate::db::statements;
use crate::model::batch::state::State;
use crate::search::{ProviderId, ProviderRow};

/// The differences of a set of each provider: the classes with an inventory, the traits or the aggregates.
struct SetDifference<T> {
    removed: Vec<(ProviderId, T)>,
    added: Vec<(ProviderId, T)>,
}

impl<T: Copy + Ord> SetDifference<T> {
    /// Compares the sets of the providers that exist after the batch.
    fn of(state: &State, set: impl Fn(&ProviderRow) -> BTreeSet<T>) -> SetDifference<T> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (id, entry) in &state.providers {
            let Some(now) = &entry.now else { continue };
            let (before, after) = (entry.base.as_ref().map(&set).unwrap_or_default(), set(now));
            removed.extend(before.difference(&after).map(|item| (*id, *item)));
            added.extend(after.difference(&before).map(|item| (*id, *item)));
        }
        SetDifference { removed, added }
    }

    /// Deletes the rows of `removed`. Guard: the count.
    fn delete(&self, save: &mut Save<'_>, statement: &DeleteRows, id_of: fn(&T) -> i32) -> SaveResult {
        let rows: Vec<(i32, i32)> = self
            .removed
            .iter()
            .map(|(provider, item)| (provider.0, id_of(item)))
            .collect();
        WriteError::unless_touched(rows.len(), statement.run(save.conn, &rows)?)
    }
}

/// Writes the differences of all three tables.
pub fn write(save: &mut Save<'_>) -> SaveResult {
    write_inventories(save)?;
    write_traits(save)?;
    write_aggregates(save)
}

fn write_inventories(save: &mut Save<'_>) -> SaveResult {
    use inventories as t;
    let difference = SetDifference::of(save.state, |row| row.inventories.keys().copied().collect());
    difference.delete(save, &statements::inventories::DELETE, |class| class.0)?;
    let rows: Vec<_> = difference
        .added
        .iter()
        .filter_map(|(id, class)| {
            let inventory = save.state.providers.get(id)?.now.as_ref()?.inventories.get(class)?;
            Some((
                t::created_at.eq(save.now),
                t::resource_provider_id.eq(save.ids.real(id.0)),
                t::resource_class_id.eq(class.0),
                t::total.eq(inventory.total),
                t::reserved.eq(inventory.reserved),
                t::min_unit.eq(inventory.min_unit),
                t::max_unit.eq(inventory.max_unit),
                t::step_size.eq(inventory.step_size),
                t::allocation_ratio.eq(inventory.allocation_ratio),
            ))
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    save.write(&update(save.state))
}

/// Updates the inventories from before the batch. In a plan these are all, because providers keep their classes.
pub fn update(state: &State) -> GuardedWrite {
    let mut rows = Vec::new();
    for (id, entry) in &state.providers {
        let (Some(base), Some(now)) = (&entry.base, &entry.now) else {
            continue;
        };
        for class in &entry.rewritten {
            if let (Some(_), Some(inventory)) = (base.inventories.get(class), now.inventories.get(class)) {
                let units = [
                    inventory.total,
                    inventory.reserved,
                    inventory.min_unit,
                    inventory.max_unit,
                    inventory.step_size,
                ];
                let mut row = vec![Value::Int(id.0.into()), Value::Int(class.0.into())];
                row.extend(units.map(|unit| Value::Int(unit.into())));
                row.push(Value::Real(inventory.allocation_ratio));
                rows.push(row);
            }
        }
    }
    GuardedWrite::Update(statements::inventories::UPDATE, rows)
}

fn write_traits(save: &mut Save<'_>) -> SaveResult {
    use resource_provider_traits as t;
    let difference = SetDifference::of(save.state, |row| row.traits.clone());
    let rows: Vec<_> = difference
        .added
        .iter()
        .map(|(id, trait_id)| {
            (
                t::created_at.eq(save.now),
                t::trait_id.eq(save.ids.real(trait_id.0)),
                t::resource_provider_id.eq(save.ids.real(id.0)),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    difference.delete(save, &statements::resource_provider_traits::DELETE, |id| id.0)
}

fn write_aggregates(save: &mut Save<'_>) -> SaveResult {
    let difference = SetDifference::of(save.state, |row| row.aggregates.clone());
    let rows = difference.added.iter().map(|(id, aggregate)| {
        let ids = [save.ids.real(id.0), save.ids.real(aggregate.0)];
        ids.map(|id| Value::Int(id.into())).to_vec()
    });
    let rows = rows.collect();
    save.write(&GuardedWrite::Insert(
        statements::resource_provider_aggregates::INSERT,
        rows,
    ))?;
    difference.delete(save, &statements::resource_provider_aggregates::DELETE, |id| id.0)
}
