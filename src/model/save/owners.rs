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

/// Looks names up: the ids of those that are there, by the names as they are asked for.
macro_rules! look_up {
    ($conn:expr, $table:ident, $column:ident, $names:expr) => {{
        use $table as t;
        let (conn, names): (&mut DbConnection, &[&str]) = ($conn, $names);
        let spelled = Spelled::new(conn, names);
        let found: Vec<(String, i32)> = in_lists(names, |names| {
            t::table
                .filter(t::$column.eq_any(names))
                .select((t::$column, t::id))
                .load(&mut *conn)
        })?;
        found
            .into_iter()
            .map(|(name, id)| (spelled.named(name), id))
            .collect::<HashMap<String, i32>>()
    }};
}

/// Looks the names up, and makes those that are new.
macro_rules! ensure_names {
    ($save:expr, $table:ident, $column:ident, $names:expr) => {{
        use $table as t;
        let names: Vec<&str> = $names.into_iter().collect();
        let mut known = look_up!($save.conn, $table, $column, &names);
        let new: Vec<_> = names
            .iter()
            .filter(|name| !known.contains_key(**name))
            .map(|name| (t::created_at.eq($save.now), t::$column.eq(*name)))
            .collect();
        if !new.is_empty() {
            // Another process may make the same name meanwhile: that is as good.
            insert_rows!($save.conn, t::table, &new, or_ignore)?;
            known = look_up!($save.conn, $table, $column, &names);
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

/// The names of a kind that `rows` carry.
fn names<'a>(rows: &[&'a ConsumerRow], of: fn(&'a ConsumerRow) -> Option<&'a str>) -> BTreeSet<&'a str> {
    rows.iter().filter_map(|row| of(row)).collect()
}

fn project(row: &ConsumerRow) -> Option<&str> {
    Some(&row.project)
}

fn user(row: &ConsumerRow) -> Option<&str> {
    Some(&row.user)
}

fn consumer_type(row: &ConsumerRow) -> Option<&str> {
    row.consumer_type.as_deref()
}

/// The ids of all owners and types of `rows`.
pub fn ensure(save: &mut Save<'_>, rows: &[&ConsumerRow]) -> DbResult<Owners> {
    Ok(Owners {
        projects: ensure_names!(save, projects, external_id, names(rows, project)),
        users: ensure_names!(save, users, external_id, names(rows, user)),
        types: ensure_names!(save, consumer_types, name, names(rows, consumer_type)),
    })
}

/// So many names of a kind are remembered, or a little more; then all are forgotten.
const REMEMBERED: usize = 10_000;

impl Owners {
    /// Whether `learn` has nothing to look up for `rows`.
    pub fn know(&self, rows: &[&ConsumerRow]) -> bool {
        let know = |row: &&ConsumerRow| {
            let consumer_type = row.consumer_type.as_ref();
            self.projects.contains_key(&row.project)
                && self.users.contains_key(&row.user)
                && consumer_type.is_none_or(|name| self.types.contains_key(name))
        };
        rows.iter().all(know)
    }

    /// Looks up those of `rows` that are not known yet; whether all are known then. Rows of owners and types never go, nor
    /// change their ids: what was found once holds as long as the database is the same.
    pub fn learn(&mut self, conn: &mut DbConnection, rows: &[&ConsumerRow]) -> DbResult<bool> {
        macro_rules! learn {
            ($known:ident, $table:ident, $column:ident, $of:ident) => {{
                let unknown = names(rows, $of)
                    .into_iter()
                    .filter(|name| !self.$known.contains_key(*name));
                let unknown: Vec<&str> = unknown.collect();
                if !unknown.is_empty() {
                    if self.$known.len() > REMEMBERED {
                        self.$known.clear();
                        return self.learn(conn, rows);
                    }
                    let found = look_up!(&mut *conn, $table, $column, &unknown);
                    let all = unknown.iter().all(|name| found.contains_key(*name));
                    self.$known.extend(found);
                    if !all {
                        return Ok(false);
                    }
                }
            }};
        }
        learn!(projects, projects, external_id, project);
        learn!(users, users, external_id, user);
        learn!(types, consumer_types, name, consumer_type);
        Ok(true)
    }
}
