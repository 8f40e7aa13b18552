//! The optimistic path: a batch is planned on the snapshot before BEGIN, then all of its writes run as one guarded
//! statement.
//!
//! Naively, a transaction locks and reads the rows that its commands name, decides, and writes. On a server each of
//! these statements is a round trip, and the locks are held during all of them.
//!
//! A plan reads nothing. Each of its writes carries a guard instead, which fails if the row is not what the snapshot
//! showed. If the engine can, all of them run as one statement ([`guarded`]).
//!
//! Happy path: every guard holds. With BEGIN and COMMIT that is three round trips on PostgreSQL, and two on MariaDB
//! from 10.6. Elsewhere each write is a statement of its own.
//!
//! Unhappy path: the first guard that fails says what to do.
//! - A peer has another revision than expected ([`BatchFailure::Stale`]): read the change feed, and plan again.
//! - The writer's own row has changed ([`BatchFailure::IdentityLost`]): register again, and reload the snapshot.
//! - A row of the plan has changed ([`BatchFailure::Conflict`]): retry with the next strategy.

use std::cmp::Ordering;

use chrono::NaiveDateTime;
use diesel::result::Error as DbError;

use super::batch::{BatchChange, Decision, LockSet};
use super::failure::BatchFailure;
use super::{Batch, BatchResult, Writer, catch_panic, require_conn};
use crate::db::change_feed::{self, Revisions};
use crate::db::engines::guarded::{self, ExecMode, GuardedWrite};
use crate::db::{DbConnection, fault};

/// The writes of a batch that was decided before its transaction began.
pub struct BatchPlan<B: Batch + ?Sized> {
    /// One for each command, in their order. The writes are those of the granted commands, as if the others had not
    /// come.
    pub decisions: Vec<Decision<B::Answer>>,
    pub change: B::Change,
    /// The writes, each with its guard; none if every command is refused.
    pub writes: Vec<GuardedWrite>,
    /// The time that is written into the rows.
    pub now: NaiveDateTime,
    /// The providers that it writes.
    pub written: LockSet,
    /// Those of `written` that peers keep updating.
    pub contended: LockSet,
}

impl<B: Batch> BatchPlan<B> {
    /// The providers to lock: all that it writes after a conflict, otherwise the contended ones.
    pub(super) fn lock_set(&self, locks_all: bool) -> &LockSet {
        if locks_all { &self.written } else { &self.contended }
    }
}

impl<B: Batch> Writer<B> {
    /// Plans the commands on the snapshot.
    pub(super) fn plan(&mut self, commands: &[&B::Command]) -> BatchResult<Option<BatchPlan<B>>> {
        let conn = require_conn(&mut self.conn)?;
        Ok(catch_panic(|| self.batch.plan(conn, commands)).ok_or(BatchFailure::Panicked)??)
    }

    /// Completes the writes of a plan: the check of the peers' revisions, if they are given, and the writer's next
    /// revision with the row that records the change.
    pub(super) fn prepare(
        &mut self,
        change: &B::Change,
        planned: Vec<GuardedWrite>,
        now: NaiveDateTime,
        expected_peers: Option<&Revisions>,
    ) -> BatchResult<PreparedWrite> {
        let body = catch_panic(|| change.encode()).ok_or(BatchFailure::Panicked)?;
        let (raise, record) = self.identity.raise_and_record(body);
        let mut writes: Vec<GuardedWrite> = expected_peers
            .map(change_feed::assert_peers_unchanged)
            .into_iter()
            .collect();
        let raise_index = writes.len();
        writes.extend(std::iter::once(raise).chain(planned).chain([record]));
        Ok(PreparedWrite {
            writes,
            now,
            raise_index,
        })
    }
}

/// All that the transaction of a plan writes, in order.
pub(super) struct PreparedWrite {
    writes: Vec<GuardedWrite>,
    now: NaiveDateTime,
    /// The index of the write that raises the writer's revision.
    raise_index: usize,
}

impl PreparedWrite {
    pub fn write(&self, conn: &mut DbConnection, mode: ExecMode) -> BatchResult<()> {
        match guarded::run(conn, self.now, &self.writes, mode) {
            Ok(None) => Ok(()),
            Ok(Some(failed)) => Err(match failed.cmp(&self.raise_index) {
                Ordering::Less => BatchFailure::Stale,
                Ordering::Equal => BatchFailure::IdentityLost,
                Ordering::Greater => BatchFailure::Conflict,
            }),
            Err(error) => Err(write_failure(error)),
        }
    }
}

/// Executes the writes of a plan that can run before its locks are taken, and returns them.
pub(super) fn insert_new_rows<B: Batch>(
    conn: &mut DbConnection,
    plan: BatchPlan<B>,
    mode: ExecMode,
) -> BatchResult<Vec<GuardedWrite>> {
    let writes: Vec<GuardedWrite> = plan.writes.into_iter().filter(GuardedWrite::can_preinsert).collect();
    if writes.is_empty() {
        return Ok(writes);
    }
    match guarded::run(conn, plan.now, &writes, mode).map_err(write_failure)? {
        None => Ok(writes),
        Some(_) => Err(BatchFailure::Conflict),
    }
}

fn write_failure(error: DbError) -> BatchFailure {
    if fault::is_constraint(&error) {
        // A peer inserted the row first.
        BatchFailure::Conflict
    } else {
        error.into()
    }
}
