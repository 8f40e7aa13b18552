//! Writes what hangs on a provider: inventories, traits and aggregates.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use super::resource_providers::living;
use super::{Guard, Save};
use crate::db::DbResult;
use crate::db::dialect::insert_rows;
use crate::db::rows::{DeleteRows, Look, Rows, UpdateFromRows, Value};
use crate::db::schema::{inventories, resource_provider_aggregates, resource_provider_traits};
use crate::db::together::Part;
use crate::model::standard::FIRST_CUSTOM_CLASS;
use crate::model::state::State;
use crate::search::{ClassId, Inventory, ProviderId};

const UPDATE: UpdateFromRows = UpdateFromRows {
    table: "inventories",
    columns: &[
        "provider",
        "class",
        "total",
        "reserved",
        "min_unit",
        "max_unit",
        "step_size",
        "ratio",
    ],
    set: "total = v.total, reserved = v.reserved, min_unit = v.min_unit, max_unit = v.max_unit, \
          step_size = v.step_size, allocation_ratio = v.ratio, updated_at = {now}",
    filter: "inventories.resource_provider_id = v.provider AND inventories.resource_class_id = v.class",
};

/// Pairs of a provider and what it has, that came or went.
struct Pairs<T> {
    gone: Vec<(ProviderId, T)>,
    new: Vec<(ProviderId, T)>,
}

impl<T: Copy + Ord> Pairs<T> {
    /// What providers had and have.
    fn between(changes: impl Iterator<Item = (ProviderId, BTreeSet<T>, BTreeSet<T>)>) -> Pairs<T> {
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        for (id, before, after) in changes {
            gone.extend(before.difference(&after).map(|it| (id, *it)));
            new.extend(after.difference(&before).map(|it| (id, *it)));
        }
        Pairs { gone, new }
    }

    /// Deletes what is gone; the count is a guard.
    fn delete(&self, save: &mut Save<'_>, statement: &DeleteRows, id_of: fn(&T) -> i32) -> DbResult<Guard> {
        let rows: Vec<(i32, i32)> = self.gone.iter().map(|(provider, it)| (provider.0, id_of(it))).collect();
        Ok(Guard::expect(rows.len(), statement.run(save.conn, &rows)?))
    }
}

const DELETE: DeleteRows = DeleteRows {
    table: "inventories",
    columns: ["resource_provider_id", "resource_class_id"],
};
const DELETE_TRAITS: DeleteRows = DeleteRows {
    table: "resource_provider_traits",
    columns: ["resource_provider_id", "trait_id"],
};
const DELETE_AGGREGATES: DeleteRows = DeleteRows {
    table: "resource_provider_aggregates",
    columns: ["resource_provider_id", "aggregate_id"],
};

pub fn write(save: &mut Save<'_>) -> DbResult<Guard> {
    for table in [write_inventories, write_traits, write_aggregates] {
        if table(save)? == Guard::Lost {
            return Ok(Guard::Lost);
        }
    }
    Ok(Guard::Held)
}

