//! The writer's identity: a row in `placet_writers`, whose revision every commit raises, and the fence that decides an
//! in-doubt commit.
//!
//! A revision and its commit token, a random text, name one commit of one writer. A writer's revisions have no gaps and
//! become visible in order, so peers know exactly which changes they lack. If the row has an unexpected revision or
//! commit token, the database was restored, or the row was pruned.

#[cfg(test)]
mod tests;

use diesel::prelude::*;
use uuid::Uuid;

use super::failure::RETRY_PAUSE;
use crate::db::change_feed::pruning;
use crate::db::engines::dialect::{self, free_rows};
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::{OneRow, Value};
use crate::db::schema::{placet_changes, placet_writers};
use crate::db::{DbConnection, DbResult, Fault, fault};
use crate::mutants::{self, Mutant};

/// The maximum number of attempts to register.
const REGISTRATION_ATTEMPTS: usize = 5;
/// The size of the row by which a server's disk is tried: several pages, which a table rarely has free.
const TRIAL_BYTES: usize = 64 * 1024;

/// A writer's identity.
#[derive(Clone)]
pub struct Identity {
    id: String,
    /// The last revision known to be committed, and its commit token. The writer's row has both, unless a commit is in
    /// doubt.
    revision: i64,
    token: String,
    /// The commit token of the current batch, which distinguishes the batch from a fence of the same revision.
    batch_token: String,
    /// The commit token of the current batch's fence, the same in every attempt to commit the fence.
    fence_token: String,
}

const RAISE: OneRow = OneRow(
    "UPDATE placet_writers SET revision = revision + 1, token = ?, seen_at = CURRENT_TIMESTAMP \
            WHERE id = ? AND revision = ? AND token = ?",
);

const RECORD: OneRow = OneRow(
    "INSERT INTO placet_changes (writer, revision, token, committed_at, body) \
            VALUES (?, ?, ?, CURRENT_TIMESTAMP, ?)",
);

/// One commit of one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub writer: String,
    pub revision: i64,
    pub token: String,
}

/// The outcome of an in-doubt commit, as its fence found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    Committed,
    /// Not committed, now and for ever.
    NotCommitted,
    /// The rows that show the outcome were pruned. A further fence cannot help.
    Unknown,
    /// Neither the commit nor the fence is visible yet: try the fence again.
    InDoubt,
}

impl Identity {
    /// Registers a new writer, and prunes silent writers.
    pub fn register(conn: &mut DbConnection) -> DbResult<Identity> {
        let identity = Identity {
            id: Uuid::new_v4().to_string(),
            revision: 0,
            token: String::new(),
            batch_token: String::new(),
            fence_token: String::new(),
        };
        retry_on_conflict(|| {
            dialect::write_transaction(conn, |conn| {
                // A transaction that holds all writers' rows must not miss a new row (`dialect::hold_writers`).
                dialect::hold_registrations(conn)?;
                identity.insert(conn)
            })
        })?;
        retry_on_conflict(|| pruning::prune_silent_writers(conn, &identity.id))?;
        Ok(identity)
    }

    /// The writer's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Inserts the writer's row. The times are the database's, because the clocks of processes need not agree.
    fn insert(&self, conn: &mut DbConnection) -> DbResult<()> {
        use placet_writers as w;
        diesel::insert_into(w::table)
            .values((
                w::id.eq(&self.id),
                w::revision.eq(self.revision),
                w::token.eq(&self.token),
                w::seen_at.eq(diesel::dsl::now),
            ))
            .execute(conn)
            .map(|_| ())
    }

    /// Raises the revision with a new commit token. False if the row is not as this writer left the row.
    pub fn raise_revision(&mut self, conn: &mut DbConnection) -> DbResult<bool> {
        self.draw_tokens();
        self.raise_with(conn, &self.batch_token)
    }

    fn draw_tokens(&mut self) {
        self.batch_token = Uuid::new_v4().to_string();
        self.fence_token = Uuid::new_v4().to_string();
    }

    fn raise_with(&self, conn: &mut DbConnection, token: &str) -> DbResult<bool> {
        Ok(RAISE.run(conn, &self.raise_values(token))? == 1)
    }

    fn raise_values(&self, token: &str) -> Vec<Value> {
        let text = |value: &str| Value::Text(value.to_owned());
        vec![
            text(token),
            text(&self.id),
            Value::Int(self.revision),
            text(&self.token),
        ]
    }

    /// [`Self::raise_revision`] and [`Self::record`] as guarded writes: the first and the last of a plan's statement.
    pub fn raise_and_record(&mut self, body: String) -> (GuardedWrite, GuardedWrite) {
        self.draw_tokens();
        (
            GuardedWrite::UpdateOne(RAISE, self.raise_values(&self.batch_token)),
            GuardedWrite::UpdateOne(RECORD, self.record_values(&self.batch_token, body)),
        )
    }

    /// Inserts the row of `placet_changes` with the change of the batch.
    pub fn record(&self, conn: &mut DbConnection, body: String) -> DbResult<()> {
        self.record_with(conn, &self.batch_token, body)
    }

    fn record_with(&self, conn: &mut DbConnection, token: &str, body: String) -> DbResult<()> {
        RECORD.run(conn, &self.record_values(token, body)).map(|_| ())
    }

    fn record_values(&self, token: &str, body: String) -> Vec<Value> {
        let text = |value: &str| Value::Text(value.to_owned());
        vec![
            text(&self.id),
            Value::Int(self.revision + 1),
            text(token),
            Value::Text(body),
        ]
    }

    /// The commit that the current batch becomes if COMMIT succeeds.
    pub fn pending_commit(&self) -> Commit {
        Commit {
            writer: self.id.clone(),
            revision: self.revision + 1,
            token: self.batch_token.clone(),
        }
    }

