//! The thread that writes a plan and commits it, while the writer's own thread answers the batch before and plans the
//! next.

use std::sync::mpsc::{Receiver, Sender, channel};

use diesel::result::Error as DbError;

use super::commit_gate::CommitGate;
use super::failure::catch_panic;
use super::plan::PreparedWrite;
use super::session::{TransactionEnd, send_commit};
use crate::db::engines::dialect::Capabilities;
use crate::db::engines::guarded::ExecMode;
use crate::db::{DbConnection, SetupError, thread};

/// The writes to commit, and the connection. No transaction is open yet: the first write begins the transaction.
pub(super) struct CommitJob {
    pub conn: DbConnection,
    pub prepared: PreparedWrite,
    pub gates: Vec<CommitGate>,
    pub capabilities: Capabilities,
}

enum CommitReport {
    /// All writes were executed, and COMMIT is about to be sent.
    Committing,
    Ended(Box<DbConnection>, TransactionEnd),
}

/// The writer's handle of the thread, which has one job at a time. The thread ends when the handle is dropped.
pub(super) struct CommitThread {
    jobs: Sender<CommitJob>,
    reports: Receiver<CommitReport>,
    /// The last report, if [`Self::is_committing`] received the report meant for [`Self::finish`].
    received: Option<CommitReport>,
}

impl CommitThread {
    pub fn start() -> Result<CommitThread, SetupError> {
        let (jobs, submitted) = channel::<CommitJob>();
        let (report, reports) = channel();
        thread::spawn("placet-commit", move || {
            for job in submitted {
                let ended = execute(job, &report);
                if report.send(ended).is_err() {
                    return;
                }
            }
        })?;
        Ok(CommitThread {
            jobs,
            reports,
            received: None,
        })
    }

    /// Returns the job if the thread has ended.
    pub fn submit(&self, job: CommitJob) -> Result<(), Box<CommitJob>> {
        self.jobs.send(job).map_err(|unsent| Box::new(unsent.0))
    }

    /// Waits until COMMIT is about to be sent. False if COMMIT will not be sent.
    pub fn is_committing(&mut self) -> bool {
        match self.reports.recv() {
            Ok(CommitReport::Committing) => true,
            other => {
                self.received = other.ok();
                false
            }
        }
    }

    /// Waits for the end of the job. After a panic of the thread there is no connection, and the outcome is in doubt.
    pub fn finish(&mut self) -> (Option<DbConnection>, TransactionEnd) {
        loop {
            match self.received.take().map_or_else(|| self.reports.recv(), Ok) {
                Ok(CommitReport::Committing) => {}
                Ok(CommitReport::Ended(conn, ended)) => return (Some(*conn), ended),
                Err(_) => return (None, TransactionEnd::CommitSent(Err(DbError::BrokenTransactionManager))),
            }
        }
    }
}

fn execute(job: CommitJob, report: &Sender<CommitReport>) -> CommitReport {
    let CommitJob {
        mut conn,
        prepared,
        gates,
        capabilities,
    } = job;
    let ended = match catch_panic(|| prepared.write(&mut conn, ExecMode::CombinedWithBegin)).flatten() {
        Err(failure) => TransactionEnd::NotCommitted(failure),
        Ok(()) => {
            if report.send(CommitReport::Committing).is_err() {
                log::debug!("The writer has ended; its last batch is committed nevertheless");
            }
            send_commit(&mut conn, gates.iter(), capabilities)
        }
    };
    CommitReport::Ended(Box::new(conn), ended)
}
