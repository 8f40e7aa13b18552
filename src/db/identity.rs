//! Who a writer is: its row in `placet_writers`, the revision that every commit raises, and the fence that ends a doubt.

use std::time::Duration;

use diesel::prelude::*;
use uuid::Uuid;

use super::schema::{placet_changes, placet_writers};
use super::{DbConnection, DbResult, dialect};
use crate::error::Result;

/// Revisions of its own that a writer leaves for others to follow.
const KEPT: i64 = 10_000;
/// How often it prunes what is older, in revisions.
const PRUNE_EVERY: i64 = 1_000;
/// A writer that was silent for so long is gone; its rows are pruned by whoever starts.
const SILENT: Duration = Duration::from_secs(3600);

/// A writer's identity. `revision` is the last one known to be committed.
pub struct Identity {
    id: String,
    revision: i64,
    /// The token of the batch under way, which tells it from a fence of the same revision.
    token: String,
}

/// Whether a commit that was answered by an error happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    Happened,
    NeverHappened,
    Unknown,
}

impl Identity {
    fn unregistered() -> Identity {
        Identity {
            id: Uuid::new_v4().to_string(),
            revision: 0,
            token: String::new(),
        }
    }

    /// Takes a new identity, and clears away those of writers long silent.
    pub fn register(conn: &mut DbConnection) -> DbResult<Identity> {
        let identity = Identity::unregistered();
        let long_ago = dialect::now() - SILENT;
        dialect::write_transaction(conn, |conn| {
            use placet_writers as w;
            let silent: Vec<String> = w::table.filter(w::seen_at.lt(long_ago)).select(w::id).load(conn)?;
            diesel::delete(placet_changes::table.filter(placet_changes::writer.eq_any(&silent))).execute(conn)?;
            diesel::delete(w::table.filter(w::id.eq_any(&silent))).execute(conn)?;
            identity.insert(conn)
        })?;
        Ok(identity)
    }

    /// Inserts the writer's row.
    fn insert(&self, conn: &mut DbConnection) -> DbResult<()> {
        use placet_writers as w;
        diesel::insert_into(w::table)
            .values((
                w::id.eq(&self.id),
                w::revision.eq(self.revision),
                w::token.eq(&self.token),
                w::seen_at.eq(dialect::now()),
            ))
            .execute(conn)
            .map(|_| ())
    }

    /// Raises the revision with a fresh token; false where the row is not as this writer left it.
    pub fn raise_revision(&mut self, conn: &mut DbConnection) -> DbResult<bool> {
        self.token = Uuid::new_v4().to_string();
        self.raise_with(conn, &self.token.clone())
    }

    fn raise_with(&self, conn: &mut DbConnection, token: &str) -> DbResult<bool> {
        use placet_writers as w;
        let own = w::table
            .filter(w::id.eq(&self.id))
            .filter(w::revision.eq(self.revision));
        let raised = diesel::update(own)
            .set((
                w::revision.eq(self.revision + 1),
                w::token.eq(token),
                w::seen_at.eq(dialect::now()),
            ))
            .execute(conn)?;
        Ok(raised == 1)
    }

    /// Leaves the row that says what the batch changed.
    pub fn record(&self, conn: &mut DbConnection, body: &str) -> DbResult<()> {
        self.record_with(conn, &self.token, body)
    }

    fn record_with(&self, conn: &mut DbConnection, token: &str, body: &str) -> DbResult<()> {
        use placet_changes as c;
        diesel::insert_into(c::table)
            .values((
                c::writer.eq(&self.id),
                c::revision.eq(self.revision + 1),
                c::token.eq(token),
                c::committed_at.eq(dialect::now()),
                c::body.eq(body),
            ))
            .execute(conn)
            .map(|_| ())
    }

    /// The batch is known to be committed.
    pub fn committed(&mut self) {
        self.revision += 1;
    }

    /// Finds out whether the batch under way was committed: tries to write its revision itself. Where that succeeds,
    /// the batch did not happen and never can; where it does not, the token says whose the revision is.
    pub fn fence(&mut self, conn: &mut DbConnection) -> Result<Doubt> {
        let token = format!("fence-{}", Uuid::new_v4());
        dialect::begin_write(conn)?;
        if self.raise_with(conn, &token)? {
            self.record_with(conn, &token, "{}")?;
            dialect::commit(conn)?;
            self.revision += 1;
            return Ok(Doubt::NeverHappened);
        }
        dialect::rollback(conn)?;
        use placet_writers as w;
        let found: Option<(i64, String)> = w::table
            .filter(w::id.eq(&self.id))
            .select((w::revision, w::token))
            .first(conn)
            .optional()?;
        Ok(match found {
            Some((revision, token)) if revision == self.revision + 1 && token == self.token => Doubt::Happened,
            Some((revision, _)) if revision == self.revision + 1 => {
                self.revision += 1;
                Doubt::NeverHappened
            }
            _ => Doubt::Unknown,
        })
    }

