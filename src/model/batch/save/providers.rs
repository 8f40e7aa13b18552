//! Writes the descriptions of providers.

use std::collections::BTreeMap;

use diesel::prelude::*;

use super::{Save, SaveResult};
use crate::db::WriteError;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::placet_descriptions as table;
use crate::db::statements::descriptions as statements;
use crate::model::providers;

/// Replaces rows. Guard: the generation that the batch was decided on; for a new row the primary key.
pub fn write(save: &mut Save<'_>) -> SaveResult {
    let (mut replaced, mut new, mut rows) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (id, base, now) in save.state.changed_descriptions() {
        let provider = save.ids.real(id.0);
        let row = save.state.providers.get(&id).and_then(|entry| entry.now.as_ref());
        let uuid = row.map(|row| row.uuid.to_string()).unwrap_or_default();
        match base {
            Some(base) => replaced.push((provider, i32::try_from(base.generation).unwrap_or(i32::MAX))),
            None => drop(new.insert(provider, uuid.clone())),
        }
        let (state, body) = providers::encode(&now.description);
        rows.push(vec![
            Value::Int(provider.into()),
            Value::Text(uuid),
            Value::Int(now.generation),
            Value::Text(state.to_owned()),
            Value::Int(now.sets_trait.into()),
            Value::Text(body),
        ]);
    }
    if rows.is_empty() {
        return Ok(());
    }
    delete_left(save, &new)?;
    let deleted = statements::DELETE.run(save.conn, &replaced)?;
    WriteError::unless_touched(replaced.len(), deleted)?;
    save.write(&GuardedWrite::Insert(statements::INSERT, rows))
}

/// Deletes the rows that a foreign program left of deleted providers, if `new` providers have the same ids. The uuid is
/// not enough to find these rows: the batch may describe a provider of the same uuid with a new id.
fn delete_left(save: &mut Save<'_>, new: &BTreeMap<i32, String>) -> SaveResult {
    if new.is_empty() {
        return Ok(());
    }
    let found: Vec<(i32, String)> = table::table
        .filter(table::resource_provider_id.eq_any(new.keys()))
        .select((table::resource_provider_id, table::uuid))
        .load(save.conn)?;
    let is_left = |(id, uuid): &(i32, String)| new.get(id) != Some(uuid);
    let (ids, uuids): (Vec<i32>, Vec<String>) = found.into_iter().filter(is_left).unzip();
    if !ids.is_empty() {
        let left = table::table.filter(table::resource_provider_id.eq_any(ids));
        diesel::delete(left.filter(table::uuid.eq_any(uuids))).execute(save.conn)?;
    }
    Ok(())
}
