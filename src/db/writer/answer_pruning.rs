//! Deletes the stored answers to calls with an id that are older than `[placet] claim_memory`.
//!
//! Naively, one statement deletes all that have become too old since the last time. After a minute of many calls that
//! is a second in which the writer commits nothing. So it deletes a chunk at a time, between two batches.
//!
//! The writer's connection is used because SQLite would show the commits of another one as those of a foreign program.
//! Ages are measured against the clock of this host; answers may have been stored by another one.

use std::time::{Duration, Instant};

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::{Batch, Writer};
use crate::db::engines::dialect;
use crate::db::schema::placet_claims;
use crate::db::{DbConnection, DbResult};

/// About how many answers a chunk has. Those that were stored at the same time are deleted together.
const CHUNK_ROWS: i64 = 200;
/// The pause between two chunks.
const CHUNK_PAUSE: Duration = Duration::from_millis(50);
/// The pause after a chunk that was the last one.
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

    /// The time until the next chunk is due.
    pub fn until_due(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Deletes a chunk. Without a connection it waits as long as if there were nothing to delete.
    fn prune(&mut self, conn: Option<&mut DbConnection>) -> DbResult<()> {
        self.due = Instant::now() + IDLE_PAUSE;
        if let Some(conn) = conn
            && prune_chunk(conn, self.memory)?
        {
            self.due = Instant::now() + CHUNK_PAUSE;
        }
        Ok(())
    }
}

/// Deletes the oldest answers, if they are older than `memory`. Returns whether more may be left.
fn prune_chunk(conn: &mut DbConnection, memory: Duration) -> DbResult<bool> {
    use placet_claims as t;
    let oldest_kept = dialect::now() - memory;
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

impl<B: Batch> Writer<B> {
    /// Deletes a chunk if one is due. After a failure the next one comes as if there were nothing to delete.
    pub(super) fn prune_answers(&mut self) {
        if !self.answer_pruning.until_due().is_zero() {
            return;
        }
        if let Err(error) = self.answer_pruning.prune(self.conn.as_mut()) {
            log::debug!("Old answers to calls with an id could not be deleted; this is tried again: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::tests::support::TestDatabase;

    #[test]
    fn answers_are_deleted_in_chunks_when_they_are_too_old() {
        let (_test, database) = TestDatabase::synced();
        let conn = &mut database.connect().unwrap();
        let hour = Duration::from_secs(3600);
        let mut insert = |number: i64, age: Duration| {
            use placet_claims as t;
            diesel::insert_into(t::table)
                .values((
                    t::id.eq(number.to_string()),
                    t::project_id.eq("p"),
                    t::created_at.eq(dialect::now() - age),
                    t::digest.eq("d"),
                    t::answer.eq("{}"),
                ))
                .execute(&mut *conn)
                .unwrap()
        };
        for number in 0..CHUNK_ROWS + 5 {
            insert(number, hour * 2 + Duration::from_secs(number.unsigned_abs()));
        }
        insert(-1, hour / 2);
        let mut pruning = AnswerPruning::new(hour);
        let mut count_after = |conn: &mut DbConnection| {
            pruning.prune(Some(conn)).unwrap();
            placet_claims::table.count().get_result::<i64>(conn).unwrap()
        };
        assert_eq!([count_after(conn), count_after(conn), count_after(conn)], [6, 1, 1]);
    }

    /// Found by a reader: the writer's thread did not wait at all while the database was away.
    #[test]
    fn without_a_connection_nothing_is_due_for_a_while() {
        let mut pruning = AnswerPruning::new(Duration::from_secs(60));
        pruning.due = Instant::now();
        pruning.prune(None).unwrap();
        assert!(pruning.until_due() > CHUNK_PAUSE);
    }
}
