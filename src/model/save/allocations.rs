//! Writes allocations: the rows that consumers had go by id, what they have now comes.

use diesel::prelude::*;

use super::{Guard, Save};
use crate::db::DbResult;
use crate::db::dialect::{LIST_MAX, insert_rows};
use crate::db::rows::{InsertFromRows, Value};
use crate::db::schema::allocations;
use crate::db::together::Together;
use crate::model::state::ConsumerEntry;
use crate::mutants::{self, Mutant};

const INSERT: InsertFromRows = InsertFromRows {
    into: "allocations (created_at, resource_provider_id, consumer_id, resource_class_id, used)",
    columns: &["provider", "consumer", "class", "used"],
    select: "v.provider, v.consumer, v.class, v.used",
    rest: "",
};

/// Deletes by id and checks the count: a row that somebody else has replaced must not be subtracted.
pub fn delete(save: &mut Save<'_>) -> DbResult<Guard> {
    use allocations as t;
    if mutants::is(Mutant::SubtractUnremoved) {
        return delete_whatever_is_there(save);
    }
    let ids: Vec<i32> = replaced(save)
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
    let consumers: Vec<&String> = replaced(save).map(|(uuid, _)| uuid).collect();
    diesel::delete(t::table.filter(t::consumer_id.eq_any(consumers))).execute(save.conn)?;
    Ok(Guard::Held)
}

pub fn insert(save: &mut Save<'_>) -> DbResult<Guard> {
    use allocations as t;
    let rows: Vec<_> = replaced(save)
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

/// What `insert` does, as a part of one statement.
pub fn insert_together(save: &Save<'_>, together: &mut Together) -> usize {
    let rows: Vec<Vec<Value>> = replaced(save)
        .flat_map(|(uuid, entry)| entry.allocations.iter().map(move |allocation| (uuid, allocation)))
        .map(|(uuid, (provider, class, used))| {
            vec![
                Value::Int(save.ids.provider(*provider).into()),
                Value::Text(uuid.clone()),
                Value::Int(class.0.into()),
                Value::Int(*used),
            ]
        })
        .collect();
    together.insert(&INSERT, save.now, &rows);
    rows.len()
}

fn replaced<'a>(save: &Save<'a>) -> impl Iterator<Item = (&'a String, &'a ConsumerEntry)> {
    save.state.consumers.iter().filter(|(_, entry)| entry.replaced)
}
