//! Writes the descriptions of providers.

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
    let (mut replaced, mut new, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (id, base, now) in save.state.changed_descriptions() {
        let provider = save.ids.provider(id);
        match base {
            Some(base) => replaced.push((provider, i32::try_from(base.generation).unwrap_or(i32::MAX))),
            None => new.push(provider),
        }
        let uuid = save.state.providers.get(&id).and_then(|entry| entry.now.as_ref());
        let (state, body) = providers::encode(&now.description);
        rows.push(vec![
            Value::Int(provider.into()),
            Value::Text(uuid.map(|row| row.uuid.to_string()).unwrap_or_default()),
            Value::Int(now.generation),
            Value::Text(state.to_owned()),
            Value::Int(now.sets_trait.into()),
            Value::Text(body),
        ]);
    }
    if rows.is_empty() {
        return Ok(());
    }
    // What another program left of a deleted provider with this id.
    let uuids: Vec<&str> = rows.iter().filter_map(|row| uuid_of(row)).collect();
    let left = table::table.filter(table::resource_provider_id.eq_any(&new));
    diesel::delete(left.filter(table::uuid.ne_all(&uuids))).execute(save.conn)?;
    let deleted = statements::DELETE.run(save.conn, &replaced)?;
    WriteError::unless_touched(replaced.len(), deleted)?;
    save.write(&GuardedWrite::Insert(statements::INSERT, rows))
}

fn uuid_of(row: &[Value]) -> Option<&str> {
    match row.get(1) {
        Some(Value::Text(uuid)) => Some(uuid),
        _ => None,
    }
}
