//! A placet process whose writer the test drives step by step.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::db::engines::dialect::Precision;
use crate::db::engines::guarded::{self, ExecMode};
use crate::db::writer::{Batch, BatchChange, BatchPlan, Decision, Executed};
use crate::db::{Commit, DbResult, Identity, WriteError};
use crate::model::batch::command::{Answer, Command, Write};
use crate::model::batch::decider::Decider;
use crate::model::snapshot::committed::Committed;
use crate::model::snapshot::follower::Follower;
use crate::model::snapshot::store::SnapshotStore;

pub struct Process {
    pub identity: Identity,
    pub decider: Decider,
    pub store: Arc<SnapshotStore>,
    pub conn: DbConnection,
}

/// The answers to the commands of a transaction, and the change or commit; `None` after a conflict.
pub type Decided<C> = DbResult<Option<(Vec<Result<Answer>>, C)>>;
/// An unpublished commit; `None` if the commands changed nothing.
pub type Pending = Option<(Committed, Commit)>;

/// Two processes with two hosts of 10 VCPU in their snapshots. Each process knows its peer.
pub async fn two_processes() -> (Fixture, Process, Process) {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.host(2, 10).await.unwrap();
    let (mut a, b) = (Process::start(&f.database, false), Process::start(&f.database, false));
    a.follow();
    (f, a, b)
}

pub fn claim_command(consumer: u32, provider: u32, amount: i64) -> Command {
    claim(consumer, provider, "VCPU", amount, Expected::New).into_command()
}

/// The results of decided commands. The test checks a refusal on the snapshot separately.
pub fn results(decisions: Vec<Decision<Answer>>) -> Vec<Result<Answer>> {
    let result = |decision| match decision {
        Decision::Granted(answer) => Ok(answer),
        Decision::Refused(error) => Err(error),
        Decision::Unverified | Decision::Held => panic!("it is refused on the snapshot alone"),
    };
    decisions.into_iter().map(result).collect()
}

impl Process {
    pub fn start(database: &Database, alone: bool) -> Process {
        let mut conn = database.connect().unwrap();
        let identity = Identity::register(&mut conn).unwrap();
        let data_version = dialect::data_version(&mut conn).unwrap();
        let store = Arc::new(SnapshotStore::load(&mut conn).unwrap());
        let follower = Follower::start(database.clone(), store.clone(), alone, Duration::from_secs(10)).unwrap();
        let decider = Decider::new(
            store.clone(),
            follower,
            alone,
            data_version,
            rules(),
            Precision::of(&conn),
        );
        Process {
            identity,
            decider,
            store,
            conn,
        }
    }

    /// Decides and commits commands in one transaction, like the writer. Does not publish.
    pub fn commit(&mut self, commands: &[&Command], from_database: bool) -> Decided<Pending> {
        match self.decide(commands, from_database)? {
            None => Ok(None),
            Some((answers, None)) => dialect::rollback(&mut self.conn).map(|()| Some((answers, None))),
            Some((answers, Some(change))) => Ok(Some((answers, self.commit_decided(change)?))),
        }
    }

    /// Begins a transaction, and decides and writes the commands in the transaction.
    pub fn decide(&mut self, commands: &[&Command], from_database: bool) -> Decided<Option<Committed>> {
        dialect::begin_write(&mut self.conn)?;
        assert!(self.identity.raise_revision(&mut self.conn)?);
        match self.decider.run(&mut self.conn, commands, from_database) {
            Ok(Executed { decisions, .. }) if decisions.iter().any(|it| matches!(it, Decision::Unverified)) => {
                assert!(!from_database, "a refusal on rows is final");
                dialect::rollback(&mut self.conn)?;
                self.decide(commands, true)
            }
            Ok(Executed { decisions, change }) => Ok(Some((results(decisions), change))),
            Err(WriteError::Conflict | WriteError::Constraint(_)) => dialect::rollback(&mut self.conn).map(|()| None),
            Err(WriteError::Database(error)) => dialect::rollback(&mut self.conn).and(Err(error)),
        }
    }

    /// Plans the commands on the snapshot alone, begins a transaction, and writes the plan.
    pub fn plan(&mut self, commands: &[&Command]) -> Decided<Option<Committed>> {
        let plan = self.decider.plan(&mut self.conn, commands)?;
        self.write_plan(plan.expect("they can be planned"))
    }

    /// A plan on the speculative snapshot of an uncommitted change; `None` if no plan is possible.
    pub fn speculate(&mut self, change: &Committed, commands: &[&Command]) -> Option<BatchPlan<Decider>> {
        self.decider
            .speculate(change, &self.identity.pending_commit(), commands)
    }

    /// Begins a transaction, and writes a plan in the transaction.
    pub fn write_plan(&mut self, plan: BatchPlan<Decider>) -> Decided<Option<Committed>> {
        dialect::begin_write(&mut self.conn)?;
        assert!(self.identity.raise_revision(&mut self.conn)?);
        match guarded::run(&mut self.conn, plan.now, &plan.writes, ExecMode::Sequential) {
            Ok(None) => Ok(Some((results(plan.decisions), Some(plan.change)))),
            Ok(Some(_)) => dialect::rollback(&mut self.conn).map(|()| None),
            Err(error) => dialect::rollback(&mut self.conn).and(Err(error)),
        }
    }

    /// Commits the transaction in which the change was decided.
    pub fn commit_decided(&mut self, change: Committed) -> DbResult<Pending> {
        self.identity.record(&mut self.conn, change.encode())?;
        dialect::commit(&mut self.conn)?;
        Ok(Some((change, self.identity.committed())))
    }

    pub fn publish(&mut self, pending: Pending) {
        if let Some((change, commit)) = pending {
            self.decider.publish(Some(&mut self.conn), change, &commit);
        }
    }

    /// Commits commands without a conflict, and publishes the commit.
    pub fn write(&mut self, commands: &[&Command]) -> Vec<Result<Answer>> {
        let (answers, pending) = self.commit(commands, false).unwrap().unwrap();
        self.publish(pending);
        answers
    }

    /// Brings the snapshot up to date with the change feed.
    pub fn follow(&mut self) {
        self.store.follow(&mut self.conn).unwrap();
    }

    /// The generation of a provider and its usage of VCPU in the snapshot.
    pub fn shows(&self, provider: u32) -> (i64, i64) {
        let newest = self.store.newest();
        let slot = newest.by_uuid(&uuid(provider)).expect("a provider of the snapshot");
        (newest.generation(slot), newest.used(slot, crate::search::ClassId(0)))
    }

    /// Asserts that the snapshot shows the tables.
    pub fn check(&mut self) {
        assert_shows_tables(&self.store.newest(), &mut self.conn);
    }
}
