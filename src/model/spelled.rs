//! Names as a command spells them, where the database spells them otherwise and takes both for the same.

use std::collections::HashMap;

use crate::db::dialect::{self, Folding};
use crate::db::{DbConnection, DbResult};

/// The names that commands use, by what the database compares of them.
pub struct Spelled<'a> {
    fold: Folding,
    names: HashMap<String, &'a str>,
}

impl<'a> Spelled<'a> {
    pub fn new(conn: &DbConnection, names: &[&'a str]) -> Spelled<'a> {
        let fold = dialect::folding(conn);
        Spelled {
            fold,
            names: names.iter().map(|name| (fold(name), *name)).collect(),
        }
    }

    /// Whether names are the same where they are spelled alike, and nowhere else.
    pub fn is_exact(&self) -> bool {
        (self.fold)("A") == "A"
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

    /// A name that was found, as the commands spell it.
    pub fn named(&self, found: String) -> String {
        match self.names.get(&(self.fold)(&found)) {
            Some(name) => (*name).to_owned(),
            None => found,
        }
    }
}
