//! The parts of the change feed's query that differ by engine.

use crate::db::DbConnection;

/// The text after FROM in the query for the changes of `writers` writers, each after its own revision. The changes are
/// the table `c`; the bound values are the id and the revision of each writer. Changes more than `max_lag` revisions
/// behind their writer may be missing.
pub fn changes_after(conn: &DbConnection, writers: usize, max_lag: i64) -> String {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => each_revision(writers, max_lag),
        _ => ranges(writers, max_lag),
    }
}

/// Ranges of the primary key, without an upper end. MariaDB uses the key only for ranges with bound ends; SQLite always
/// does.
fn ranges(writers: usize, _max_lag: i64) -> String {
    let ranges = vec!["(c.writer = ? AND c.revision > ?)"; writers].join(" OR ");
    format!("placet_changes c WHERE {ranges}")
}

/// Looks up each revision by itself. PostgreSQL estimates a range with bound ends at a third of the table, so
/// PostgreSQL would read the whole table, or plan the query again each time. LIMIT makes the planner begin with the
/// revisions, and look up the change of each.
#[cfg(feature = "postgresql")]
fn each_revision(writers: usize, max_lag: i64) -> String {
    let values = vec!["(?::text, ?::bigint)"; writers].join(", ");
    format!(
        "(VALUES {values}) v(id, revision) JOIN placet_writers w ON w.id = v.id CROSS JOIN LATERAL \
         generate_series(GREATEST(v.revision, w.revision - {max_lag}) + 1, w.revision) r(revision) \
         CROSS JOIN LATERAL \
         (SELECT * FROM placet_changes c WHERE c.writer = v.id AND c.revision = r.revision LIMIT 1) c"
    )
}
