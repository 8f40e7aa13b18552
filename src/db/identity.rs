//! Who a writer is: its row in `placet_writers`, the revision that every commit raises, and the fence that ends a doubt.

use std::time::Duration;

use diesel::prelude::*;
use uuid::Uuid;

use super::rows::{OneRow, Value};
use super::schema::{placet_changes, placet_writers};
use super::together::Part;
use super::{DbConnection, DbResult, Fault, dialect, fault, pruning};
use crate::mutants::{self, Mutant};

/// How often a registration is tried, and how long it waits before it is tried again.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// A writer's identity.
#[derive(Clone)]
pub struct Identity {
    id: String,
    /// The last one known to be committed, and its token: what the writer's row says, unless there is a doubt.
    revision: i64,
    token: String,
    /// The token of the batch under way, which tells it from a fence of the same revision.
    next: String,
    /// The token of its fence, the same however often the fence has to be tried.
    fence: String,
}

const RAISE: OneRow = OneRow(
    "UPDATE placet_writers SET revision = revision + 1, token = ?, seen_at = CURRENT_TIMESTAMP \
            WHERE id = ? AND revision = ? AND token = ?",
);

const RECORD: OneRow = OneRow(
    "INSERT INTO placet_changes (writer, revision, token, committed_at, body) \
            VALUES (?, ?, ?, CURRENT_TIMESTAMP, ?)",
);

/// Which commit it was, of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub writer: String,
    pub revision: i64,
    pub token: String,
}

/// Whether a commit that was answered by an error happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    Happened,
    NeverHappened,
    /// Nobody can say any more.
    Unknown,
    /// To be asked again.
    Open,
}

impl Identity {
    /// Takes a new identity, and clears away those of writers long silent.
    pub fn register(conn: &mut DbConnection) -> DbResult<Identity> {
        let identity = Identity {
            id: Uuid::new_v4().to_string(),
            revision: 0,
            token: String::new(),
            next: String::new(),
            fence: String::new(),
        };
        in_peace(|| {
            dialect::write_transaction(conn, |conn| {
                // Where all writers are held, none may come that is not (`dialect::hold_writers`).
                dialect::hold_registrations(conn)?;
                identity.insert(conn)
            })
        })?;
        in_peace(|| pruning::silent(conn, &identity.id))?;
        Ok(identity)
    }

    /// Inserts the writer's row. Times are the database's: processes compare them, and their clocks need not agree.
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

    /// Raises the revision with a fresh token; false where the row is not as this writer left it.
    pub fn raise_revision(&mut self, conn: &mut DbConnection) -> DbResult<bool> {
        self.draw_tokens();
        self.raise_with(conn, &self.next)
    }

    fn draw_tokens(&mut self) {
        self.next = Uuid::new_v4().to_string();
        self.fence = Uuid::new_v4().to_string();
    }

    fn raise_with(&self, conn: &mut DbConnection, token: &str) -> DbResult<bool> {
        use placet_writers as w;
        let own = w::table
            .filter(w::id.eq(&self.id))
            .filter(w::revision.eq(self.revision))
            .filter(w::token.eq(&self.token));
        let raised = diesel::update(own)
            .set((
                w::revision.eq(self.revision + 1),
                w::token.eq(token),
                w::seen_at.eq(diesel::dsl::now),
            ))
            .execute(conn)?;
        Ok(raised == 1)
    }

    /// What `raise_revision` does, and afterwards `record`, as parts of one statement.
    pub fn raise_and_record(&mut self, body: String) -> (Part, Part) {
        self.draw_tokens();
        let text = |it: &str| Value::Text(it.to_owned());
        let (revision, next) = (Value::Int(self.revision), Value::Int(self.revision + 1));
        let raise = vec![text(&self.next), text(&self.id), revision, text(&self.token)];
        let record = vec![text(&self.id), next, text(&self.next), Value::Text(body)];
        (Part::One(RAISE, raise), Part::One(RECORD, record))
    }

    /// Leaves the row that says what the batch changed.
    pub fn record(&self, conn: &mut DbConnection, body: &str) -> DbResult<()> {
        self.record_with(conn, &self.next, body)
    }

