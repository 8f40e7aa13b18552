//! Verifies refusals: decides commands that were refused on the snapshot again, on rows of one consistent read.
//!
//! Naively, a batch in which one command is refused would be decided from the database as a whole: some twenty
//! statements, with locks on all of its rows. On a nearly full cloud most batches have such a command.
//!
//! So the granted commands are committed as if the refused ones had not come, and each refused one is verified here,
//! outside of the writer and without locks. The read begins after the batch has ended. If it refuses the command too,
//! that is the answer; if not, the snapshot was out of date, and the writer decides the command from the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::base::Base;
use super::batch_rows::{self, RowAccess};
use super::collation::CollatedNames;
use super::command::Command;
use super::decide::{Rules, decide};
use super::footprint::Footprint;
use super::state::{ConsumerEntry, State};
use crate::db::engines::dialect;
use crate::db::{DbConnection, DbResult};
use crate::error::Error;
use crate::search::Catalog;

/// Decides each command alone, on the rows that the transaction of `conn` sees. Returns for each its refusal, or `None`
/// if it would be granted. The number of statements does not depend on the number of commands.
pub fn verify(
    conn: &mut DbConnection,
    commands: &[&Command],
    rules: &Rules,
    known: Option<&Catalog>,
) -> DbResult<Vec<Option<Error>>> {
    let footprint = Footprint::of(commands);
    let consumers: Vec<&str> = footprint.consumers.iter().copied().collect();
    if commands.len() > 1 && CollatedNames::distinct(conn, &consumers).is_err() {
        // Two commands spell the same consumer differently, and one read would find it for one of them only.
        let alone = commands.iter().map(|command| verify(conn, &[command], rules, known));
        return Ok(alone.collect::<DbResult<Vec<_>>>()?.concat());
    }
    let consumers = batch_rows::consumers(conn, &footprint, RowAccess::Consistent)?;
    let rows = batch_rows::providers(conn, &footprint, &consumers, known, RowAccess::Consistent)?;
    let base = Base::Rows(Arc::new(rows));
    let now = dialect::now().and_utc();
    let refusal = |command: &&Command| {
        let mut state = State::new(base.clone(), consumers_of(command, &consumers), now);
        decide(&mut state, rules, command).err()
    };
    Ok(commands.iter().map(refusal).collect())
}

/// The entries of the consumers that the command names.
fn consumers_of(command: &Command, consumers: &BTreeMap<String, ConsumerEntry>) -> BTreeMap<String, ConsumerEntry> {
    let footprint = Footprint::of(&[command]);
    let named = footprint.consumers.iter();
    named
        .filter_map(|uuid| Some(((*uuid).to_owned(), consumers.get(*uuid)?.clone())))
        .collect()
}
