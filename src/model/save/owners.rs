//! Projects, users and consumer types: known to clients by names, to the tables by ids.

use std::collections::{BTreeSet, HashMap};

use diesel::prelude::*;

use super::Save;
use crate::db::dialect::{in_lists, insert_rows};
use crate::db::schema::{consumer_types, projects, users};
use crate::db::{DbConnection, DbResult};
use crate::model::spelled::Spelled;
use crate::model::state::ConsumerRow;

/// Ids of the names that the batch's consumers carry.
#[derive(Default)]
pub struct Owners {
    projects: HashMap<String, i32>,
    users: HashMap<String, i32>,
    types: HashMap<String, i32>,
}

impl Owners {
    pub fn project(&self, row: &ConsumerRow) -> i32 {
        self.projects.get(&row.project).copied().unwrap_or_default()
    }

    pub fn user(&self, row: &ConsumerRow) -> i32 {
        self.users.get(&row.user).copied().unwrap_or_default()
    }

    pub fn consumer_type(&self, row: &ConsumerRow) -> Option<i32> {
        row.consumer_type
            .as_ref()
            .and_then(|name| self.types.get(name))
            .copied()
    }
}

/// Looks the names up, and makes those that are new.
macro_rules! ensure_names {
    ($save:expr, $table:ident, $column:ident, $names:expr) => {{
        use $table as t;
        let names: BTreeSet<&str> = $names;
        let names: Vec<&str> = names.into_iter().collect();
        let spelled = Spelled::new($save.conn, &names);
        let look_up = |conn: &mut DbConnection| -> DbResult<HashMap<String, i32>> {
            let found: Vec<(String, i32)> = in_lists(&names, |names| {
                t::table
                    .filter(t::$column.eq_any(names))
                    .select((t::$column, t::id))
                    .load(&mut *conn)
            })?;
            Ok(found.into_iter().map(|(name, id)| (spelled.named(name), id)).collect())
        };
        let mut known = look_up(&mut *$save.conn)?;
        let new: Vec<_> = names
            .iter()
            .filter(|name| !known.contains_key(**name))
            .map(|name| (t::created_at.eq($save.now), t::$column.eq(*name)))
            .collect();
        if !new.is_empty() {
            // Another process may make the same name meanwhile: that is as good.
            insert_rows!($save.conn, t::table, &new, or_ignore)?;
            known = look_up(&mut *$save.conn)?;
            // What the database takes for the same although it is spelled otherwise, it says itself.
            for name in names
                .iter()
                .filter(|name| !known.contains_key(**name))
                .collect::<Vec<_>>()
            {
                let id = t::table
                    .filter(t::$column.eq(*name))
                    .select(t::id)
                    .first(&mut *$save.conn)?;
                known.insert((*name).to_owned(), id);
            }
        }
        known
    }};
}

/// The ids of all owners and types of `rows`.
pub fn ensure(save: &mut Save<'_>, rows: &[&ConsumerRow]) -> DbResult<Owners> {
    Ok(Owners {
        projects: ensure_names!(
            save,
            projects,
            external_id,
            rows.iter().map(|row| row.project.as_str()).collect()
        ),
        users: ensure_names!(
            save,
            users,
            external_id,
            rows.iter().map(|row| row.user.as_str()).collect()
        ),
        types: ensure_names!(
            save,
            consumer_types,
            name,
            rows.iter().filter_map(|row| row.consumer_type.as_deref()).collect()
        ),
    })
}
