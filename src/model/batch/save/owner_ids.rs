//! Ids of projects, users and consumer types. Clients use names, and the tables of consumers refer to ids.
//!
//! Naively, each batch looks up the names of its consumers, or inserts the names: three statements more in every
//! transaction. A batch that is decided in its transaction does so (`ensure`). A plan would lose the saved round trips.
//!
//! placet never deletes these rows. So the ids from lookups of earlier plans are cached, and a plan looks up only names
//! outside of the cache (`load_missing`). If a name does not exist, there is no plan.
//!
//! A foreign writer may delete the rows, so each plan checks that its ids still have their names (`name_guards`). If
//! not, the batch is decided from the database, and the names of the batch are dropped from the cache. If the batch is
//! refused, all names are dropped.

use std::collections::{BTreeSet, HashMap};

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::Save;
use crate::db::engines::dialect::{in_lists, insert_rows};
use crate::db::engines::rows::Value;
use crate::db::schema::{consumer_types, projects, users};
use crate::db::{DbConnection, DbResult};
use crate::model::batch::collation::CollatedNames;
use crate::model::batch::state::ConsumerRow;

/// The size at which the cache of a kind is emptied. A single lookup may exceed the size.
const CACHED_NAMES_MAX: usize = 10_000;

/// A table of names.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Project,
    User,
    ConsumerType,
}

pub const KINDS: [Kind; 3] = [Kind::Project, Kind::User, Kind::ConsumerType];

/// Evaluates an expression with the kind's table, and its column of names.
macro_rules! on_table {
    ($kind:expr, $table:ident, $column:ident => $body:expr) => {
        match $kind {
            Kind::Project => {
                use projects::{self as $table, external_id as $column};
                $body
            }
            Kind::User => {
                use users::{self as $table, external_id as $column};
                $body
            }
            Kind::ConsumerType => {
                use consumer_types::{self as $table, name as $column};
                $body
            }
        }
    };
}

impl Kind {
    pub fn name(self, row: &ConsumerRow) -> Option<&str> {
        match self {
            Kind::Project => Some(&row.project),
            Kind::User => Some(&row.user),
            Kind::ConsumerType => row.consumer_type.as_deref(),
        }
    }

    /// The distinct names in `rows`.
    fn names<'a>(self, rows: &[&'a ConsumerRow]) -> BTreeSet<&'a str> {
        rows.iter().filter_map(|row| self.name(row)).collect()
    }

    /// The ids of the existing names, by the requested spelling.
    fn look_up(self, conn: &mut DbConnection, names: &[&str]) -> DbResult<HashMap<String, i32>> {
        let collated = CollatedNames::new(conn, names);
        let found: Vec<(String, i32)> = on_table!(self, t, column => in_lists(names, |names| {
            t::table
                .filter(column.eq_any(names))
                .select((column, t::id))
                .load(&mut *conn)
        }))?;
        let found = found.into_iter();
        Ok(found.map(|(name, id)| (collated.as_requested(name), id)).collect())
    }

    /// If a different process inserts the same name first, the row serves as well.
    fn insert(self, conn: &mut DbConnection, now: NaiveDateTime, names: &[&str]) -> DbResult<()> {
        on_table!(self, t, column => {
            let rows: Vec<_> = names.iter().map(|name| (t::created_at.eq(now), column.eq(*name))).collect();
            insert_rows!(conn, t::table, &rows, or_ignore)?;
        });
        Ok(())
    }

    /// The id of a name as the database compares names. The collation may equate more than folding does, accents for
    /// example.
    fn find(self, conn: &mut DbConnection, name: &str) -> DbResult<i32> {
        on_table!(self, t, column => t::table.filter(column.eq(name)).select(t::id).first(conn))
    }

    /// The ids of the names. Inserts missing names.
    fn ensure(self, save: &mut Save<'_>, names: &[&str]) -> DbResult<HashMap<String, i32>> {
        let mut ids = self.look_up(save.conn, names)?;
        let new = without_id(names, &ids);
        if !new.is_empty() {
            self.insert(save.conn, save.now, &new)?;
            ids = self.look_up(save.conn, names)?;
            for name in without_id(names, &ids) {
                ids.insert(name.to_owned(), self.find(save.conn, name)?);
            }
        }
        Ok(ids)
    }
}

fn without_id<'a>(names: &[&'a str], ids: &HashMap<String, i32>) -> Vec<&'a str> {
    names.iter().copied().filter(|name| !ids.contains_key(*name)).collect()
}

/// Ids by name, of some or all projects, users and consumer types.
#[derive(Default)]
pub struct OwnerIds([HashMap<String, i32>; KINDS.len()]);

/// The ids of all projects, users and types of `rows`. Inserts missing names.
pub fn ensure(save: &mut Save<'_>, rows: &[&ConsumerRow]) -> DbResult<OwnerIds> {
    let mut ids = OwnerIds::default();
    for kind in KINDS {
        let names: Vec<&str> = kind.names(rows).into_iter().collect();
        ids.0[kind as usize] = kind.ensure(save, &names)?;
    }
    Ok(ids)
}

impl OwnerIds {
    /// The id of the row's name; `None` if the row has no name of the kind.
    pub fn id(&self, kind: Kind, row: &ConsumerRow) -> Option<i32> {
        self.0[kind as usize].get(kind.name(row)?).copied()
    }

    /// The columns of a consumer that may change: generation, project, user and type.
    pub fn columns(&self, row: &ConsumerRow) -> [Value; 4] {
        let id = |kind| self.id(kind, row).map(i64::from);
        [
            Value::Int(row.generation),
            Value::Int(id(Kind::Project).unwrap_or_default()),
            Value::Int(id(Kind::User).unwrap_or_default()),
            Value::MaybeInt(id(Kind::ConsumerType)),
        ]
    }

    /// Whether the ids of all names in `rows` are cached.
    pub fn has_all(&self, rows: &[&ConsumerRow]) -> bool {
        let has = |kind: Kind, row: &ConsumerRow| kind.name(row).is_none() || self.id(kind, row).is_some();
        rows.iter().all(|row| KINDS.iter().all(|kind| has(*kind, row)))
    }

    /// Drops the names of `rows` from the cache.
    pub fn forget<'a>(&mut self, rows: impl Iterator<Item = &'a ConsumerRow>) {
        for row in rows {
            for kind in KINDS {
                if let Some(name) = kind.name(row) {
                    self.0[kind as usize].remove(name);
                }
            }
        }
    }

    /// Looks up the names of `rows` that are not cached. Returns false if a name does not exist.
    pub fn load_missing(&mut self, conn: &mut DbConnection, rows: &[&ConsumerRow]) -> DbResult<bool> {
        for kind in KINDS {
            let cache = &mut self.0[kind as usize];
            let names: Vec<&str> = kind.names(rows).into_iter().collect();
            let missing = without_id(&names, cache);
            if missing.is_empty() {
                continue;
            }
            if cache.len() > CACHED_NAMES_MAX {
                cache.clear();
                return self.load_missing(conn, rows);
            }
            let found = kind.look_up(conn, &missing)?;
            let has_found_all = without_id(&missing, &found).is_empty();
            cache.extend(found);
            if !has_found_all {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
