//! Which rows of a batch other transactions have locked.

use std::collections::BTreeSet;

use diesel::prelude::*;

use crate::db::engines::dialect::{free_rows, has_other_writers, in_lists};
use crate::db::schema::{consumers, resource_providers};
use crate::db::writer::HeldRows;
use crate::db::{DbConnection, DbResult};
use crate::model::batch::collation::CollatedNames;
use crate::model::batch::footprint::Footprint;

/// The locked ones among the providers with these ids and the consumers of the footprint. Does not wait.
pub fn held_rows(conn: &mut DbConnection, providers: &[i32], footprint: &Footprint<'_>) -> DbResult<HeldRows> {
    if !has_other_writers(conn) {
        return Ok(HeldRows::default());
    }
    Ok(HeldRows {
        providers: held_providers(conn, providers)?,
        consumers: held_consumers(conn, footprint)?,
    })
}

fn held_providers(conn: &mut DbConnection, ids: &[i32]) -> DbResult<BTreeSet<i32>> {
    use resource_providers as t;
    let free: Vec<i32> = in_lists(ids, |ids| {
        free_rows!(conn, t::table.filter(t::id.eq_any(ids)).select(t::id))
    })?;
    if free.len() == ids.len() {
        return Ok(BTreeSet::new());
    }
    let existing: Vec<i32> = in_lists(ids, |ids| {
        t::table.filter(t::id.eq_any(ids)).select(t::id).load(&mut *conn)
    })?;
    Ok(existing.into_iter().filter(|id| !free.contains(id)).collect())
}

fn held_consumers(conn: &mut DbConnection, footprint: &Footprint<'_>) -> DbResult<BTreeSet<String>> {
    use consumers as t;
    let uuids: Vec<&str> = footprint.consumers.iter().copied().collect();
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
