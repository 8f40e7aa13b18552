//! Matches names from the database with the names in commands.
//!
//! Naively, a row belongs to the command with an equal name. But MariaDB's usual collations ignore case and trailing
//! spaces: a query for `VM1` finds the row `vm1`, and a lookup by the exact name would miss the row.
//!
//! So names are folded as the column's collation folds them (`dialect::folding`) and compared afterwards. The row gets
//! the command's spelling of the name. Engines that compare exactly fold nothing.

use std::collections::{HashMap, HashSet};

use crate::db::engines::dialect::{self, Folding};
use crate::db::{DbConnection, DbResult};

/// The names in commands, by the folded form.
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

    /// As `new`, but returns an error if two names are equal to the database: the commands cannot share a batch.
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

    /// The commands' spelling of the name `found`. An exact match comes first, because the collation of a table may be
    /// exact.
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
