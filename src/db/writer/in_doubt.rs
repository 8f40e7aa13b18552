//! In-doubt commits: COMMIT ended with an error, so the batch may be committed or not.
//!
//! Naively, a new connection reads the writer's revision, and a raised revision means that the batch was committed. The
//! answer is wrong in 20% to 100% of trials, because the server may still be executing the old COMMIT.
//!
//! So the writer commits a fence in place of the batch: the same next revision on a new connection, with a commit token
//! of the fence ([`Identity::fence`]). Only one of batch and fence can raise the revision. If neither is known before
//! the timeout, callers get 503, with the detail that the outcome is unknown.

use std::time::{Duration, Instant};

use super::batch::Batch;
use super::connection::WriterConnection;
use super::failure::{BatchFailure, BatchResult, RETRY_PAUSE};
use super::identity::{CommitOutcome, Identity};
use crate::db::engines::dialect;
use crate::db::{Fault, fault};

/// How long one attempt of a fence waits for the lock of the old COMMIT.
const FENCE_LOCK_WAIT: Duration = Duration::from_secs(5);

/// Tries the fence until the outcome of the COMMIT that ended with `error` is known, or until the timeout. `Ok` if the
/// batch was committed.
pub(super) fn resolve<B: Batch>(
    connection: &mut WriterConnection,
    identity: &mut Identity,
    batch: &mut B,
    timeout: Duration,
    error: diesel::result::Error,
) -> BatchResult<()> {
    let deadline = Instant::now() + timeout;
    loop {
        let outcome = connection
            .reopen(batch)
            .and_then(|()| fence(connection, identity, deadline));
        match outcome {
            Ok(CommitOutcome::Committed) => return Ok(()),
            Ok(CommitOutcome::NotCommitted) if fault::classify(&error) == Fault::Stop => return Err(error.into()),
            Ok(CommitOutcome::NotCommitted) => return Err(BatchFailure::Conflict),
            Ok(CommitOutcome::Unknown) => {
                return Err(BatchFailure::UnknownOutcome("the writer's own row is gone".into()));
            }
            Ok(CommitOutcome::InDoubt) | Err(_) if Instant::now() < deadline => std::thread::sleep(RETRY_PAUSE),
            Ok(CommitOutcome::InDoubt) => {
                return Err(BatchFailure::UnknownOutcome("the database does not say".into()));
            }
            Err(failure) => return Err(BatchFailure::UnknownOutcome(failure.detail())),
        }
    }
}

/// Tries once to commit the fence. Waits for locks until `deadline` at most, because the old COMMIT may hold the lock
/// on the writer's row. If the attempt fails, the connection is dropped.
fn fence(connection: &mut WriterConnection, identity: &mut Identity, deadline: Instant) -> BatchResult<CommitOutcome> {
    let Some(mut conn) = connection.conn.take() else {
        return Ok(CommitOutcome::InDoubt);
    };
    let left = deadline.saturating_duration_since(Instant::now());
    dialect::set_lock_timeout(&mut conn, left.clamp(RETRY_PAUSE, FENCE_LOCK_WAIT))?;
    let outcome = identity.fence(&mut conn)?;
    // The outcome is known. If only the timeout cannot be restored, the connection is replaced.
    if dialect::set_lock_timeout(&mut conn, connection.lock_wait).is_ok() {
        connection.conn = Some(conn);
    }
    Ok(outcome)
}
