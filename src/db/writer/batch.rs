//! What a batch is to the writer, which knows no more of it.

use super::plan::{Plan, Planned};
use crate::db::followed::Revisions;
use crate::db::{Commit, DbConnection, DbResult};
use crate::error::Result;

/// What the writer carries out. One value lives in the writer's thread.
pub trait Batch: Send + 'static {
    type Command: Send + 'static;
    type Answer: Send + 'static;
    /// What a batch changed.
    type Change: Send;

    /// Whether a command may be decided by `plan`: such commands do not share a transaction with others.
    fn may_be_planned(command: &Self::Command) -> bool;

    /// Decides the commands in order on what is in memory alone, before the transaction begins, and before and in a turn; where
    /// it cannot, `run` does.
    fn plan(&mut self, conn: &mut DbConnection, commands: &[&Self::Command]) -> DbResult<Planned<Self>>;

    /// As `plan`, as if `change` had been published, which is about to be committed as `commit`: what is decided is written only
    /// after that. Without a connection, and `None` where it cannot.
    fn foresee(&mut self, change: &Self::Change, commit: &Commit, commands: &[&Self::Command]) -> Option<Plan<Self>>;

    /// Decides the commands in order and writes what they change, inside the writer's transaction.
    ///
    /// `on_database`: an earlier try of the same commands was overtaken, or a plan for them refused something, so nothing
    /// known from before can be trusted.
    fn run(&mut self, conn: &mut DbConnection, commands: &[&Self::Command], on_database: bool) -> DbResult<Ran<Self>>;

    /// How the change is kept for other processes.
    fn describe(&self, change: &Self::Change) -> String;

    /// Shows a committed change to this process's readers. Nobody is answered before. False where it has to be read for that.
    fn publish(&mut self, change: Self::Change, commit: &Commit) -> bool;

    /// Shows what `publish` could not, and whatever else was committed.
    fn read_back(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// Learns what other processes committed: asked on the writer's own connection before each try of a batch, but for a
    /// plan where `quiet` told how far everybody is expected to be.
    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// How far every writer was followed, where nobody else has committed anything lately: then it is enough that a plan
    /// looks, while it is written, whether this still holds, and `follow` is asked only where it does not.
    fn quiet(&self) -> Option<Revisions>;

    /// Whether the commands, all of which may be planned, should wait for their turn: others are known to change what they
    /// change, or, where a plan for them `lost` a guard, have just done so.
    fn needs_turn(&mut self, commands: &[&Self::Command], lost: bool) -> bool;

    /// Locks, inside the transaction, what the last call of `needs_turn` was about.
    fn take_turn(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// Whether a command can be planned in the turn that the last call of `needs_turn` was about.
    fn may_join(&self, command: &Self::Command) -> bool;

    /// As `follow`, inside the transaction; false where more has to be read than can be there.
    fn catch_up(&mut self, conn: &mut DbConnection) -> DbResult<bool>;

    /// Nothing that is in memory may be trusted until all of it was read again. Does not wait for that.
    fn doubt(&mut self);
}

/// How a batch ran, before it is committed.
pub enum Ran<B: Batch + ?Sized> {
    /// An answer for each command; with no change there is nothing to commit.
    Decided {
        answers: Vec<Result<B::Answer>>,
        change: Option<B::Change>,
    },
    /// Somebody else changed what the batch rests on: roll back and decide again.
    Lost,
}