    /// Advances to the next revision, after the current batch was committed.
    pub fn committed(&mut self) -> Commit {
        let commit = self.pending_commit();
        self.advance(self.batch_token.clone());
        commit
    }

    fn advance(&mut self, token: String) {
        self.revision += 1;
        self.token = token;
    }

    /// Decides whether the current batch was committed, by committing the same revision with another commit token.
    ///
    /// If the fence is committed, the batch was not, and never will be: its guard on the revision cannot hold any more.
    /// If the revision is taken, its commit token identifies the batch or the fence.
    pub fn fence(&mut self, conn: &mut DbConnection) -> DbResult<CommitOutcome> {
        if mutants::is(Mutant::DropFence) {
            return Ok(match self.token_of_next(conn)? {
                Some(token) if token == self.batch_token => CommitOutcome::Committed,
                _ => CommitOutcome::NotCommitted,
            });
        }
        dialect::begin_write(conn)?;
        if self.raise_with(conn, &self.fence_token)? {
            self.record_with(conn, &self.fence_token, "{}".to_owned())?;
            dialect::commit(conn)?;
            self.advance(self.fence_token.clone());
            return Ok(CommitOutcome::NotCommitted);
        }
        dialect::rollback(conn)?;
        Ok(match self.token_of_next(conn)? {
            Some(token) if token == self.batch_token => {
                self.barrier_commit(conn)?;
                CommitOutcome::Committed
            }
            Some(token) if token == self.fence_token => {
                self.advance(token);
                CommitOutcome::NotCommitted
            }
            None if self.is_row_unchanged(conn)? => CommitOutcome::InDoubt,
            _ => CommitOutcome::Unknown,
        })
    }

    /// Inserts a row of [`TRIAL_BYTES`], and rolls the insert back. Fails if the server's disk has no room.
    pub fn try_room(&self, conn: &mut DbConnection) -> DbResult<()> {
        // Random, because the server may compress the row.
        let body = std::iter::repeat_with(|| Uuid::new_v4().to_string()).take(TRIAL_BYTES / 36);
        dialect::begin_write(conn)?;
        let inserted = self.record_with(conn, &self.fence_token, body.collect());
        dialect::rollback(conn)?;
        inserted
    }

    /// Commits once more after the batch, so that a synchronous standby has both.
    ///
    /// PostgreSQL shows a commit that its standby never received, if the primary was killed or the waiting connection
    /// was ended while the standby was away. Once a later commit is acknowledged, the standby has both.
    fn barrier_commit(&self, conn: &mut DbConnection) -> DbResult<()> {
        use placet_writers as w;
        let own = w::table.filter(w::id.eq(&self.id));
        diesel::update(own)
            .set(w::seen_at.eq(diesel::dsl::now))
            .execute(conn)
            .map(|_| ())
    }

    /// The commit token of the next revision: from its change, or from the writer's row if the change was pruned.
    fn token_of_next(&self, conn: &mut DbConnection) -> DbResult<Option<String>> {
        use {placet_changes as c, placet_writers as w};
        let next = self.revision + 1;
        let change = c::table
            .filter(c::writer.eq(&self.id))
            .filter(c::revision.eq(next))
            .select(c::token)
            .first(conn)
            .optional()?;
        if change.is_some() {
            return Ok(change);
        }
        let own = w::table.filter(w::id.eq(&self.id)).filter(w::revision.eq(next));
        own.select(w::token).first(conn).optional()
    }

    /// Whether a concurrent transaction has locked the row. Does not wait.
    pub fn is_row_held(&self, conn: &mut DbConnection) -> DbResult<bool> {
        use placet_writers as w;
        if !dialect::has_other_writers(conn) {
            return Ok(false);
        }
        let free: Vec<String> = free_rows!(conn, w::table.filter(w::id.eq(&self.id)).select(w::id))?;
        Ok(free.is_empty())
    }

    /// Whether the row is as this writer left the row.
    fn is_row_unchanged(&self, conn: &mut DbConnection) -> DbResult<bool> {
        use placet_writers as w;
        let found: Option<(i64, String)> = w::table
            .filter(w::id.eq(&self.id))
            .select((w::revision, w::token))
            .first(conn)
            .optional()?;
        Ok(found == Some((self.revision, self.token.clone())))
    }

    /// Updates `seen_at`, and prunes this writer's old changes and silent writers. False if the row is not as this
    /// writer left the row. Must not be called while a commit is in doubt.
    pub fn heartbeat(&self, conn: &mut DbConnection) -> DbResult<bool> {
        use placet_writers as w;
        let own = w::table
            .filter(w::id.eq(&self.id))
            .filter(w::revision.eq(self.revision))
            .filter(w::token.eq(&self.token));
        // MariaDB counts the row even if `seen_at` stays the same within a second: diesel asks for found rows.
        let found = diesel::update(own).set(w::seen_at.eq(diesel::dsl::now)).execute(conn)?;
        if found == 0 {
            return Ok(false);
        }
        pruning::prune_own_changes(conn, &self.id, self.revision)?;
        pruning::prune_silent_writers(conn, &self.id)?;
        Ok(true)
    }
}

/// Retries an attempt that conflicted with a concurrent transaction, which is short and must not stop a start.
fn retry_on_conflict<T>(mut attempt: impl FnMut() -> DbResult<T>) -> DbResult<T> {
    for _ in 1..REGISTRATION_ATTEMPTS {
        match attempt() {
            Err(error) if fault::classify(&error) == Fault::Retry => std::thread::sleep(RETRY_PAUSE),
            result => return result,
        }
    }
    attempt()
}
