//! Checks refusals on the snapshot against the tables. Requests waiting at the same time share a consistent read.

use std::sync::Arc;

use super::blocking::within_timeout;
use super::coalescer::Coalescer;
use crate::db::boot_instant::BootInstant;
use crate::db::{Database, SetupError};
use crate::error::Result;
use crate::model::batch::command::{Answer, Command};
use crate::model::batch::decide::Rules;
use crate::model::batch::refusals;
use crate::model::snapshot::store::SnapshotStore;
use crate::pools::LargeValue;

/// A command with more rows takes longer to free than a thread takes to wake.
const MANY_ROWS: usize = 1_000;

/// Checks refusals. Clones share the thread.
#[derive(Clone)]
pub struct RefusalChecks(Arc<Coalescer<Command, Result<Answer>>>);

impl RefusalChecks {
    /// Starts the thread.
    pub fn start(
        database: &Database,
        store: Arc<SnapshotStore>,
        rules: Rules,
    ) -> std::result::Result<RefusalChecks, SetupError> {
        let verify = move |database: &Database, commands: &[&Command]| {
            database.ask(|conn| Ok(refusals::verify(&store, &rules, conn, commands)?))
        };
        Ok(RefusalChecks(Arc::new(Coalescer::start(database, 1, verify)?)))
    }

    /// Returns the command if the tables would grant the command.
    ///
    /// # Errors
    /// The refusal, on a consistent read begun after the call. Or an error of the database.
    pub async fn check(&self, command: Command, deadline: BootInstant) -> Result<Command> {
        let is_large = command.load.rows > MANY_ROWS;
        let command = LargeValue::new(command, is_large);
        self.decide(Command::clone(&command), deadline).await?;
        Ok(command.into_inner())
    }

    /// The answer that the command would get now. Nothing is changed.
    pub async fn decide(&self, command: Command, deadline: BootInstant) -> Result<Answer> {
        let timeout = deadline.saturating_duration_since(BootInstant::now());
        within_timeout(timeout, self.0.read(command)).await?
    }
}
