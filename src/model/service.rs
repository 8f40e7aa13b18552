//! What the rooms above see: one value to read from, to search in, and to send commands to.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::batch::Decider;
use super::command::Write;
use super::decide::Rules;
use super::live::Live;
use super::standard;
use crate::db::writer::{self, WriterHandle, WriterSettings};
use crate::db::{Database, DbConnection, SetupError};
use crate::error::{Error, Result};
use crate::search::Snapshot;

/// The model of one process. Clones share it.
#[derive(Clone)]
pub struct Model {
    database: Database,
    live: Arc<Live>,
    writer: WriterHandle<Decider>,
}

/// The writer's thread, to be waited for when the service ends.
pub struct Running {
    thread: JoinHandle<()>,
}

impl Running {
    /// Waits until the writer has carried out what it was given. Every `Model` must be gone, or it never ends.
    pub fn finish(self) {
        if self.thread.join().is_err() {
            log::error!("The writer ended in a panic; what it had acknowledged is committed");
        }
    }
}

impl Model {
    /// Makes the standard classes and traits, loads the snapshot, and starts the writer.
    pub fn start(
        database: Database,
        settings: &WriterSettings,
        rules: Rules,
    ) -> std::result::Result<(Model, Running), SetupError> {
        standard::sync(&mut database.connect()?)?;
        let mut live = None;
        let (writer, thread) = writer::start(database.clone(), settings, |conn| {
            let loaded = Arc::new(Live::load(conn)?);
            live = Some(loaded.clone());
            Ok(Decider::new(loaded, rules))
        })?;
        let live = live.ok_or(SetupError::NotSynced)?;
        Ok((Model { database, live, writer }, Running { thread }))
    }

    /// Carries out a command: answered when it is committed, or refused.
    pub async fn submit<C: Write>(&self, command: C) -> Result<C::Answer> {
        let answer = self.writer.submit(command.into_command()).await?;
        C::typed(answer).ok_or_else(|| Error::Internal {
            detail: "the writer answered another command than it was given".into(),
        })
    }

    /// Reads in one moment of the database.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut DbConnection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let database = self.database.clone();
        tokio::task::spawn_blocking(move || database.read(read))
            .await
            .unwrap_or_else(|error| {
                Err(Error::Internal {
                    detail: format!("a read ended in a panic: {error}"),
                })
            })
    }

    /// A snapshot that shows every change acknowledged before the call.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.live.fresh()
    }

    /// How many SQL statements this process has sent.
    pub fn statements(&self) -> u64 {
        self.database.statements()
    }
}
