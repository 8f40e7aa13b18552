//! Names as a command spells them, where the database spells them otherwise and takes both for the same.

use std::collections::{HashMap, HashSet};

use crate::db::dialect::{self, Folding};
use crate::db::{DbConnection, DbResult};

/// The names that commands use, by what the database compares of them.
pub struct Spelled<'a> {
    fold: Folding,
    names: HashMap<String, &'a str>,
    exact: HashSet<&'a str>,
}

impl<'a> Spelled<'a> {
    pub fn new(conn: &DbConnection, names: &[&'a str]) -> Spelled<'a> {
        let fold = dialect::folding(conn);
        Spelled {
            fold,
            names: names.iter().map(|name| (fold(name), *name)).collect(),
            exact: names.iter().copied().collect(),
        }
    }

    /// As `new`, but an error where two of the names are one to the database: such commands cannot share a batch.
    pub fn apart(conn: &DbConnection, names: &[&'a str]) -> DbResult<Spelled<'a>> {
        let spelled = Spelled::new(conn, names);
        match spelled.names.len() == names.len() {
            true => Ok(spelled),
            false => Err(diesel::result::Error::QueryBuilderError(
                "a batch names one consumer in two spellings".into(),
            )),
        }
    }

    /// A name that was found, as the commands spell it: first of all as it is, for a table may compare exactly after all.
    pub fn named(&self, found: String) -> String {
        if self.exact.contains(found.as_str()) {
            return found;
        }
        match self.names.get(&(self.fold)(&found)) {
            Some(name) => (*name).to_owned(),
            None => found,
        }
    }
}
