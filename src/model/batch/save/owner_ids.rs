//! Ids of projects, users and consumer types. Clients use names, and the tables of consumers refer to ids.
//!
//! Naively, each batch looks up the names of its consumers, or inserts the names: three statements more in every
//! transaction. A batch that is decided in its transaction does so (`ensure`). A plan would lose the saved round trips.
//!
//! placet never deletes these rows. So the ids from lookups of earlier plans are cached, and a plan looks up only names
//! outside of the cache (`load_missing`). If a name does not exist, there is no plan.
//!
//! A foreign writer may delete the rows, so each plan checks that its ids still have their names (`name_guards`). If
//! not, the batch is decided from the database, and the names of the batch are dropped from the cache.

use std::collections::{BTreeSet, HashMap};

use diesel::prelude::*;

use super::Save;
use crate::db::engines::dialect::{in_lists, insert_rows};
use crate::db::engines::rows::Value;
use crate::db::schema::{consumer_types, projects, users};
use crate::db::{DbConnection, DbResult};
use crate::model::batch::collation::CollatedNames;
use crate::model::batch::state::ConsumerRow;

/// Ids by name, of some or all projects, users and consumer types.
#[derive(Default)]
pub struct OwnerIds {
    projects: HashMap<String, i32>,
    users: HashMap<String, i32>,
    types: HashMap<String, i32>,
}

impl OwnerIds {
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

/// The columns of a consumer that may change: generation, project, user and type.
pub fn columns(row: &ConsumerRow, ids: &OwnerIds) -> [Value; 4] {
    [
        Value::Int(row.generation),
        Value::Int(ids.project(row).into()),
        Value::Int(ids.user(row).into()),
        Value::MaybeInt(ids.consumer_type(row).map(Into::into)),
    ]
}

/// The ids of the existing names, by the requested spelling.
macro_rules! look_up {
    ($conn:expr, $table:ident, $column:ident, $names:expr) => {{
        use $table as t;
        let (conn, names): (&mut DbConnection, &[&str]) = ($conn, $names);
        let collated = CollatedNames::new(conn, names);
        let found: Vec<(String, i32)> = in_lists(names, |names| {
            t::table
                .filter(t::$column.eq_any(names))
                .select((t::$column, t::id))
                .load(&mut *conn)
        })?;
        found
            .into_iter()
            .map(|(name, id)| (collated.as_requested(name), id))
            .collect::<HashMap<String, i32>>()
    }};
}

/// The ids of the names. Inserts missing names.
macro_rules! ensure_names {
    ($save:expr, $table:ident, $column:ident, $names:expr) => {{
        use $table as t;
        let names: Vec<&str> = $names.into_iter().collect();
        let mut ids = look_up!($save.conn, $table, $column, &names);
        let new: Vec<_> = names
            .iter()
            .filter(|name| !ids.contains_key(**name))
            .map(|name| (t::created_at.eq($save.now), t::$column.eq(*name)))
            .collect();
        if !new.is_empty() {
            // If a different process inserts the same name first, the row serves as well.
            insert_rows!($save.conn, t::table, &new, or_ignore)?;
            ids = look_up!($save.conn, $table, $column, &names);
            // The collation may equate more than folding does, accents for example: let the database compare.
            for name in names
                .iter()
                .filter(|name| !ids.contains_key(**name))
                .collect::<Vec<_>>()
            {
                let id = t::table
                    .filter(t::$column.eq(*name))
                    .select(t::id)
                    .first(&mut *$save.conn)?;
                ids.insert((*name).to_owned(), id);
            }
        }
        ids
    }};
}

/// The distinct names of a kind in `rows`.
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

/// The ids of all projects, users and types of `rows`. Inserts missing names.
pub fn ensure(save: &mut Save<'_>, rows: &[&ConsumerRow]) -> DbResult<OwnerIds> {
    Ok(OwnerIds {
        projects: ensure_names!(save, projects, external_id, names(rows, project)),
        users: ensure_names!(save, users, external_id, names(rows, user)),
        types: ensure_names!(save, consumer_types, name, names(rows, consumer_type)),
    })
}

/// The size at which the cache of a kind is emptied. A single lookup may exceed the size.
const CACHED_NAMES_MAX: usize = 10_000;

impl OwnerIds {
    /// Whether the ids of all names in `rows` are cached.
    pub fn has_all(&self, rows: &[&ConsumerRow]) -> bool {
        let is_cached = |row: &&ConsumerRow| {
            let consumer_type = row.consumer_type.as_ref();
            self.projects.contains_key(&row.project)
                && self.users.contains_key(&row.user)
                && consumer_type.is_none_or(|name| self.types.contains_key(name))
        };
        rows.iter().all(is_cached)
    }

    /// Drops the names of `rows` from the cache.
    pub fn forget<'a>(&mut self, rows: impl Iterator<Item = &'a ConsumerRow>) {
        for row in rows {
            self.projects.remove(&row.project);
            self.users.remove(&row.user);
            if let Some(name) = &row.consumer_type {
                self.types.remove(name);
            }
        }
    }

    /// Looks up the names of `rows` that are not cached. Returns false if a name does not exist.
    pub fn load_missing(&mut self, conn: &mut DbConnection, rows: &[&ConsumerRow]) -> DbResult<bool> {
        macro_rules! load_kind {
            ($cache:ident, $table:ident, $column:ident, $of:ident) => {{
                let missing = names(rows, $of)
                    .into_iter()
                    .filter(|name| !self.$cache.contains_key(*name));
                let missing: Vec<&str> = missing.collect();
                if !missing.is_empty() {
                    if self.$cache.len() > CACHED_NAMES_MAX {
                        self.$cache.clear();
                        return self.load_missing(conn, rows);
                    }
                    let found = look_up!(&mut *conn, $table, $column, &missing);
                    let has_found_all = missing.iter().all(|name| found.contains_key(*name));
                    self.$cache.extend(found);
                    if !has_found_all {
                        return Ok(false);
                    }
                }
            }};
        }
        load_kind!(projects, projects, external_id, project);
        load_kind!(users, users, external_id, user);
        load_kind!(types, consumer_types, name, consumer_type);
        Ok(true)
    }
}
