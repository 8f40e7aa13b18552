//! Deletes the stored answers to calls with an id that are older than `[placet] claim_memory`.
//!
//! Naively, one statement deletes all answers that became too old since the last time. After a minute of many calls the
//! statement takes a second, in which the writer commits nothing. So the writer deletes a chunk between two batches.
//!
//! The writer's connection is used because SQLite shows the commits of any second connection as commits of a foreign
//! writer. Ages are measured as in [`crate::db::change_feed::pruning`]: the database's clock wrote both times, and the
//! clocks of hosts need not agree.

use std::time::{Duration, Instant};

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::db::change_feed::pruning::seen_at;
use crate::db::schema::placet_claims;
use crate::db::{DbConnection, DbResult};

/// The approximate number of answers in a chunk. Answers with the same time are deleted together.
const CHUNK_ROWS: i64 = 200;
/// The pause between two chunks.
const CHUNK_PAUSE: Duration = Duration::from_millis(50);
/// The pause after the last chunk.
const IDLE_PAUSE: Duration = Duration::from_secs(60);

/// When the next chunk is due.
pub(super) struct AnswerPruning {
    /// How long answers are kept.
    memory: Duration,
    due: Instant,
}

impl AnswerPruning {
    pub fn new(memory: Duration) -> AnswerPruning {
        AnswerPruning {
            memory,
            due: Instant::now() + IDLE_PAUSE,
        }
    }

    /// When the next chunk is due.
    pub fn due_at(&self) -> Instant {
        self.due
    }

    /// Deletes a chunk if a chunk is due. After a failure the next chunk comes as if there were nothing to delete.
    pub fn prune_if_due(&mut self, conn: Option<&mut DbConnection>, writer: &str) {
        if self.due <= Instant::now()
            && let Err(error) = self.prune(conn, writer)
        {
            log::debug!("Old answers to calls with an id could not be deleted; this is tried again: {error}");
        }
    }

    /// Deletes a chunk. `writer` is the id of this process's writer. Without a connection the next chunk is due after
    /// the pause of an idle table.
    fn prune(&mut self, conn: Option<&mut DbConnection>, writer: &str) -> DbResult<()> {
        self.due = Instant::now() + IDLE_PAUSE;
        let Some(conn) = conn else { return Ok(()) };
        let oldest_kept = seen_at(conn, writer)? - self.memory;
        if prune_chunk(conn, oldest_kept)? {
            self.due = Instant::now() + CHUNK_PAUSE;
        }
        Ok(())
    }
}

/// Deletes the oldest answers that were stored before `oldest_kept`. Returns whether more may be left.
fn prune_chunk(conn: &mut DbConnection, oldest_kept: NaiveDateTime) -> DbResult<bool> {
    use placet_claims as t;
    let last_of_chunk: Option<NaiveDateTime> = t::table
        .filter(t::created_at.lt(oldest_kept))
        .order(t::created_at)
        .offset(CHUNK_ROWS - 1)
        .select(t::created_at)
        .first(conn)
        .optional()?;
    match last_of_chunk {
        Some(last) => diesel::delete(t::table.filter(t::created_at.le(last))).execute(conn)?,
        None => diesel::delete(t::table.filter(t::created_at.lt(oldest_kept))).execute(conn)?,
    };
    Ok(last_of_chunk.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::engines::dialect;
    use crate::db::engines::rows::Value;
    use crate::db::statements::claims::INSERT;
    use crate::db::tests::support::TestDatabase;
    use crate::db::writer::identity::Identity;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Stores answers as a host does whose clock shows `now`.
    fn store(conn: &mut DbConnection, now: NaiveDateTime, numbers: std::ops::Range<i64>) {
        let text = |text: &str| Value::Text(text.to_owned());
        let row = |number: i64| vec![text(&number.to_string()), text("p"), text("d"), text("{}")];
        let rows: Vec<_> = numbers.map(row).collect();
        INSERT.run(conn, now, &rows).unwrap();
    }

    /// Makes the stored answers this old.
    fn age(conn: &mut DbConnection, number: i64, age: Duration) {
        use placet_claims as t;
        let stored = t::table.find((number.to_string(), "p"));
        let created_at: NaiveDateTime = stored.clone().select(t::created_at).first(conn).unwrap();
        let older = diesel::update(stored).set(t::created_at.eq(created_at - age));
        assert_eq!(older.execute(conn).unwrap(), 1);
    }

    /// Prunes three times. Returns the number of answers that are left after each.
    fn prune(conn: &mut DbConnection, memory: Duration) -> [i64; 3] {
        let writer = Identity::register(conn).unwrap();
        let mut pruning = AnswerPruning::new(memory);
        [(); 3].map(|()| {
            pruning.prune(Some(conn), writer.id()).unwrap();
            placet_claims::table.count().get_result(conn).unwrap()
        })
    }

    #[test]
    fn answers_are_deleted_in_chunks_when_they_are_too_old() {
        let (_test, database) = TestDatabase::synced();
        let conn = &mut database.connect().unwrap();
        store(conn, dialect::now(), 0..CHUNK_ROWS + 6);
        for number in 0..CHUNK_ROWS + 5 {
            age(conn, number, HOUR * 2 + Duration::from_secs(number.unsigned_abs()));
        }
        age(conn, CHUNK_ROWS + 5, HOUR / 2);
        assert_eq!(prune(conn, HOUR), [6, 1, 1]);
    }

    #[test]
    fn hostile_04_an_answer_is_kept_whatever_the_clock_of_the_host_that_stored_it() {
        let (_test, database) = TestDatabase::synced();
        let conn = &mut database.connect().unwrap();
        store(conn, dialect::now() - 24 * HOUR, 0..3);
        store(conn, dialect::now() + 24 * HOUR, 3..6);
        assert_eq!(prune(conn, HOUR), [6; 3]);
        for number in [0, 5] {
            age(conn, number, 2 * HOUR);
        }
        assert_eq!(prune(conn, HOUR), [4; 3]);
    }

    /// Found by a reader: the writer's thread did not wait at all while the database was away.
    #[test]
    fn without_a_connection_nothing_is_due_for_a_while() {
        let mut pruning = AnswerPruning::new(Duration::from_secs(60));
        pruning.due = Instant::now();
        pruning.prune(None, "no writer").unwrap();
        assert!(pruning.due_at() > Instant::now() + CHUNK_PAUSE);
    }
}
