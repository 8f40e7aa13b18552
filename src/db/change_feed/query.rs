//! The statements of the change feed: the position of every writer, and the changes after known positions.
//!
//! The text of a statement depends only on the number of known writers, and all values are bound. So a connection
//! prepares each statement once.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::pruning;
use super::revisions::Revisions;
use crate::db::engines::dialect::{self, on_each};
use crate::db::engines::rows::Value;
use crate::db::engines::rows::statement::{Bound, Fragment, Statement};
use crate::db::{DbConnection, DbResult};

/// The epoch, a writer with its position, or a change.
#[derive(Queryable)]
pub struct FeedRow {
    /// [`EPOCH`], [`WRITER`], or [`CHANGE`].
    pub kind: i32,
    /// Empty in the row of the epoch.
    pub writer: String,
    pub revision: i64,
    /// The epoch itself in the epoch's row.
    pub token: String,
    /// Empty in rows that are no change.
    pub body: String,
}

type FeedColumns = (Integer, Text, BigInt, Text, Text);

/// The maximum number of revisions of a writer in one query. Fewer revisions are kept, so a reader that lacks more has
/// to reload.
const MAX_REVISIONS: i64 = 2 * pruning::KEPT_REVISIONS;

pub const EPOCH: i32 = 0;
pub const WRITER: i32 = 1;
pub const CHANGE: i32 = 2;

/// The epoch, the writers, and the changes after the positions in `known`, at one moment.
pub fn read(conn: &mut DbConnection, known: &Revisions) -> DbResult<Vec<FeedRow>> {
    let statement = statement(conn, known);
    on_each!(conn, inner => statement.load(inner))
}

/// The epoch, and a writer's position. Without writers there is a single row with the epoch alone.
#[derive(Queryable)]
pub struct PositionRow {
    pub epoch: String,
    pub writer: Option<String>,
    pub revision: Option<i64>,
    pub token: Option<String>,
}

type PositionColumns = (Text, Nullable<Text>, Nullable<BigInt>, Nullable<Text>);

/// The epoch and the writers at one moment, by a cheaper statement than [`read`]'s.
///
/// Measured: 13 µs on MariaDB and 11 µs on PostgreSQL; [`read`] takes 37 and 19.
pub fn positions(conn: &mut DbConnection) -> DbResult<Vec<PositionRow>> {
    const POSITIONS: &str =
        "SELECT e.epoch, w.id, w.revision, w.token FROM placet_epoch e LEFT JOIN placet_writers w ON 1 = 1";
    let statement = Fragment::new(POSITIONS, []).cached::<PositionColumns>();
    on_each!(conn, inner => statement.load(inner))
}

/// The statement of [`read`]. The ids and the revisions of known writers are bound.
fn statement(conn: &DbConnection, known: &Revisions) -> Statement<FeedColumns> {
    let mut text = format!(
        "SELECT {EPOCH}, '', CAST(0 AS {bigint}), e.epoch, '' FROM placet_epoch e \
         UNION ALL SELECT {WRITER}, w.id, w.revision, w.token, '' FROM placet_writers w",
        bigint = dialect::bigint_cast(conn)
    );
    if !known.writers.is_empty() {
        text += &format!(" UNION ALL SELECT {CHANGE}, c.writer, c.revision, c.token, c.body FROM ");
        text += &dialect::changes_after(conn, known.writers.len(), MAX_REVISIONS);
    }
    let positions = known.writers.iter();
    let values = positions.flat_map(|(id, position)| [Value::Text(id.clone()), Value::Int(position.revision)]);
    let bound = values.map(Bound::Value).collect();
    Fragment { text, bound }.cached()
}

#[cfg(test)]
mod tests {
    use diesel::sqlite::SqliteConnection;

    use super::*;
    use crate::db::change_feed::{Position, connect};
    use crate::db::{Database, DatabaseSettings};

    fn known(writers: usize) -> Revisions {
        let position = |n| {
            let (revision, token) = (7, "t".to_owned());
            (format!("writer-{n}"), Position { revision, token })
        };
        Revisions {
            epoch: "e".to_owned(),
            writers: (0..writers).map(position).collect(),
        }
    }

    #[test]
    fn known_positions_are_bound_and_not_part_of_the_text() {
        let conn = DbConnection::Sqlite(SqliteConnection::establish(":memory:").unwrap());
        for writers in [1, 3] {
            let text = statement(&conn, &known(writers)).text;
            assert!(!text.contains("writer-") && !text.contains('7'), "{text}");
        }
    }

    #[test]
    fn the_statement_does_not_scan_changes() {
        #[derive(QueryableByName)]
        struct Step {
            #[diesel(sql_type = Text)]
            detail: String,
        }
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:///{}", folder.path().join("followed.sqlite").display());
        let database = Database::open(&DatabaseSettings::new(url)).unwrap();
        database.sync().unwrap();
        for writers in [0, 1, 3] {
            let mut conn = connect(&database).unwrap();
            let explain = format!("EXPLAIN QUERY PLAN {}", statement(&conn, &known(writers)).text);
            let steps: Vec<Step> = diesel::sql_query(explain).load(&mut conn).unwrap();
            let steps: Vec<String> = steps.into_iter().map(|step| step.detail).collect();
            let begins = |how: &str| steps.iter().any(|step| step.starts_with(how));
            assert!(
                !begins("SCAN c") && begins("SEARCH c USING INDEX") == (writers > 0),
                "{steps:?}"
            );
        }
    }
}
