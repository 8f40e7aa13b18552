//! Writes allocations: the rows that consumers had go by id, what they have now comes.

use diesel::prelude::*;

use super::{Guard, Save};
use crate::db::DbResult;
use crate::db::dialect::{LIST_MAX, insert_rows};
use crate::db::rows::{CountKeys, InsertFromRows, Value};
use crate::db::schema::allocations;
use crate::db::together::Part;
use crate::model::state::{ConsumerEntry, State};
use crate::mutants::{self, Mutant};

const INSERT: InsertFromRows = InsertFromRows {
    table: "allocations",
    columns: &["resource_provider_id", "consumer_id", "resource_class_id", "used"],
};

const HELD: CountKeys = CountKeys {
    table: "allocations",
    column: "consumer_id",
};

/// Deletes by id and checks the count: a row that somebody else has replaced must not be subtracted.
pub fn delete(save: &mut Save<'_>) -> DbResult<Guard> {
    use allocations as t;
    if mutants::is(Mutant::SubtractUnremoved) {
        return delete_whatever_is_there(save);
    }
    let ids: Vec<i32> = replaced(save.state)
        .flat_map(|(_, entry)| &entry.held)
        .map(|row| row.id)
        .collect();
    let mut deleted = 0;
    for chunk in ids.chunks(LIST_MAX) {
        deleted += diesel::delete(t::table.filter(t::id.eq_any(chunk))).execute(save.conn)?;
    }
    Ok(Guard::expect(ids.len(), deleted))
}

/// What a mutant does: nobody looks whether the rows that go are those that were read.
fn delete_whatever_is_there(save: &mut Save<'_>) -> DbResult<Guard> {
    use allocations as t;
    let consumers: Vec<&String> = replaced(save.state).map(|(uuid, _)| uuid).collect();
    diesel::delete(t::table.filter(t::consumer_id.eq_any(consumers))).execute(save.conn)?;
    Ok(Guard::Held)
}

pub fn insert(save: &mut Save<'_>) -> DbResult<Guard> {
    use allocations as t;
    let rows: Vec<_> = replaced(save.state)
        .flat_map(|(uuid, entry)| entry.allocations.iter().map(move |allocation| (uuid, allocation)))
        .map(|(uuid, (provider, class, used))| {
            (
                t::created_at.eq(save.now),
                t::resource_provider_id.eq(save.ids.provider(*provider)),
                t::consumer_id.eq(uuid.as_str()),
                t::resource_class_id.eq(class.0),
                // `max_unit` is an INTEGER, and no claim passes it.
                t::used.eq(*used as i32),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    Ok(Guard::Held)
}

/// That new consumers hold nothing yet.
pub fn nothing_held(state: &State) -> Part {
    Part::NobodyHas(HELD, state.consumers.keys().cloned().collect())
}

/// What `insert` does, of providers that are there.
pub fn inserted(state: &State) -> Part {
    let rows = replaced(state)
        .flat_map(|(uuid, entry)| entry.allocations.iter().map(move |allocation| (uuid, allocation)))
        .map(|(uuid, (provider, class, used))| {
            vec![
                Value::Int(provider.0.into()),
                Value::Text(uuid.clone()),
                Value::Int(class.0.into()),
                Value::Int(*used),
            ]
        });
    Part::Insert(INSERT, rows.collect())
}

fn replaced(state: &State) -> impl Iterator<Item = (&String, &ConsumerEntry)> {
    state.consumers.iter().filter(|(_, entry)| entry.replaced)
}
