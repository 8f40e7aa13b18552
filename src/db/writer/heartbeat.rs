//! The heartbeat of the writer's row, and the trial whether the database accepts writes again.
//!
//! While the database refuses writes, the heartbeat comes more often: a process without requests finds the end of the
//! refusal, too. A heartbeat is a small write. After a full disk its success proves nothing, because the write fits
//! into room that a file has already. So the disk is asked for room.

use std::time::{Duration, Instant};

use super::batch::Batch;
use super::failure::BatchResult;
use super::session::WriteSession;
use super::write_state::{WriteRefusal, WriteState};

/// The time between two heartbeats. Each heartbeat also prunes changes and writers that are too old to be followed.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(60);
/// The time between two heartbeats while the database refuses writes.
const TRIAL_INTERVAL: Duration = Duration::from_secs(2);

/// The time of the last heartbeat.
pub(super) struct WriterHeartbeat(pub Instant);

impl WriterHeartbeat {
    /// When the next heartbeat is due.
    pub fn due_at(&self, writes: &WriteState) -> Instant {
        self.0 + interval(writes)
    }

    /// Shows peers that this writer is alive, and prunes old rows, if the heartbeat is due. A single failure does no
    /// harm, because peers prune a writer only after many missed heartbeats.
    pub fn send_if_due<B: Batch>(&mut self, session: &mut WriteSession<B>) {
        if self.due_at(&session.statistics.writes) > Instant::now() {
            return;
        }
        self.0 = Instant::now();
        let refusal = session.statistics.writes.refusal();
        match send(session, refusal) {
            Ok(true) => session.statistics.writes.accepted(),
            Ok(false) => session.register_again(),
            Err(failure) => {
                session.note_refusal(&failure);
                let level = refusal.map_or(log::Level::Warn, |_| log::Level::Debug);
                log::log!(
                    level,
                    "The heartbeat of this process failed, and is repeated in {} s: {failure}",
                    interval(&session.statistics.writes).as_secs()
                );
                if failure.is_connection_lost() {
                    session.connection.conn = None;
                }
            }
        }
    }
}

fn interval(writes: &WriteState) -> Duration {
    match writes.refusal() {
        None => HEARTBEAT_INTERVAL,
        Some(_) => TRIAL_INTERVAL,
    }
}

/// False if the writer's row is not as this writer left the row.
fn send<B: Batch>(session: &mut WriteSession<B>, refusal: Option<WriteRefusal>) -> BatchResult<bool> {
    session.reopen()?;
    if refusal == Some(WriteRefusal::DiskFull) && session.connection.has_room(&session.identity)? {
        session.statistics.writes.found_room();
    }
    Ok(session.identity.heartbeat(session.connection.require()?)?)
}
