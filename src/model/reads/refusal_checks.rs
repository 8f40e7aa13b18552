//! Checks refusals against the tables, for requests whose commands were refused on the snapshot.
//!
//! On a database server, requests that wait at the same time share one consistent read. On SQLite each reads alone.

use std::sync::Arc;

use super::blocking::{on_blocking_thread, within_timeout};
use super::coalescer::Coalescer;
use crate::db::boot_instant::BootInstant;
use crate::db::{Database, DbConnection, SetupError};
use crate::error::{Error, Result};
use crate::model::batch::command::{Answer, Command};
use crate::model::batch::decide::Rules;
use crate::model::batch::refusals;
use crate::model::snapshot::store::SnapshotStore;
use crate::pools::LargeValue;

/// A command with more rows takes longer to free than a thread takes to wake.
const MANY_ROWS: usize = 1_000;

/// Checks refusals. Clones share the thread.
#[derive(Clone)]
pub struct RefusalChecks {
    tables: Tables,
    database: Database,
    coalescer: Option<Arc<Coalescer<Arc<Command>, Result<Answer>>>>,
}

/// The snapshot and the rules of a check.
#[derive(Clone)]
struct Tables {
    store: Arc<SnapshotStore>,
    rules: Arc<Rules>,
}

impl Tables {
    /// The answer that each command would get.
    fn verify(&self, conn: &mut DbConnection, commands: &[&Command]) -> Result<Vec<Result<Answer>>> {
        Ok(refusals::verify(&self.store, &self.rules, conn, commands)?)
    }
}

impl RefusalChecks {
    /// `coalesces`: whether requests that wait at the same time share a read.
    pub fn start(
        database: &Database,
        store: Arc<SnapshotStore>,
        rules: Rules,
        coalesces: bool,
    ) -> std::result::Result<RefusalChecks, SetupError> {
        let rules = Arc::new(rules);
        let tables = Tables { store, rules };
        let coalescer = if coalesces {
            let tables = tables.clone();
            let verify = move |database: &Database, commands: &[&Arc<Command>]| {
                let commands: Vec<&Command> = commands.iter().map(|command| command.as_ref()).collect();
                database.ask(|conn| tables.verify(conn, &commands))
            };
            Some(Arc::new(Coalescer::start(database, 1, verify)?))
        } else {
            None
        };
        Ok(RefusalChecks {
            tables,
            database: database.clone(),
            coalescer,
        })
    }

    /// Returns the command if the tables would grant the command.
    ///
    /// # Errors
    /// The refusal, which rests on one consistent read that began after the call. Or an error of the database.
    pub async fn check(&self, command: Command, deadline: BootInstant) -> Result<Command> {
        let is_large = command.written_rows() > MANY_ROWS;
        let command = LargeValue::new(Arc::new(command), is_large);
        self.decide(Arc::clone(&command), deadline).await?;
        Ok(Arc::unwrap_or_clone(command.into_inner()))
    }

    /// The answer that the command would get now. Nothing is changed.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn decide(&self, command: Arc<Command>, deadline: BootInstant) -> Result<Answer> {
        let timeout = deadline.saturating_duration_since(BootInstant::now());
        match &self.coalescer {
            Some(coalescer) => within_timeout(timeout, coalescer.read(command)).await?,
            None => within_timeout(timeout, self.read_alone(command)).await?,
        }
    }

    async fn read_alone(&self, command: Arc<Command>) -> Result<Result<Answer>> {
        let tables = self.tables.clone();
        let read = on_blocking_thread(&self.database, move |permit| {
            permit.ask(|conn| tables.verify(conn, &[&command]))
        });
        read.await?.pop().ok_or_else(|| Error::Internal {
            detail: "a command was not decided".to_owned(),
        })
    }
}
