//! The only writer of a process: a thread with its own connection that commits commands from a bounded queue.
//!
//! All commands that are queued when a batch begins share one transaction (group commit). The transaction also raises
//! the revision of this writer's row in `placet_writers`, and records its changes in a row of `placet_changes`. Peers
//! read both tables as a change feed ([`super::change_feed`]).
//!
//! Happy path: the batch is planned on the snapshot, written with guards by one statement (`plan.rs`), committed,
//! published into the snapshot, and answered. On a server the next batch is planned during COMMIT (`pipeline.rs`).
//!
//! Unhappy paths:
//! - a command is refused on the snapshot: the batch is written without the command, whose caller verifies the refusal;
//! - a row is held by a concurrent transaction: the commands that need the row are parked (`held_rows.rs`);
//! - a guard fails: the batch is tried again by the next strategy (`strategy.rs`), until its commands expire;
//! - the database refuses a batch, and one command may be the cause: the batch is halved (`committer.rs`);
//! - COMMIT ends with an error: the outcome is in doubt, and a fence decides (`in_doubt.rs`).
//!
//! The writer does not know the meaning of a command, only the [`Batch`] does. The whole story is in
//! docs/internals/writer.md.

mod answer_pruning;
mod backlog;
mod batch;
mod commit_gate;
mod commit_thread;
mod committer;
mod connection;
pub mod election;
pub mod failure;
pub mod handle;
mod heartbeat;
mod held_rows;
mod held_rows_log;
pub mod identity;
mod in_doubt;
pub mod job;
mod jobs;
mod large;
mod large_inserts;
mod large_pauses;
mod pessimistic;
mod pipeline;
mod plan;
mod queue;
pub mod renewals;
mod session;
mod settings;
pub mod statistics;
mod strategy;
#[cfg(test)]
mod tests;
mod waiting;
pub mod write_state;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Instant;

pub use super::wal_checkpointer::WalLimits;
use super::{Database, DbConnection, SetupError, thread};
use crate::mutants::{self, Mutant};
use answer_pruning::AnswerPruning;
use backlog::Backlog;
pub use batch::{Batch, BatchChange, BatchCommand, BatchPlan, Decision, Executed, LockSet, RowNames};
use committer::Committer;
use election::{Election, Leadership};
use handle::WriterHandle;
use heartbeat::WriterHeartbeat;
use job::Job;
use pipeline::Pipeline;
use queue::{QueueExit, WaitEnd};
use renewals::Renewals;
use session::WriteSession;
pub use settings::WriterSettings;

/// Starts the writer's thread. Returns when `build` has made the batch and a value for the caller.
///
/// `build` runs on the writer's thread and connection, after the writer's row was inserted. The same thread allocates
/// and later frees the batch, so that an allocator with an arena for each thread can use the memory again.
pub fn start<B: Batch, T: Send + 'static>(
    database: Database,
    settings: &WriterSettings,
    build: impl FnOnce(&mut DbConnection) -> Result<(B, T), SetupError> + Send + 'static,
) -> Result<(WriterHandle<B>, T, JoinHandle<()>), SetupError> {
    let (handle, jobs) = WriterHandle::new(settings);
    let (settings, statistics) = (settings.clone(), Arc::clone(handle.statistics()));
    let leadership = Arc::clone(handle.leadership());
    let (report, started) = channel();
    let thread = thread::spawn("placet-writer", move || {
        let opened = WriteSession::open(database, &settings, statistics, build)
            .and_then(|(session, built)| Ok((Writer::start(session, jobs, leadership, &settings)?, built)));
        match opened {
            Ok((writer, built)) => {
                if report.send(Ok(built)).is_ok() {
                    let _guard = thread::StopOnPanic;
                    writer.run();
                }
            }
            // Without a receiver the caller has gone, and needs no report.
            Err(error) => drop(report.send(Err(error))),
        }
    })?;
    let built = started.recv().map_err(|_| SetupError::Thread {
        detail: "the writer met a defect of placet while it read the tables: report it with the lines before this one"
            .to_owned(),
    })?;
    Ok((handle, built?, thread))
}

struct Writer<B: Batch> {
    committer: Committer<B>,
    heartbeat: WriterHeartbeat,
    answer_pruning: AnswerPruning,
    election: Election,
    renewals: Renewals,
}

impl<B: Batch> Writer<B> {
    fn start(
        session: WriteSession<B>,
        queue: QueueExit<B>,
        leadership: Arc<Leadership>,
        settings: &WriterSettings,
    ) -> Result<Writer<B>, SetupError> {
        Ok(Writer {
            committer: Committer {
                backlog: Backlog::new(queue, settings),
                pipeline: Pipeline::start(session.connection.capabilities)?,
                session,
            },
            heartbeat: WriterHeartbeat(Instant::now()),
            answer_pruning: AnswerPruning::new(settings.claim_memory),
            election: Election::new(leadership, settings.election_interval),
            renewals: Renewals::new(),
        })
    }

    /// Commits commands until the queue is closed and each command has an answer.
    fn run(mut self) {
        loop {
            // 1. Send the heartbeat, prune, take part in the election of the leader, and renew leases.
            let duties_at = self.do_duties();

            // 2. Retry the commands that wait for held rows.
            self.committer.retry_parked();

            // 3. Answer the questions.
            self.committer.answer_questions();

            // 4. Wait for a command or a question, or until a step above is due.
            match self.committer.backlog.wait(duties_at) {
                WaitEnd::Job => {}
                WaitEnd::Timeout => continue,
                WaitEnd::Closed => return self.election.resign(&mut self.committer.session),
            }

            // 5. Take the small commands that wait.
            let jobs = self.committer.backlog.waiting.take_small(&[]);
            let (plannable, unplannable): (Vec<_>, Vec<_>) = jobs.into_iter().partition(Job::is_plannable);

            // 6. Commit the commands that can be planned, and after these the rest.
            self.committer.commit(plannable, !unplannable.is_empty());
            self.committer.commit(unplannable, false);

            // 7. Begin or end a large command.
            large::advance(&mut self.committer);

            mutants::panic_as(Mutant::PanicInWriter);
        }
    }

    /// Sends the heartbeat, deletes old answers to calls, and renews the lead, if due. Returns when the next duty is
    /// due.
    fn do_duties(&mut self) -> Instant {
        let session = &mut self.committer.session;
        self.heartbeat.send_if_due(session);
        self.answer_pruning
            .prune_if_due(session.connection.conn.as_mut(), session.identity.id());
        self.election.run_if_due(session);
        let waiting = &self.committer.backlog.waiting;
        self.renewals.send_if_due(session, || waiting.take_renewals());
        waiting.delay_renewals(self.renewals.not_before());
        let heartbeat_at = self.heartbeat.due_at(&session.statistics.writes);
        let duties_at = heartbeat_at
            .min(self.answer_pruning.due_at())
            .min(self.election.due_at());
        let duties_at = self.renewals.due_at().map_or(duties_at, |at| at.min(duties_at));
        // Batches are pipelined until the connection is needed.
        self.committer.pipeline.end_at = duties_at;
        duties_at
    }
}
