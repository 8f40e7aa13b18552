//! The interface between the writer, which commits, and the model, which decides what commands do.

use std::collections::BTreeSet;

use super::plan::BatchPlan;
use crate::db::change_feed::Revisions;
use crate::db::{Commit, DbConnection, DbResult, WriteError};
use crate::error::Error;

/// Decides commands for the writer. One value lives on the writer's thread.
pub trait Batch: Send + 'static {
    type Command: BatchCommand;
    type Answer: Send + 'static;
    /// What a batch changed.
    type Change: BatchChange;

    /// Decides the commands in order, on the snapshot alone. The optimistic strategy calls it before BEGIN; the
    /// locked one calls it inside the transaction, before and after it takes the locks. `None` if it lacks data: then
    /// [`Self::run`] decides.
    fn plan(&mut self, conn: &mut DbConnection, commands: &[&Self::Command]) -> DbResult<Option<BatchPlan<Self>>>;

    /// As [`Self::plan`], on a speculative snapshot: as if `change` had been published, which is about to be
    /// committed as `commit`. The plan is written only after that commit. Has no connection, so it may lack more data.
    fn speculate(
        &mut self,
        change: &Self::Change,
        commit: &Commit,
        commands: &[&Self::Command],
    ) -> Option<BatchPlan<Self>>;

    /// Decides the commands in order inside the transaction, and writes what they change.
    ///
    /// `from_database`: use nothing from memory, because an attempt had a conflict, or a command was refused on the
    /// snapshot and would be granted on the rows.
    ///
    /// # Errors
    /// [`WriteError::Conflict`]: another writer changed what the batch rests on.
    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Self::Command],
        from_database: bool,
    ) -> Result<Executed<Self>, WriteError>;

    /// Applies a committed change to the snapshot. Callers are answered after that. If the change alone does not
    /// determine what the snapshot must show, rows are read on `conn`. Without a connection, or if that fails, the
    /// snapshot is invalidated.
    fn publish(&mut self, conn: Option<&mut DbConnection>, change: Self::Change, commit: &Commit);

    /// Applies the commits of peers to the snapshot, and the rows that the last transaction found otherwise. Called
    /// before an attempt outside of the transaction, unless the batch is planned and [`Self::expected_peers`] answers.
    /// Also called after a transaction that commits nothing because its rows refused commands.
    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// As [`Self::follow`], inside the transaction. False if rows would have to be read, which only [`Self::follow`]
    /// does.
    fn catch_up(&mut self, conn: &mut DbConnection) -> DbResult<bool>;

    /// The revision that each writer is expected to have, if the peers have been idle. Then a plan needs no
    /// [`Self::follow`]: the statement that writes it checks these revisions, and fails if a peer has committed
    /// since.
    fn expected_peers(&self) -> Option<Revisions>;

    /// Locks the providers inside the transaction, in the order of their ids.
    fn lock(&mut self, conn: &mut DbConnection, lock_set: &LockSet) -> DbResult<()>;

    /// The rows that the commands name, those of all choices among them.
    fn named_rows(&self, commands: &[&Self::Command]) -> RowNames;

    /// Finds which of the rows are locked by other transactions. Does not wait. May miss some.
    fn find_held(&mut self, conn: &mut DbConnection, rows: &RowNames) -> DbResult<RowNames>;

    /// Takes over which rows are known to be held. From now on a command that has a choice takes no such row.
    fn note_held(&mut self, rows: &RowNames);

    /// The name of the provider with this uuid, if it is known.
    fn provider_name(&self, uuid: &str) -> Option<String>;

    /// Whether the command needs one of the rows. A command that can take others does not.
    fn needs(&self, command: &Self::Command, rows: &RowNames) -> bool;

    /// Called on a new connection, after the first: invalidates the snapshot unless the database still has every commit
    /// that it shows.
    fn reconnected(&mut self, conn: &mut DbConnection) -> DbResult<()>;

    /// Invalidates the snapshot. Returns at once; the reload follows later.
    fn invalidate(&mut self);
}

/// What the writer has to know of a command.
pub trait BatchCommand: Send + 'static {
    /// Whether [`Batch::plan`] may decide the command. Plannable commands share a transaction with each other only.
    fn is_plannable(&self) -> bool;

    /// How many rows the command writes, about. It bounds how long other commands wait for this one.
    fn rows(&self) -> usize;

    /// The rows that a plan of the command inserts, and that other commands may need.
    fn new_rows(&self) -> RowNames;
}

/// What the writer has to know of a change.
pub trait BatchChange: Send {
    /// The body of the row of `placet_changes`, from which peers apply the change.
    fn encode(&self) -> String;
}

/// What a batch decided about one command.
#[derive(Debug, Clone)]
pub enum Decision<A> {
    Granted(A),
    /// Refused on rows that were read after the command came.
    Refused(Error),
    /// Refused on the snapshot, which may be out of date. The caller has to check it against the tables.
    Unverified,
    /// Refused, and it may be granted when rows are free that other transactions have locked.
    Held,
}

impl<A> Decision<A> {
    pub fn is_refused(&self) -> bool {
        matches!(self, Decision::Refused(_))
    }
}

/// What a transaction wrote, before COMMIT.
pub struct Executed<B: Batch + ?Sized> {
    /// One for each command, in their order.
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

    /// Whether both have a row.
    pub fn intersects(&self, other: &RowNames) -> bool {
        !self.providers.is_disjoint(&other.providers) || !self.consumers.is_disjoint(&other.consumers)
    }

    /// The rows that both have.
    pub fn common(&self, other: &RowNames) -> RowNames {
        RowNames {
            providers: &self.providers & &other.providers,
            consumers: &self.consumers & &other.consumers,
        }
    }

    /// These rows without others.
    pub fn without(&self, others: &RowNames) -> RowNames {
        RowNames {
            providers: &self.providers - &others.providers,
            consumers: &self.consumers - &others.consumers,
        }
    }

    /// Adds rows. Returns how many of them are new.
    pub fn extend(&mut self, other: RowNames) -> usize {
        let before = self.providers.len() + self.consumers.len();
        self.providers.extend(other.providers);
        self.consumers.extend(other.consumers);
        self.providers.len() + self.consumers.len() - before
    }
}

/// The ids of the providers that a batch locks.
pub type LockSet = BTreeSet<i32>;
