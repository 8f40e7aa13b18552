//! A COMMIT that was answered by an error: whether it happened is found out by a fence (ARCHITECTURE.md, rule 3).

use std::time::Instant;

use super::{Attempt, Batch, PAUSE, Writer};
use crate::db::failure::Failure;
use crate::db::identity::Doubt;
use crate::db::{Fault, dialect, fault};

impl<B: Batch> Writer<B> {
    /// COMMIT answered with an error: finds out whether it happened, on a new connection, by a fence.
    pub(super) fn settle_doubt(&mut self, error: diesel::result::Error) -> Attempt<()> {
        log::warn!("COMMIT answered an error, its outcome is being found out: {error}");
        let deadline = Instant::now() + self.patience;
        self.conn = None;
        self.batch.doubt();
        loop {
            let outcome = match self.connected() {
                Ok(_) => self.fence(deadline),
                Err(failure) => Err(failure),
            };
            match outcome {
                Ok(Doubt::Happened) => return Ok(()),
                Ok(Doubt::NeverHappened) if fault::classify(&error) == Fault::Stop => return Err(error.into()),
                Ok(Doubt::NeverHappened) => return Err(Failure::Overtaken),
                Ok(Doubt::Unknown) => return Err(Failure::Unknown("the writer's own row is gone.".to_owned())),
                Ok(Doubt::Open) | Err(_) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Ok(Doubt::Open) => return Err(Failure::Unknown("the database does not say.".to_owned())),
                Err(failure) => return Err(Failure::Unknown(format!("{failure}."))),
            }
        }
    }

    /// Asks by a fence, on a connection that is dropped where that fails. The old commit may hold the row that it needs.
    fn fence(&mut self, deadline: Instant) -> Attempt<Doubt> {
        let Some(mut conn) = self.conn.take() else {
            return Ok(Doubt::Open);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        dialect::wait_for_locks(&mut conn, left.clamp(PAUSE, self.database.lock_timeout().max(PAUSE)))?;
        let outcome = self.identity.fence(&mut conn)?;
        // The doubt is over, whatever becomes of this connection.
        if dialect::wait_for_locks(&mut conn, self.database.lock_timeout()).is_ok() {
            self.conn = Some(conn);
        }
        Ok(outcome)
    }
}