fn write_inventories(save: &mut Save<'_>) -> DbResult<Guard> {
    use inventories as t;
    let keys = |row: &BTreeMap<ClassId, Inventory>| row.keys().copied().collect::<BTreeSet<_>>();
    let pairs = Pairs::between(living(save).map(|(id, base, now)| {
        (
            id,
            base.map(|row| keys(&row.inventories)).unwrap_or_default(),
            keys(&now.inventories),
        )
    }));
    if pairs.delete(save, &DELETE, |class| class.0)? == Guard::Lost {
        return Ok(Guard::Lost);
    }
    let rows: Vec<_> = pairs
        .new
        .iter()
        .filter_map(|(id, class)| {
            let it = save.state.providers.get(id)?.now.as_ref()?.inventories.get(class)?;
            Some((
                t::created_at.eq(save.now),
                t::resource_provider_id.eq(save.ids.provider(*id)),
                t::resource_class_id.eq(class.0),
                t::total.eq(it.total),
                t::reserved.eq(it.reserved),
                t::min_unit.eq(it.min_unit),
                t::max_unit.eq(it.max_unit),
                t::step_size.eq(it.step_size),
                t::allocation_ratio.eq(it.allocation_ratio),
            ))
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    let kept = kept_inventories(save.state);
    Ok(Guard::expect(kept.len(), UPDATE.run(save.conn, save.now, &kept)?))
}

/// Inventories that were there before and were written again.
fn kept_inventories(state: &State) -> Rows {
    let mut rows = Vec::new();
    for (id, entry) in &state.providers {
        let (Some(base), Some(now)) = (&entry.base, &entry.now) else {
            continue;
        };
        for class in &entry.rewritten {
            if let (Some(_), Some(it)) = (base.inventories.get(class), now.inventories.get(class)) {
                let units = [it.total, it.reserved, it.min_unit, it.max_unit, it.step_size];
                let mut row = vec![Value::Int(id.0.into()), Value::Int(class.0.into())];
                row.extend(units.map(|unit| Value::Int(unit.into())));
                row.push(Value::Real(it.allocation_ratio));
                rows.push(row);
            }
        }
    }
    rows
}

/// What `write` does where providers keep the classes that they have, and nothing else of them is written.
pub fn rewritten(state: &State) -> Option<Part> {
    let kept = kept_inventories(state);
    (!kept.is_empty()).then_some(Part::Update(UPDATE, kept))
}

/// That classes which are written are called what they are taken to be called: a renamed one moves no generation, and a
/// standard one is never renamed.
pub fn called_so(state: &State) -> Option<Part> {
    let written = state.providers.values().flat_map(|entry| &entry.rewritten);
    let custom: BTreeSet<ClassId> = written.filter(|class| class.0 >= FIRST_CUSTOM_CLASS).copied().collect();
    if custom.is_empty() {
        return None;
    }
    let named = vec!["id = ? AND name = ?"; custom.len()].join(" OR ");
    let names = custom.iter().flat_map(|class| {
        [
            Value::Int(class.0.into()),
            Value::Text(state.class_name(*class).to_string()),
        ]
    });
    let many = Value::Int(custom.len() as i64);
    let from = format!("(SELECT COUNT(*) AS many FROM resource_classes WHERE {named}) c WHERE c.many = ?");
    Some(Part::There(Look(from), names.chain([many]).collect()))
}

fn write_traits(save: &mut Save<'_>) -> DbResult<Guard> {
    use resource_provider_traits as t;
    let pairs = Pairs::between(living(save).map(|(id, base, now)| {
        (
            id,
            base.map(|row| row.traits.clone()).unwrap_or_default(),
            now.traits.clone(),
        )
    }));
    let rows: Vec<_> = pairs
        .new
        .iter()
        .map(|(id, it)| {
            (
                t::created_at.eq(save.now),
                t::trait_id.eq(save.ids.trait_(*it)),
                t::resource_provider_id.eq(save.ids.provider(*id)),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    pairs.delete(save, &DELETE_TRAITS, |it| it.0)
}

fn write_aggregates(save: &mut Save<'_>) -> DbResult<Guard> {
    use resource_provider_aggregates as t;
    let pairs = Pairs::between(living(save).map(|(id, base, now)| {
        (
            id,
            base.map(|row| row.aggregates.clone()).unwrap_or_default(),
            now.aggregates.clone(),
        )
    }));
    let rows: Vec<_> = pairs
        .new
        .iter()
        .map(|(id, it)| {
            (
                t::created_at.eq(save.now),
                t::resource_provider_id.eq(save.ids.provider(*id)),
                t::aggregate_id.eq(save.ids.aggregate(*it)),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    pairs.delete(save, &DELETE_AGGREGATES, |it| it.0)
}
