//! The interface between the writer, which commits, and the model, which decides what commands do.

use super::plan::{BatchPlan, PlanOutcome};
use crate::db::change_feed::Revisions;
use crate::db::{Commit, DbConnection, DbResult};
use crate::error::Result;

/// Decides commands for the writer. One value lives on the writer's thread.
pub trait Batch: Send + 'static {
    type Command: Send + 'static;
    type Answer: Send + 'static;
    /// What a batch changed.
    type Change: Send;

    /// Whether [`Self::plan`] may decide the command. Plannable commands share a transaction with each other only.
    fn is_plannable(command: &Self::Command) -> bool;

    /// Decides the commands in order, on the snapshot alone. The optimistic strategy calls it before BEGIN; the
    /// locked one calls it inside the transaction, before and after it takes the locks. If it cannot decide,
    /// [`Self::run`] does.
    fn plan(&mut self, conn: &mut DbConnection, commands: &[&Self::Command]) -> DbResult<PlanOutcome<Self>>;

    /// As [`Self::plan`], on a speculative snapshot: as if `change` had been published, which is about to be
    /// committed as `commit`. The plan is written only after that commit. Has no connection; `None` if it cannot
    /// decide.
    fn speculate(
        &mut self,
        change: &Self::Change,
        commit: &Commit,
        commands: &[&Self::Command],
    ) -> Option<BatchPlan<Self>>;

    /// Decides the commands in order inside the transaction, and writes what they change.
    ///
    /// `from_database`: use nothing from memory, because an attempt had a conflict, or a plan refused a command.
    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Self::Command],
        from_database: bool,
    ) -> DbResult<RunOutcome<Self>>;

    /// The body of the row of `placet_changes`, from which peers apply the change.
    fn encode(&self, change: &Self::Change) -> String;

    /// Applies a committed change to the snapshot. Callers are answered after that. False if the change alone does not
    /// determine what the snapshot must show: then [`Self::reload`] has to read it.
    fn publish(&mut self, change: Self::Change, commit: &Commit) -> bool;

    /// Brings the snapshot up to date, by reading what [`Self::publish`] could not apply.
    fn reload(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// Applies what peers committed to the snapshot. Called before each attempt outside of the transaction, unless
    /// the batch is planned and [`Self::expected_peers`] answers.
    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// The revision that each writer is expected to have, if the peers have been idle. Then a plan needs no
    /// [`Self::follow`]: the statement that writes it checks these revisions, and fails if a peer has committed
    /// since.
    fn expected_peers(&self) -> Option<Revisions>;

    /// Whether the commands, all of them plannable, need locks before they are planned: their providers are
    /// contended, or an attempt for them just had a conflict. Remembers the locks for [`Self::lock`] and
    /// [`Self::can_join`].
    fn needs_locks(&mut self, commands: &[&Self::Command], after_conflict: bool) -> bool;

    /// Takes, inside the transaction, the locks that the last [`Self::needs_locks`] chose.
    fn lock(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// Whether one more command can be planned under the locks that the last [`Self::needs_locks`] chose.
    fn can_join(&self, command: &Self::Command) -> bool;

    /// As [`Self::follow`], inside the transaction. False if rows would have to be read, which only [`Self::follow`]
    /// does.
    fn catch_up(&mut self, conn: &mut DbConnection) -> DbResult<bool>;

    /// Invalidates the snapshot. Returns at once; the reload follows later.
    fn invalidate(&mut self);
}

/// What [`Batch::run`] did. Nothing is committed yet.
pub enum RunOutcome<B: Batch + ?Sized> {
    /// An answer for each command. Without a change there is nothing to commit.
    Decided {
        answers: Vec<Result<B::Answer>>,
        change: Option<B::Change>,
    },
    /// Another writer changed what the batch rests on: roll back and decide again.
    Conflict,
}
