//! Rows of placet's own tables that commands name by a text, of tables that no other table of the batch depends on.
//!
//! The type of a row stands for the table. A command adds keys for the type to the footprint, and changes rows of the
//! type in the state. So the batch reads, compares and writes the rows without a list of the tables.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;

use chrono::NaiveDateTime;

use super::entry::{Entries, Entry, changed, entries, is_changed};
use crate::db::{DbConnection, DbResult, WriteError};

/// A row without the key.
pub trait OwnRow: Debug + Clone + PartialEq + Send + Sync + 'static {
    const TABLE: &'static str;
    /// Whether the catalog of a snapshot has the rows. Peers read the rows again with the names of the classes.
    const IS_DECLARED: bool = false;

    /// The rows with these keys. A key may have no row.
    fn rows(conn: &mut DbConnection, keys: &[&str]) -> DbResult<BTreeMap<String, Self>>;

    /// Inserts, replaces or deletes a row. Returns the number of written rows: 1 if the row is as before the batch.
    fn write(conn: &mut DbConnection, now: NaiveDateTime, key: &str, entry: &Entry<Self>) -> DbResult<usize>;
}

/// Rows by table and key. A footprint has the keys alone.
#[derive(Debug, Default)]
pub struct OwnTables(BTreeMap<&'static str, Box<dyn AnyEntries>>);

impl OwnTables {
    /// The rows of all keys, by a statement for each table.
    pub fn read(&self, conn: &mut DbConnection) -> DbResult<OwnTables> {
        let tables = self.0.iter().map(|(table, keys)| Ok((*table, keys.read(conn)?)));
        tables.collect::<DbResult<_>>().map(OwnTables)
    }

    /// The entries of a table; `None` if no command names a row of the table.
    pub fn entries<R: OwnRow>(&self) -> Option<&Entries<String, R>> {
        let entries: &dyn Any = &**self.0.get(R::TABLE)?;
        entries.downcast_ref()
    }

    /// The row of a key now.
    pub fn row<R: OwnRow>(&self, key: &str) -> Option<&R> {
        self.entries::<R>()?.get(key)?.now.as_ref()
    }

    /// The entry of a key, which is added if it is missing.
    pub fn entry<R: OwnRow>(&mut self, key: &str) -> &mut Entry<R> {
        let entries = self.0.entry(R::TABLE);
        let entries: &mut dyn Any = &mut **entries.or_insert_with(|| Box::new(Entries::<String, R>::new()));
        let entries: Option<&mut Entries<String, R>> = entries.downcast_mut();
        entries
            .expect("a table has one type of rows")
            .entry(key.to_owned())
            .or_default()
    }

    /// Writes the changed rows.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if a row is not as it was before the batch.
    pub fn write(&self, conn: &mut DbConnection, now: NaiveDateTime) -> Result<(), WriteError> {
        self.0.values().try_for_each(|entries| entries.write(conn, now))
    }

    pub fn are_changed(&self) -> bool {
        self.0.values().any(|entries| entries.are_changed())
    }

    /// Whether declared rows changed.
    pub fn are_declarations_changed(&self) -> bool {
        let mut declared = self.0.values().filter(|entries| entries.are_declared());
        declared.any(|entries| entries.are_changed())
    }
}

impl Clone for OwnTables {
    fn clone(&self) -> OwnTables {
        OwnTables(self.0.iter().map(|(table, entries)| (*table, entries.copy())).collect())
    }
}

/// Entries of any type of rows.
trait AnyEntries: Any + Debug + Send + Sync {
    fn copy(&self) -> Box<dyn AnyEntries>;
    fn read(&self, conn: &mut DbConnection) -> DbResult<Box<dyn AnyEntries>>;
    fn write(&self, conn: &mut DbConnection, now: NaiveDateTime) -> Result<(), WriteError>;
    fn are_changed(&self) -> bool;
    fn are_declared(&self) -> bool;
}

impl<R: OwnRow> AnyEntries for Entries<String, R> {
    fn copy(&self) -> Box<dyn AnyEntries> {
        Box::new(self.clone())
    }

    fn read(&self, conn: &mut DbConnection) -> DbResult<Box<dyn AnyEntries>> {
        let keys: Vec<&str> = self.keys().map(String::as_str).collect();
        Ok(Box::new(entries(R::rows(conn, &keys)?)))
    }

    fn write(&self, conn: &mut DbConnection, now: NaiveDateTime) -> Result<(), WriteError> {
        changed(self).try_for_each(|(key, entry)| WriteError::unless_touched(1, R::write(conn, now, key, entry)?))
    }

    fn are_changed(&self) -> bool {
        is_changed(self)
    }

    fn are_declared(&self) -> bool {
        R::IS_DECLARED
    }
}
