//! Verifies refusals: commands that were refused on the snapshot are decided again, on rows of a consistent read.
//!
//! Naively, a batch with a refused command would be decided from the database as a whole: some twenty statements, with
//! locks on all rows. On a nearly full cloud most batches have a refused command.
//!
//! So the granted commands are committed without the refused commands. Each refused command is verified here, outside
//! of the writer and without locks, on a read that begins after the end of the batch. If the rows refuse the command
//! too, the refusal is the answer. If not, the snapshot was out of date, and the writer decides the command from the
//! database.
//!
//! A refusal corrects the snapshot: providers whose rows differ from the snapshot are read again before the caller is
//! answered. So a caller that plans again sees at least the rows that refused the plan.
//!
//! A dry run is decided here as well: the decision says what would be written, and nothing is written.
//!
//! Claims and releases are frequent: a single statement, which is a consistent read by itself, reads all rows on which
//! their refusals depend. If a command of a different kind is read with them, the read takes some eleven statements in
//! a transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::base::{Base, Rows};
use super::batch_rows::{self, RowAccess};
use super::collation::CollatedNames;
use super::command::{Answer, Command};
use super::decide::Rules;
use super::footprint::Footprint;
use super::own_rows::OwnRows;
use super::state::{ConsumerEntry, State};
use crate::db::engines::dialect;
use crate::db::{DbConnection, DbResult};
use crate::error::Result;
use crate::model::snapshot::comparison;
use crate::model::snapshot::store::SnapshotStore;
use crate::search::{ProviderId, Snapshot};

/// Decides each command alone, on the rows of the tables at a moment after the call. Returns for each command the
/// refusal, or the answer if granted. The number of statements does not depend on the number of commands.
///
/// After a refusal the store's snapshot shows each provider as the rows do, or newer.
pub fn verify(
    store: &SnapshotStore,
    rules: &Rules,
    conn: &mut DbConnection,
    commands: &[&Command],
) -> DbResult<Vec<Result<Answer>>> {
    let may_decide = store.may_decide();
    let snapshot = store.newest();
    let mut verification = Verification::new(rules, &snapshot, may_decide);
    let decisions = verification.verify(conn, commands)?;
    let differing = verification.differing;
    if decisions.iter().any(Result::is_err) && !differing.is_empty() {
        comparison::correct(store, conn, &snapshot, differing)?;
    }
    Ok(decisions)
}

/// Decides commands on rows, and compares the rows with a snapshot.
pub struct Verification<'a> {
    rules: &'a Rules,
    snapshot: &'a Snapshot,
    /// Whether a decision may rest on the snapshot. If not, only the snapshot's ids are used, and compared.
    may_decide: bool,
    /// The providers that the rows and the snapshot show differently.
    differing: BTreeSet<ProviderId>,
}

impl<'a> Verification<'a> {
    pub fn new(rules: &'a Rules, snapshot: &'a Snapshot, may_decide: bool) -> Verification<'a> {
        Verification {
            rules,
            snapshot,
            may_decide,
            differing: BTreeSet::new(),
        }
    }

    /// As [`verify`], without a correction of the snapshot.
    pub fn verify(&mut self, conn: &mut DbConnection, commands: &[&Command]) -> DbResult<Vec<Result<Answer>>> {
        let footprint = footprint_of(commands);
        if let Some(found) = batch_rows::claim_rows(conn, &footprint, self.snapshot)? {
            return self.decide_each(conn, commands, found.rows, &found.consumers);
        }
        dialect::read_transaction(conn, |conn| self.verify_on_all_rows(conn, commands))
    }

    /// As [`Self::verify`], for any commands, in the transaction of `conn`.
    fn verify_on_all_rows(&mut self, conn: &mut DbConnection, commands: &[&Command]) -> DbResult<Vec<Result<Answer>>> {
        let footprint = footprint_of(commands);
        let consumers: Vec<&str> = footprint.consumers.iter().copied().collect();
        if commands.len() > 1 && CollatedNames::distinct(conn, &consumers).is_err() {
            // Two commands spell the same consumer differently. A shared read would find the consumer for only one
            // command.
            let alone = commands.iter().map(|command| self.verify_on_all_rows(conn, &[command]));
            return Ok(alone.collect::<DbResult<Vec<_>>>()?.concat());
        }
        let known = self.may_decide.then(|| self.snapshot.catalog());
        let consumers = batch_rows::consumers(conn, &footprint, RowAccess::Consistent)?;
        let rows = batch_rows::providers(conn, &footprint, &consumers, known, RowAccess::Consistent)?;
        self.decide_each(conn, commands, rows, &consumers)
    }

    /// Decides each command alone on the rows.
    fn decide_each(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Command],
        rows: Rows,
        consumers: &BTreeMap<String, ConsumerEntry>,
    ) -> DbResult<Vec<Result<Answer>>> {
        let footprint = footprint_of(commands);
        let named = footprint.known_providers(self.snapshot);
        self.differing.extend(rows.differing_from(self.snapshot, &named));
        let base = Base::Rows(Arc::new(rows));
        let own = OwnRows::read(conn, &footprint, &base)?;
        let now = dialect::now().and_utc();
        let decide_alone = |command: &&Command| {
            let mut state = State::new(base.clone(), consumers_of(command, consumers), own.clone(), now);
            command.decide(&mut state, self.rules)
        };
        Ok(commands.iter().map(decide_alone).collect())
    }
}

fn footprint_of<'a>(commands: &[&'a Command]) -> Footprint<'a> {
    Command::footprint(commands, None)
}

/// The entries of the command's consumers.
fn consumers_of(command: &Command, consumers: &BTreeMap<String, ConsumerEntry>) -> BTreeMap<String, ConsumerEntry> {
    let footprint = footprint_of(&[command]);
    let named = footprint.consumers.iter();
    named
        .filter_map(|uuid| Some(((*uuid).to_owned(), consumers.get(*uuid)?.clone())))
        .collect()
}
