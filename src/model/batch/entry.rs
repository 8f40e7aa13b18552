//! The rows of a table that the commands of a batch name: before the batch, and after the commands so far.

use std::collections::BTreeMap;

/// A row before the batch and now; `None` without a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<T> {
    pub base: Option<T>,
    pub now: Option<T>,
}

pub type Entries<K, T> = BTreeMap<K, Entry<T>>;

impl<T> Default for Entry<T> {
    fn default() -> Entry<T> {
        Entry { base: None, now: None }
    }
}

impl<T: Clone> Entry<T> {
    /// The entry of a row that no command has changed.
    pub fn of(row: Option<T>) -> Entry<T> {
        Entry {
            base: row.clone(),
            now: row,
        }
    }
}

/// The entries of rows from the table.
pub fn entries<K: Ord, T: Clone>(rows: impl IntoIterator<Item = (K, T)>) -> Entries<K, T> {
    rows.into_iter().map(|(key, row)| (key, Entry::of(Some(row)))).collect()
}

/// The entries whose row the batch inserts, changes or deletes.
pub fn changed<K, T: PartialEq>(entries: &Entries<K, T>) -> impl Iterator<Item = (&K, &Entry<T>)> {
    entries.iter().filter(|(_, entry)| entry.base != entry.now)
}

pub fn is_changed<K, T: PartialEq>(entries: &Entries<K, T>) -> bool {
    changed(entries).next().is_some()
}