    /// Now and then deletes what is too old to be followed. A failure is no harm: the next time does it.
    pub fn prune(&self, conn: &mut DbConnection) {
        use placet_changes as c;
        if self.revision % PRUNE_EVERY != 0 {
            return;
        }
        let old = c::table
            .filter(c::writer.eq(&self.id))
            .filter(c::revision.le(self.revision - KEPT));
        if let Err(error) = diesel::delete(old).execute(conn) {
            log::warn!("Old rows of placet_changes could not be pruned: {error}");
        }
    }

    /// Says that this writer will not come back.
    pub fn retire(&self, conn: &mut DbConnection) {
        let long_ago = chrono::DateTime::UNIX_EPOCH.naive_utc();
        let own = placet_writers::table.filter(placet_writers::id.eq(&self.id));
        if let Err(error) = diesel::update(own)
            .set(placet_writers::seen_at.eq(long_ago))
            .execute(conn)
        {
            log::debug!("The writer's row was not retired: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::TestDatabase;

    fn database() -> (DbConnection, TestDatabase) {
        let (kept, database) = TestDatabase::synced();
        (database.connect().unwrap(), kept)
    }

    /// Begins a batch as the writer does, and ends it so.
    fn batch(identity: &mut Identity, conn: &mut DbConnection, end: fn(&mut DbConnection) -> DbResult<()>) {
        dialect::begin_write(conn).unwrap();
        assert!(identity.raise_revision(conn).unwrap());
        identity.record(conn, "{}").unwrap();
        end(conn).unwrap();
    }

    #[test]
    fn a_fence_finds_a_commit_that_happened() {
        let (mut conn, _folder) = database();
        let mut identity = Identity::register(&mut conn).unwrap();
        batch(&mut identity, &mut conn, dialect::commit);
        assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::Happened);
        identity.committed();
        batch(&mut identity, &mut conn, dialect::commit);
    }

    #[test]
    fn a_fence_takes_the_place_of_a_commit_that_did_not_happen() {
        let (mut conn, _folder) = database();
        let mut identity = Identity::register(&mut conn).unwrap();
        batch(&mut identity, &mut conn, dialect::rollback);
        assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::NeverHappened);
        let tokens: Vec<String> = placet_changes::table
            .select(placet_changes::token)
            .load(&mut conn)
            .unwrap();
        assert!(
            matches!(tokens.as_slice(), [token] if token.starts_with("fence-")),
            "{tokens:?}"
        );
        batch(&mut identity, &mut conn, dialect::commit);
        identity.committed();
        assert_eq!(identity.revision, 2, "revisions stay gapless");
    }

    #[test]
    fn a_fence_that_was_committed_and_not_known_of_is_found_by_the_next() {
        let (mut conn, _folder) = database();
        let mut identity = Identity::register(&mut conn).unwrap();
        batch(&mut identity, &mut conn, dialect::rollback);
        assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::NeverHappened);
        // As if the fence's own COMMIT had been answered by an error.
        identity.revision -= 1;
        assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::NeverHappened);
        assert_eq!(identity.revision, 1);
    }

    #[test]
    fn without_its_row_a_writer_cannot_know() {
        let (mut conn, _folder) = database();
        let mut identity = Identity::register(&mut conn).unwrap();
        batch(&mut identity, &mut conn, dialect::commit);
        diesel::delete(placet_writers::table).execute(&mut conn).unwrap();
        assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::Unknown);
    }

    #[test]
    fn rows_of_writers_long_silent_are_cleared_away() {
        let (mut conn, _folder) = database();
        let mut old = Identity::register(&mut conn).unwrap();
        batch(&mut old, &mut conn, dialect::commit);
        old.retire(&mut conn);
        Identity::register(&mut conn).unwrap();
        let (writers, changes): (i64, i64) = (
            placet_writers::table.count().get_result(&mut conn).unwrap(),
            placet_changes::table.count().get_result(&mut conn).unwrap(),
        );
        assert_eq!((writers, changes), (1, 0));
    }
}
