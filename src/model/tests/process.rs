//! A placet process whose writer is moved by hand, step by step.

use std::sync::Arc;
use std::time::Duration;

use super::rules;
use crate::db::writer::{Batch, Ran};
use crate::db::{Commit, Database, DbConnection, DbResult, Identity, dialect};
use crate::error::Result;
use crate::model::batch::Decider;
use crate::model::command::{Answer, Command};
use crate::model::follower::Follower;
use crate::model::live::Live;
use crate::model::save::Committed;

pub struct Process {
    pub identity: Identity,
    pub decider: Decider,
    pub live: Arc<Live>,
    pub conn: DbConnection,
}

/// What was committed and is not yet published.
pub type Pending = Option<(Committed, Commit)>;

impl Process {
    pub fn start(database: &Database, alone: bool) -> Process {
        let mut conn = database.connect().unwrap();
        let identity = Identity::register(&mut conn).unwrap();
        let live = Arc::new(Live::load(&mut conn).unwrap());
        let follower = Follower::start(database.clone(), live.clone(), Duration::from_secs(10)).unwrap();
        let decider = Decider::new(live.clone(), follower, alone, rules());
        Process {
            identity,
            decider,
            live,
            conn,
        }
    }

    /// One transaction, as the writer makes it, up to its COMMIT; `None` where it lost a guard.
    pub fn commit(
        &mut self,
        commands: &[&Command],
        overtaken: bool,
    ) -> DbResult<Option<(Vec<Result<Answer>>, Pending)>> {
        dialect::begin_write(&mut self.conn)?;
        assert!(self.identity.raise_revision(&mut self.conn)?);
        match self.decider.run(&mut self.conn, commands, overtaken) {
            Ok(Ran::Decided {
                answers,
                change: Some(change),
            }) => {
                self.identity.record(&mut self.conn, &self.decider.describe(&change))?;
                dialect::commit(&mut self.conn)?;
                let commit = self.identity.committed();
                Ok(Some((answers, Some((change, commit)))))
            }
            Ok(Ran::Decided { answers, change: None }) => {
                dialect::rollback(&mut self.conn).map(|()| Some((answers, None)))
            }
            Ok(Ran::Lost) => dialect::rollback(&mut self.conn).map(|()| None),
            Err(error) => dialect::rollback(&mut self.conn).and(Err(error)),
        }
    }

    pub fn publish(&mut self, pending: Pending) {
        if let Some((change, commit)) = pending {
            self.decider.publish(&mut self.conn, change, &commit).unwrap();
        }
    }

    /// Commits commands that nobody stands in the way of, and publishes them.
    pub fn write(&mut self, commands: &[&Command]) -> Vec<Result<Answer>> {
        let (answers, pending) = self.commit(commands, false).unwrap().unwrap();
        self.publish(pending);
        answers
    }

    /// What the freshness query of this process brings.
    pub fn follow(&mut self) {
        self.live.follow(&mut self.conn).unwrap();
    }
}
