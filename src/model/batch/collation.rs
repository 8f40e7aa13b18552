//! Matches names that the database returns with the names that commands asked for.
//!
//! Naively, a row belongs to the requested name that equals its own. MariaDB's usual collations ignore case and
//! trailing spaces, though: a query for `VM1` finds the row `vm1`, and a lookup by the exact name would miss it.
//!
//! So names are folded as the column's collation folds them (`dialect::folding`) and then compared. A row that was
//! found gets the name that the command used. Engines that compare exactly fold nothing.

use std::collections::{HashMap, HashSet};

use crate::db::engines::dialect::{self, Folding};
use crate::db::{DbConnection, DbResult};

/// The names that commands ask for, by their folded form.
pub struct CollatedNames<'a> {
    fold: Folding,
    by_folded: HashMap<String, &'a str>,
    requested: HashSet<&'a str>,
}

impl<'a> CollatedNames<'a> {
    pub fn new(conn: &DbConnection, names: &[&'a str]) -> CollatedNames<'a> {
        let fold = dialect::folding(conn);
        CollatedNames {
            fold,
            by_folded: names.iter().map(|name| (fold(name), *name)).collect(),
            requested: names.iter().copied().collect(),
        }
    }

    /// As `new`. It is an error if two of the names are equal to the database: such commands cannot share a batch.
    pub fn distinct(conn: &DbConnection, names: &[&'a str]) -> DbResult<CollatedNames<'a>> {
        let collated = CollatedNames::new(conn, names);
        if collated.by_folded.len() == names.len() {
            Ok(collated)
        } else {
            Err(diesel::result::Error::QueryBuilderError(
                "a batch names one consumer in two spellings".into(),
            ))
        }
    }

    /// The spelling in which commands asked for the name `found`. An exact match comes first, because a table may
    /// have a collation that compares exactly.
    pub fn as_requested(&self, found: String) -> String {
        if self.requested.contains(found.as_str()) {
            return found;
        }
        match self.by_folded.get(&(self.fold)(&found)) {
            Some(name) => (*name).to_owned(),
            None => found,
        }
    }
}
