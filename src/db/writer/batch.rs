//! The interface between the writer, which commits, and the model, which decides what commands do.

use std::collections::BTreeSet;

use chrono::NaiveDateTime;

use crate::db::change_feed::Revisions;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::{Commit, DbConnection, DbResult, WriteError};
use crate::error::Error;

/// Decides commands for the writer, on the writer's thread.
pub trait Batch: Send + 'static {
    type Command: BatchCommand;
    type Answer: Send + 'static;
    /// The effect of a batch.
    type Change: BatchChange;

    /// Decides the commands in order, on the snapshot alone. The optimistic strategy plans before BEGIN; the locked
    /// strategy plans before and after the locks. `None` if data are missing, so that [`Self::run`] decides.
    fn plan(&mut self, conn: &mut DbConnection, commands: &[&Self::Command]) -> DbResult<Option<BatchPlan<Self>>>;

    /// As [`Self::plan`], as if `change` had been published, which is about to be committed as `commit`. The plan is
    /// written only after this commit. Without a connection, more data may be missing.
    fn speculate(
        &mut self,
        change: &Self::Change,
        commit: &Commit,
        commands: &[&Self::Command],
    ) -> Option<BatchPlan<Self>>;

    /// Decides the commands in order inside the transaction, and writes their changes.
    ///
    /// `from_database`: use nothing from memory, because an attempt had a conflict, or the rows would grant a command
    /// that the snapshot refused.
    ///
    /// # Errors
    /// [`WriteError::Conflict`]: a concurrent writer changed rows of the batch.
    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Self::Command],
        from_database: bool,
    ) -> Result<Executed<Self>, WriteError>;

    /// Applies a committed change to the snapshot, before callers are answered. If the change is not enough, rows are
    /// read on `conn`. Without a connection, or if the read fails, the snapshot is invalidated.
    fn publish(&mut self, conn: Option<&mut DbConnection>, change: Self::Change, commit: &Commit);

    /// Applies the commits of peers to the snapshot, and the rows that the last transaction found otherwise. Called
    /// before an attempt outside of the transaction, unless the batch is planned and [`Self::expected_peers`] answers.
    /// Also called after a transaction that commits nothing because its rows refused commands.
    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// As [`Self::follow`], inside the transaction. False if rows would have to be read.
    fn catch_up(&mut self, conn: &mut DbConnection) -> DbResult<bool>;

    /// The expected revision of each writer, if the peers have been idle. The statement of a plan checks these
    /// revisions in place of [`Self::follow`], and fails after a commit of a peer.
    fn expected_peers(&self) -> Option<Revisions>;

    /// Locks the providers inside the transaction, in the order of their ids.
    fn lock(&mut self, conn: &mut DbConnection, lock_set: &LockSet) -> DbResult<()>;

    /// The rows that the commands name, with all choices.
    fn named_rows(&self, commands: &[&Self::Command]) -> RowNames;

    /// The rows among `rows` that concurrent transactions have locked. Does not wait, and may miss locks.
    fn find_held(&mut self, conn: &mut DbConnection, rows: &RowNames) -> DbResult<RowNames>;

    /// Takes over the known held rows. From now on a command with a choice takes no held row.
    fn note_held(&mut self, rows: &RowNames);

    /// The name of the provider with this uuid, if known.
    fn provider_name(&self, uuid: &str) -> Option<String>;

    /// Whether the command cannot do without the rows.
    fn needs(&self, command: &Self::Command, rows: &RowNames) -> bool;

    /// Called on each later connection: invalidates the snapshot unless the database still has every commit in the
    /// snapshot.
    fn reconnected(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// Invalidates the snapshot. Returns at once; the reload follows later.
    fn invalidate(&mut self);
}

/// The writer's view of a command.
pub trait BatchCommand: Send + 'static {
    /// Whether [`Batch::plan`] may decide the command. Plannable commands share no transaction with the rest.
    fn is_plannable(&self) -> bool;

    /// The approximate number of rows that the command writes. Bounds how long a batch takes.
    fn rows(&self) -> usize;

    /// The rows that a plan of the command inserts, and later commands may need.
    fn new_rows(&self) -> RowNames;
}

/// The writer's view of a change.
pub trait BatchChange: Send {
    /// The body of the row of `placet_changes`, from which peers apply the change.
    fn encode(&self) -> String;
}

/// The decision of a batch about one command.
#[derive(Debug, Clone)]
pub enum Decision<A> {
    Granted(A),
    /// Refused on rows that were read after the command came.
    Refused(Error),
    /// Refused on the snapshot, which may be out of date. The caller has to check the refusal against the tables.
    Unverified,
    /// Refused, and to be granted when locked rows are free.
    Held,
}

impl<A> Decision<A> {
    pub fn is_refused(&self) -> bool {
        matches!(self, Decision::Refused(_))
    }
}

/// The writes of a batch that was decided before its transaction began.
pub struct BatchPlan<B: Batch + ?Sized> {
    /// A decision for each command, in order. The writes are as if only the granted commands had come.
    pub decisions: Vec<Decision<B::Answer>>,
    pub change: B::Change,
    /// The writes, each with its guard; none if every command is refused.
    pub writes: Vec<GuardedWrite>,
    /// The time that is written into the rows.
    pub now: NaiveDateTime,
    /// The providers that the plan writes.
    pub written: LockSet,
    /// The contended providers in `written`.
    pub contended: LockSet,
}

impl<B: Batch> BatchPlan<B> {
    /// The providers to lock: after a conflict all that the plan writes, else the contended providers.
    pub(super) fn lock_set(&self, locks_all: bool) -> &LockSet {
        if locks_all { &self.written } else { &self.contended }
    }
}

/// The writes of a transaction before COMMIT.
pub struct Executed<B: Batch + ?Sized> {
    /// A decision for each command, in order.
    pub decisions: Vec<Decision<B::Answer>>,
    /// `None` if there is nothing to commit.
    pub change: Option<B::Change>,
}

/// Rows of providers and consumers, by their uuids as commands spell them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNames {
    pub providers: BTreeSet<String>,
    pub consumers: BTreeSet<String>,
}

impl RowNames {
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.consumers.is_empty()
    }

    /// Whether a row is in both.
    pub fn intersects(&self, other: &RowNames) -> bool {
        !self.providers.is_disjoint(&other.providers) || !self.consumers.is_disjoint(&other.consumers)
    }

    /// The rows in both.
    pub fn common(&self, other: &RowNames) -> RowNames {
        RowNames {
            providers: &self.providers & &other.providers,
            consumers: &self.consumers & &other.consumers,
        }
    }

    /// These rows without `others`.
    pub fn without(&self, others: &RowNames) -> RowNames {
        RowNames {
            providers: &self.providers - &others.providers,
            consumers: &self.consumers - &others.consumers,
        }
    }

    /// Adds rows. Returns how many are new.
    pub fn extend(&mut self, other: RowNames) -> usize {
        let before = self.providers.len() + self.consumers.len();
        self.providers.extend(other.providers);
        self.consumers.extend(other.consumers);
        self.providers.len() + self.consumers.len() - before
    }
}

/// The ids of the providers that a batch locks.
pub type LockSet = BTreeSet<i32>;
