//! A placet process whose writer is moved by hand, step by step.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::db::engines::dialect::Precision;
use crate::db::engines::guarded::{self, ExecMode};
use crate::db::writer::{Batch, BatchPlan, PlanOutcome, RunOutcome};
use crate::db::{Commit, DbResult, Identity};
use crate::model::batch::command::{Answer, Command, Write};
use crate::model::batch::decider::Decider;
use crate::model::batch::save::Committed;
use crate::model::snapshot::follower::Follower;
use crate::model::snapshot::store::SnapshotStore;

pub struct Process {
    pub identity: Identity,
    pub decider: Decider,
    pub live: Arc<SnapshotStore>,
    pub conn: DbConnection,
}

/// What was decided, with what is to be done about its change; `None` where a guard was lost.
pub type Decided<C> = DbResult<Option<(Vec<Result<Answer>>, C)>>;
/// What was committed and is not yet published.
pub type Pending = Option<(Committed, Commit)>;

/// Two processes that know two hosts with 10 VCPU, and each other.
pub async fn two() -> (Fixture, Process, Process) {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.host(2, 10).await.unwrap();
    let (mut a, b) = (Process::start(&f.database, false), Process::start(&f.database, false));
    a.follow();
    (f, a, b)
}

pub fn claims(consumer: u32, provider: u32, amount: i64) -> Command {
    claim(consumer, provider, "VCPU", amount, Expected::New).into_command()
}

impl Process {
    pub fn start(database: &Database, alone: bool) -> Process {
        let mut conn = database.connect().unwrap();
        let identity = Identity::register(&mut conn).unwrap();
        let live = Arc::new(SnapshotStore::load(&mut conn).unwrap());
        let follower = Follower::start(database.clone(), live.clone(), Duration::from_secs(10)).unwrap();
        let decider = Decider::new(live.clone(), follower, alone, rules(), Precision::of(&conn));
        Process {
            identity,
            decider,
            live,
            conn,
        }
    }

    /// One transaction, as the writer makes it, up to its COMMIT.
    pub fn commit(&mut self, commands: &[&Command], overtaken: bool) -> Decided<Pending> {
        match self.decide(commands, overtaken)? {
            None => Ok(None),
            Some((answers, None)) => dialect::rollback(&mut self.conn).map(|()| Some((answers, None))),
            Some((answers, Some(change))) => Ok(Some((answers, self.end(change)?))),
        }
    }

    /// Begins a transaction in which the commands are decided and written.
    pub fn decide(&mut self, commands: &[&Command], overtaken: bool) -> Decided<Option<Committed>> {
        dialect::begin_write(&mut self.conn)?;
        assert!(self.identity.raise_revision(&mut self.conn)?);
        match self.decider.run(&mut self.conn, commands, overtaken) {
            Ok(RunOutcome::Decided { answers, change }) => Ok(Some((answers, change))),
            Ok(RunOutcome::Conflict) => dialect::rollback(&mut self.conn).map(|()| None),
            Err(error) => dialect::rollback(&mut self.conn).and(Err(error)),
        }
    }

    /// The same by a plan: decided on what is in memory alone, and then written by its guards.
    pub fn plan(&mut self, commands: &[&Command]) -> Decided<Option<Committed>> {
        let PlanOutcome::Plan(plan) = self.decider.plan(&mut self.conn, commands)? else {
            panic!("not planned: {commands:?}");
        };
        self.write_plan(plan)
    }

    /// A plan behind what was decided and is not yet committed; `None` where there is none.
    pub fn speculate(&mut self, change: &Committed, commands: &[&Command]) -> Option<BatchPlan<Decider>> {
        self.decider
            .speculate(change, &self.identity.pending_commit(), commands)
    }

    /// Begins a transaction in which a plan is written.
    pub fn write_plan(&mut self, plan: BatchPlan<Decider>) -> Decided<Option<Committed>> {
        dialect::begin_write(&mut self.conn)?;
        assert!(self.identity.raise_revision(&mut self.conn)?);
        match guarded::run(&mut self.conn, plan.now, &plan.writes, ExecMode::Sequential) {
            Ok(None) => Ok(Some((plan.answers.into_iter().map(Ok).collect(), Some(plan.change)))),
            Ok(Some(_)) => dialect::rollback(&mut self.conn).map(|()| None),
            Err(error) => dialect::rollback(&mut self.conn).and(Err(error)),
        }
    }

    /// Commits what was decided.
    pub fn end(&mut self, change: Committed) -> DbResult<Pending> {
        self.identity.record(&mut self.conn, &self.decider.encode(&change))?;
        dialect::commit(&mut self.conn)?;
        Ok(Some((change, self.identity.committed())))
    }

    pub fn publish(&mut self, pending: Pending) {
        if let Some((change, commit)) = pending
            && !self.decider.publish(change, &commit)
        {
            self.decider.reload(&mut self.conn).unwrap();
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

    /// What the snapshot shows of a provider: its generation, and how much of VCPU is used.
    pub fn shows(&self, provider: u32) -> (i64, i64) {
        let newest = self.live.newest();
        let slot = newest.by_uuid(&uuid(provider)).expect("a provider that is shown");
        (newest.generation(slot), newest.used(slot, crate::search::ClassId(0)))
    }

    /// That the snapshot shows what the tables hold.
    pub fn check(&mut self) {
        check_shown(&self.live.newest(), &mut self.conn);
    }
}
