//! Writes what hangs on a provider: inventories, traits and aggregates.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use super::resource_providers::living;
use super::{Guard, Save};
use crate::db::DbResult;
use crate::db::dialect::insert_rows;
use crate::db::rows::{UpdateFromRows, Value};
use crate::db::schema::{inventories, resource_provider_aggregates, resource_provider_traits};
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
          step_size = v.step_size, allocation_ratio = v.ratio",
    filter: "inventories.resource_provider_id = v.provider AND inventories.resource_class_id = v.class",
};

/// Pairs of a provider and what it has, that came or went.
struct Pairs<T> {
    gone: BTreeMap<ProviderId, Vec<T>>,
    new: Vec<(ProviderId, T)>,
}

impl<T: Copy + Ord> Pairs<T> {
    fn between<'a>(changes: impl Iterator<Item = (ProviderId, BTreeSet<T>, BTreeSet<T>)>) -> Pairs<T>
    where
        T: 'a,
    {
        let mut pairs = Pairs {
            gone: BTreeMap::new(),
            new: Vec::new(),
        };
        for (id, before, after) in changes {
            let gone: Vec<T> = before.difference(&after).copied().collect();
            if !gone.is_empty() {
                pairs.gone.insert(id, gone);
            }
            pairs.new.extend(after.difference(&before).map(|it| (id, *it)));
        }
        pairs
    }
}

pub fn write(save: &mut Save<'_>) -> DbResult<Guard> {
    if write_inventories(save)? == Guard::Lost {
        return Ok(Guard::Lost);
    }
    write_traits(save)?;
    write_aggregates(save)?;
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
    for (id, classes) in &pairs.gone {
        let classes: Vec<i32> = classes.iter().map(|class| class.0).collect();
        let gone = t::table
            .filter(t::resource_provider_id.eq(id.0))
            .filter(t::resource_class_id.eq_any(&classes));
        if Guard::expect(classes.len(), diesel::delete(gone).execute(save.conn)?) == Guard::Lost {
            return Ok(Guard::Lost);
        }
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
    let kept = kept_inventories(save);
    Ok(Guard::expect(kept.len(), UPDATE.run(save.conn, save.now, &kept)?))
}

/// Inventories that were there before and were written again.
fn kept_inventories(save: &Save<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (id, entry) in &save.state.providers {
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

fn write_traits(save: &mut Save<'_>) -> DbResult<()> {
    use resource_provider_traits as t;
    let pairs = Pairs::between(living(save).map(|(id, base, now)| {
        (
            id,
            base.map(|row| row.traits.clone()).unwrap_or_default(),
            now.traits.clone(),
        )
    }));
    for (id, traits) in &pairs.gone {
        let traits: Vec<i32> = traits.iter().map(|it| it.0).collect();
        diesel::delete(
            t::table
                .filter(t::resource_provider_id.eq(id.0))
                .filter(t::trait_id.eq_any(&traits)),
        )
        .execute(save.conn)?;
    }
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
    Ok(())
}

fn write_aggregates(save: &mut Save<'_>) -> DbResult<()> {
    use resource_provider_aggregates as t;
    let pairs = Pairs::between(living(save).map(|(id, base, now)| {
        (
            id,
            base.map(|row| row.aggregates.clone()).unwrap_or_default(),
            now.aggregates.clone(),
        )
    }));
    for (id, aggregates) in &pairs.gone {
        let aggregates: Vec<i32> = aggregates.iter().map(|it| it.0).collect();
        diesel::delete(
            t::table
                .filter(t::resource_provider_id.eq(id.0))
                .filter(t::aggregate_id.eq_any(&aggregates)),
        )
        .execute(save.conn)?;
    }
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
    Ok(())
}
