//! The locked strategy (pessimistic locking), for contended providers. Lock their rows and apply what peers have
//! committed. Then make the plan that is committed.
//!
//! Naively, every process plans on its snapshot and lets the guards find conflicts. If several processes keep
//! changing the same provider, such as a shared storage pool, all but one of them fail. Each that fails decides its
//! batch again by reading the database, which takes some twenty statements.
//!
//! So a batch on contended providers locks them before it makes this plan. With the locks held, no peer can invalidate
//! it.
//!
//! Peers wait for these locks, so they must be held briefly. Rows of new consumers and their allocations are planned
//! and inserted before the locks are taken (pre-insert): that blocks only claims for the same consumers. Commands that
//! arrive in between join the batch. Then: lock, catch up with the change feed, plan again, write the rest, COMMIT.
//!
//! Measured in claims a second, with three processes on one pool and 32 clients, and other work in between. Pre-inserts
//! raised PostgreSQL from 4,878 to 6,835, and MariaDB from 3,293 to 7,767.
//!
//! Unhappy paths, each of which rolls the transaction back, pre-inserted rows included:
//! - A pre-insert or a guard finds that a peer was first ([`BatchFailure::Conflict`]): lock all providers that the plan
//!   writes and try again; if they were all locked, decide from the database.
//! - The feed cannot be applied without reading rows, or the second plan no longer contains what was pre-inserted
//!   ([`BatchFailure::Stale`]): read the feed outside of the transaction, plan and lock again; the second time, decide
//!   from the database.
//! - The second plan misses data ([`BatchFailure::NeedsDatabase`]): decide from the database.
//! - Two batches deadlock: the engine aborts one of them, or its lock timeout does, and that one is retried. They can,
//!   because here the writer's own row is locked last, and new consumers in the order of their arrival.

use super::batch::{Decision, Executed, LockSet};
use super::failure::BatchFailure;
use super::plan::{BatchPlan, insert_new_rows};
use super::{Batch, BatchResult, Job, Writer, catch_panic, commands, require_conn};
use crate::db::engines::dialect;
use crate::db::engines::guarded::{self, ExecMode, GuardedWrite};

/// The maximum number of rounds in which rows are pre-inserted, if commands keep coming. By then, clients that were
/// answered after the last locked batch have sent their next command.
const PREINSERT_ROUNDS: usize = 3;

/// What a locked batch did before it takes its locks.
#[derive(Default)]
pub(super) struct Preinserted {
    pub writes: Vec<GuardedWrite>,
    /// The providers to lock.
    pub lock_set: LockSet,
}

impl<B: Batch> Writer<B> {
    /// Commits the jobs, and those that join them, by a plan that is made under locks. `plan` is the one without them.
    pub(super) fn commit_locked(
        &mut self,
        jobs: &mut Vec<Job<B>>,
        plan: BatchPlan<B>,
        locks_all: bool,
    ) -> BatchResult<Vec<Decision<B::Answer>>> {
        let conn = require_conn(&mut self.conn)?;
        dialect::begin_write(conn)?;
        let executed = catch_panic(|| self.execute_locked(jobs, plan, locks_all));
        self.end(jobs, executed)
    }

    fn execute_locked(
        &mut self,
        jobs: &mut Vec<Job<B>>,
        plan: BatchPlan<B>,
        locks_all: bool,
    ) -> BatchResult<Executed<B>> {
        let preinserted = self.preinsert(jobs, plan, locks_all)?;
        self.execute_preinserted(jobs, &preinserted)
    }

    /// Takes the locks, plans again, and writes what is left.
    pub(super) fn execute_preinserted(
        &mut self,
        jobs: &[Job<B>],
        preinserted: &Preinserted,
    ) -> BatchResult<Executed<B>> {
        let conn = require_conn(&mut self.conn)?;
        self.batch.lock(conn, &preinserted.lock_set)?;
        if !self.batch.catch_up(conn)? {
            return Err(BatchFailure::Stale);
        }
        // A decision from the database takes its locks in another order, so it needs a transaction of its own.
        let plan = self
            .batch
            .plan(conn, &commands(jobs))?
            .ok_or(BatchFailure::NeedsDatabase)?;
        // What was pre-inserted for a command that this plan refuses must not be committed.
        let is_empty = plan.writes.is_empty();
        let writes = guarded::subtract(plan.writes, &preinserted.writes).ok_or(BatchFailure::Stale)?;
        let change = (!is_empty).then_some(plan.change);
        if let Some(change) = &change {
            let prepared = self.prepare(change, writes, plan.now, None)?;
            prepared.write(
                require_conn(&mut self.conn)?,
                ExecMode::in_transaction(self.capabilities),
            )?;
        }
        Ok(Executed {
            decisions: plan.decisions,
            change,
        })
    }

    /// Pre-inserts the new rows of the jobs, and of those that arrive at the same time.
    fn preinsert(&mut self, jobs: &mut Vec<Job<B>>, plan: BatchPlan<B>, locks_all: bool) -> BatchResult<Preinserted> {
        let mut preinserted = Preinserted::default();
        self.insert_new_rows(&mut preinserted, plan, locks_all)?;
        for _ in 1..PREINSERT_ROUNDS {
            let planned = jobs.len();
            self.admit_arrivals(jobs);
            if jobs.len() == planned {
                break;
            }
            // Without a plan nothing is inserted, and the plan under the locks decides.
            if let Some(plan) = self.plan(&commands(&jobs[planned..]))? {
                self.insert_new_rows(&mut preinserted, plan, locks_all)?;
            }
        }
        Ok(preinserted)
    }

    fn insert_new_rows(
        &mut self,
        preinserted: &mut Preinserted,
        plan: BatchPlan<B>,
        locks_all: bool,
    ) -> BatchResult<()> {
        preinserted.lock_set.extend(plan.lock_set(locks_all));
        let conn = require_conn(&mut self.conn)?;
        let mode = ExecMode::in_transaction(self.capabilities);
        preinserted.writes.extend(insert_new_rows(conn, plan, mode)?);
        Ok(())
    }

    /// Adds the waiting jobs that can be planned.
    fn admit_arrivals(&mut self, jobs: &mut Vec<Job<B>>) {
        let arrived = self.take_plannable(jobs);
        jobs.extend(arrived);
    }
}
