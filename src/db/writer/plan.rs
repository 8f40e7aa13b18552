//! The optimistic path: a batch is planned on the snapshot before BEGIN, and all writes run as one guarded statement.
//!
//! Naively, a transaction locks and reads the rows that its commands name, decides, and writes. On a server each of
//! these statements is a round trip, and the locks are held during all round trips. A plan reads nothing: each write
//! carries a guard, which fails if the row is not as the snapshot showed the row.
//!
//! Unhappy path: the first failed guard says how to go on.
//! - A peer has an unexpected revision ([`BatchFailure::Stale`]): read the change feed, and plan again.
//! - The writer's own row has changed ([`BatchFailure::IdentityLost`]): register again, and reload the snapshot.
//! - A row of the plan has changed ([`BatchFailure::Conflict`]): retry with the next strategy.

use std::cmp::Ordering;

use chrono::NaiveDateTime;
use diesel::result::Error as DbError;

use super::batch::{Batch, BatchChange, BatchPlan, LockSet};
use super::failure::{BatchFailure, BatchResult, catch_panic};
use super::identity::Identity;
use crate::db::change_feed::{self, Revisions};
use crate::db::engines::guarded::{self, ExecMode, GuardedWrite};
use crate::db::{DbConnection, fault};

/// All writes of a plan's transaction, in order.
pub(super) struct PreparedWrite {
    writes: Vec<GuardedWrite>,
    now: NaiveDateTime,
    /// The index of the write that raises the writer's revision.
    raise_index: usize,
}

impl PreparedWrite {
    /// Completes the writes of a plan: the check of the peers' revisions, if `expected_peers` is given, and the
    /// writer's next revision with the row that records the change.
    pub fn new(
        identity: &mut Identity,
        change: &impl BatchChange,
        planned: Vec<GuardedWrite>,
        now: NaiveDateTime,
        expected_peers: Option<&Revisions>,
    ) -> BatchResult<PreparedWrite> {
        let body = catch_panic(|| change.encode())?;
        let (raise, record) = identity.raise_and_record(body);
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

/// The writes of a locked batch before the locks are taken.
#[derive(Default)]
pub(super) struct Preinserted {
    pub writes: Vec<GuardedWrite>,
    /// The providers to lock.
    pub lock_set: LockSet,
}

/// Executes the writes of a plan that can run before the locks are taken, and returns these writes.
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
