//! Renewals of leases: the reports of a tenth of a second share a statement.
//!
//! The writer's connection is used because SQLite shows the commits of any second connection as commits of a foreign
//! writer. A renewal is no commit of the writer: peers learn nothing, because health has not changed.

use std::time::{Duration, Instant};

use tokio::sync::oneshot::Sender;

use super::batch::Batch;
use super::failure::BatchResult;
use super::session::WriteSession;
use crate::db::leases::{self, LeaseValues, Renewal, StoredLease};

/// The least time between two statements.
const INTERVAL: Duration = Duration::from_millis(100);
/// The most renewals of a statement.
const MAX_ROWS: usize = 128;

/// A report that waits, and the way to its caller: the lease as stored after the renewal, or `None` if the report says
/// something new.
pub struct WaitingRenewal {
    pub renewal: Renewal,
    pub reply: Sender<Option<StoredLease>>,
}

/// When renewals may be sent.
pub(super) struct Renewals {
    /// No statement is sent before.
    not_before: Instant,
    /// Whether the last statement had renewals.
    flow: bool,
}

impl Renewals {
    pub fn new() -> Renewals {
        Renewals {
            not_before: Instant::now(),
            flow: false,
        }
    }

    /// When the next statement is due; `None` if no report came lately.
    pub fn due_at(&self) -> Option<Instant> {
        self.flow.then_some(self.not_before)
    }

    /// When the writer is woken for a renewal.
    pub fn not_before(&self) -> Instant {
        self.not_before
    }

    /// Sends the waiting renewals, if the last statement was long enough ago. If a statement fails, the callers learn
    /// it: each gets no answer.
    pub fn send_if_due<B: Batch>(&mut self, session: &mut WriteSession<B>, take: impl FnOnce() -> Vec<WaitingRenewal>) {
        if self.not_before > Instant::now() {
            return;
        }
        let mut waiting = take();
        self.flow = !waiting.is_empty();
        if !self.flow {
            return;
        }
        self.not_before = Instant::now() + INTERVAL;
        while !waiting.is_empty() {
            let part: Vec<WaitingRenewal> = waiting.drain(..waiting.len().min(MAX_ROWS)).collect();
            if let Err(failure) = send(session, part) {
                log::warn!("Leases of hosts could not be renewed: the agents report again. {failure}");
                session.note_refusal(&failure);
                if failure.is_connection_lost() {
                    session.connection.conn = None;
                }
                return;
            }
        }
    }
}

fn send<B: Batch>(session: &mut WriteSession<B>, part: Vec<WaitingRenewal>) -> BatchResult<()> {
    session.reopen()?;
    let renewals: Vec<Renewal> = part.iter().map(|waiting| waiting.renewal.clone()).collect();
    let stored = leases::renew(session.connection.require()?, &renewals)?;
    for WaitingRenewal { renewal, reply } in part {
        let renewed = |lease: &&StoredLease| {
            lease.host == renewal.host && lease.health == leases::UP && is_of(&lease.values, &renewal)
        };
        // The caller may have gone.
        drop(reply.send(stored.iter().find(renewed).cloned()));
    }
    Ok(())
}

/// Whether a report has written these values.
fn is_of(values: &LeaseValues, renewal: &Renewal) -> bool {
    (&values.user, &values.holder, &values.boot) == (&renewal.user, &renewal.holder, &renewal.boot)
        && (&values.digest, values.number) == (&renewal.digest, renewal.number)
}