    fn record_with(&self, conn: &mut DbConnection, token: &str, body: &str) -> DbResult<()> {
        use placet_changes as c;
        diesel::insert_into(c::table)
            .values((
                c::writer.eq(&self.id),
                c::revision.eq(self.revision + 1),
                c::token.eq(token),
                c::committed_at.eq(diesel::dsl::now),
                c::body.eq(body),
            ))
            .execute(conn)
            .map(|_| ())
    }

    /// What the batch under way will be, if it is committed.
    pub fn under_way(&self) -> Commit {
        Commit {
            writer: self.id.clone(),
            revision: self.revision + 1,
            token: self.next.clone(),
        }
    }

    /// The batch is known to be committed.
    pub fn committed(&mut self) -> Commit {
        let commit = self.under_way();
        self.is_at(self.next.clone());
        commit
    }

    fn is_at(&mut self, token: String) {
        self.revision += 1;
        self.token = token;
    }

    /// Finds out whether the batch under way was committed: tries to write its revision itself. Where that succeeds,
    /// the batch did not happen and never can; where it does not, the token says whose the revision is.
    pub fn fence(&mut self, conn: &mut DbConnection) -> DbResult<Doubt> {
        if mutants::is(Mutant::DropFence) {
            return Ok(match self.token_of_next(conn)? {
                Some(token) if token == self.next => Doubt::Happened,
                _ => Doubt::NeverHappened,
            });
        }
        dialect::begin_write(conn)?;
        if self.raise_with(conn, &self.fence)? {
            self.record_with(conn, &self.fence, "{}")?;
            dialect::commit(conn)?;
            self.is_at(self.fence.clone());
            return Ok(Doubt::NeverHappened);
        }
        dialect::rollback(conn)?;
        Ok(match self.token_of_next(conn)? {
            Some(token) if token == self.next => {
                self.outlast(conn)?;
                Doubt::Happened
            }
            Some(token) if token == self.fence => {
                self.is_at(token);
                Doubt::NeverHappened
            }
            None if self.is_in_place(conn)? => Doubt::Open,
            _ => Doubt::Unknown,
        })
    }

    /// Commits again, after the batch. A primary whose standby was away while it was killed, or while it ended the waiting
    /// connection, shows what the standby never got; where this commit is acknowledged, the standby has both.
    fn outlast(&self, conn: &mut DbConnection) -> DbResult<()> {
        use placet_writers as w;
        let own = w::table.filter(w::id.eq(&self.id));
        diesel::update(own)
            .set(w::seen_at.eq(diesel::dsl::now))
            .execute(conn)
            .map(|_| ())
    }

    /// Whose the next revision is: the change says it, or where it is gone the writer's row.
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

    /// Whether the row is as this writer left it.
    fn is_in_place(&self, conn: &mut DbConnection) -> DbResult<bool> {
        use placet_writers as w;
        let found: Option<(i64, String)> = w::table
            .filter(w::id.eq(&self.id))
            .select((w::revision, w::token))
            .first(conn)
            .optional()?;
        Ok(found == Some((self.revision, self.token.clone())))
    }

    /// Says that this writer lives, and clears away what nobody needs to follow any more. Not to be called in doubt.
    /// False where the row is not as this writer left it.
    pub fn keep_house(&self, conn: &mut DbConnection) -> DbResult<bool> {
        use placet_writers as w;
        let own = w::table
            .filter(w::id.eq(&self.id))
            .filter(w::revision.eq(self.revision))
            .filter(w::token.eq(&self.token));
        // MariaDB counts it too where nothing changes, as twice within a second: diesel asks for the rows that were found.
        let beaten = diesel::update(own).set(w::seen_at.eq(diesel::dsl::now)).execute(conn)?;
        if beaten == 0 {
            return Ok(false);
        }
        pruning::own(conn, &self.id, self.revision)?;
        pruning::silent(conn, &self.id)?;
        Ok(true)
    }
}

/// Tries again what somebody stood in the way of: nobody stays there for long, and a start should not fail for it.
fn in_peace<T>(mut attempt: impl FnMut() -> DbResult<T>) -> DbResult<T> {
    for _ in 1..TRIES {
        match attempt() {
            Err(error) if fault::classify(&error) == Fault::Retry => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    attempt()
}
