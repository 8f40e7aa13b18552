//! Writes the normal limits of classes.

use diesel::prelude::*;

use super::{Save, SaveResult};
use crate::db::WriteError;
use crate::db::schema::placet_limits as t;
use crate::model::limits::LimitRow;

/// Inserts or replaces limits. Guard: the generation that the batch was decided on; for a new limit the primary key.
pub fn write(save: &mut Save<'_>) -> SaveResult {
    for (class, entry) in &save.state.limits {
        let Some(LimitRow { generation, normal }) = entry.now.filter(|_| entry.base != entry.now) else {
            continue;
        };
        let normal = normal.map(|normal| normal.to_string());
        let written = match entry.base {
            None => diesel::insert_into(t::table)
                .values((
                    t::resource_class.eq(class),
                    t::created_at.eq(save.now),
                    t::generation.eq(generation),
                    t::normal.eq(normal),
                ))
                .execute(save.conn)?,
            Some(base) => {
                let known = t::table
                    .filter(t::resource_class.eq(class))
                    .filter(t::generation.eq(base.generation));
                diesel::update(known)
                    .set((
                        t::updated_at.eq(save.now),
                        t::generation.eq(generation),
                        t::normal.eq(normal),
                    ))
                    .execute(save.conn)?
            }
        };
        WriteError::unless_touched(1, written)?;
    }
    Ok(())
}
