//! Finds the rows that other transactions have locked.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use crate::db::engines::dialect::{free_rows, has_other_writers, in_lists};
use crate::db::schema::{consumers, resource_providers};
use crate::db::writer::RowNames;
use crate::db::{DbConnection, DbResult};
use crate::model::batch::collation::CollatedNames;
use crate::model::batch::command::Write;
use crate::model::batch::footprint::Footprint;
use crate::search::Snapshot;

/// Whether a command cannot do without these rows.
pub fn needs(command: &impl Write, rows: &RowNames) -> bool {
    let mut footprint = Footprint {
        held: Some(&rows.providers),
        ..Footprint::default()
    };
    command.add_to(&mut footprint);
    footprint.needs(rows)
}

/// The locked rows among `rows`, of providers that the snapshot knows. Does not wait.
pub fn held_rows(conn: &mut DbConnection, snapshot: &Snapshot, rows: &RowNames) -> DbResult<RowNames> {
    if !has_other_writers(conn) {
        return Ok(RowNames::default());
    }
    let known = rows
        .providers
        .iter()
        .filter_map(|uuid| Some((snapshot.id(snapshot.by_uuid(uuid)?).0, uuid)));
    Ok(RowNames {
        providers: held_providers(conn, &known.collect())?,
        consumers: held_consumers(conn, &rows.consumers)?,
    })
}

/// `known`: the uuids of providers by their ids.
fn held_providers(conn: &mut DbConnection, known: &BTreeMap<i32, &String>) -> DbResult<BTreeSet<String>> {
    use resource_providers as t;
    let ids: Vec<i32> = known.keys().copied().collect();
    let free: Vec<i32> = in_lists(&ids, |ids| {
        free_rows!(conn, t::table.filter(t::id.eq_any(ids)).select(t::id))
    })?;
    if free.len() == ids.len() {
        return Ok(BTreeSet::new());
    }
    let existing: Vec<i32> = in_lists(&ids, |ids| {
        t::table.filter(t::id.eq_any(ids)).select(t::id).load(&mut *conn)
    })?;
    let held = existing.into_iter().filter(|id| !free.contains(id));
    Ok(held.map(|id| known[&id].clone()).collect())
}

fn held_consumers(conn: &mut DbConnection, uuids: &BTreeSet<String>) -> DbResult<BTreeSet<String>> {
    use consumers as t;
    let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
    let existing: Vec<String> = in_lists(&uuids, |uuids| {
        t::table.filter(t::uuid.eq_any(uuids)).select(t::uuid).load(&mut *conn)
    })?;
    if existing.is_empty() {
        return Ok(BTreeSet::new());
    }
    let free: Vec<String> = in_lists(&uuids, |uuids| {
        free_rows!(conn, t::table.filter(t::uuid.eq_any(uuids)).select(t::uuid))
    })?;
    let collated = CollatedNames::new(conn, &uuids);
    let held = existing.into_iter().filter(|uuid| !free.contains(uuid));
    Ok(held.map(|uuid| collated.as_requested(uuid)).collect())
}
