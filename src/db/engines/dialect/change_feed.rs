//! What differs between engines in the queries of the change feed.

use crate::db::DbConnection;

/// The type of a 64-bit number in a CAST.
pub fn bigint_cast(conn: &DbConnection) -> &'static str {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => "bigint",
        _ => "SIGNED",
    }
}

/// The changes of `writers` writers after a revision of each, as `c`: what stands after FROM. Values: each writer's id and
/// revision. Changes that are more than `most` revisions older than their writer's newest may be missing.
pub fn changes_after(conn: &DbConnection, writers: usize, most: i64) -> String {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => each_revision(writers, most),
        _ => ranges(writers, most),
    }
}

/// Ranges of the primary key, which MariaDB takes with bound values only, and SQLite with any. They need no end.
fn ranges(writers: usize, _most: i64) -> String {
    let ranges = vec!["(c.writer = ? AND c.revision > ?)"; writers].join(" OR ");
    format!("placet_changes c WHERE {ranges}")
}

/// Each revision by itself. PostgreSQL expects a range whose ends it does not know to have a third of the table: it would
/// read all of it, or make a new query plan each time. LIMIT keeps the changes behind the revisions that are looked for.
#[cfg(feature = "postgresql")]
fn each_revision(writers: usize, most: i64) -> String {
    let values = vec!["(?::text, ?::bigint)"; writers].join(", ");
    format!(
        "(VALUES {values}) v(id, revision) JOIN placet_writers w ON w.id = v.id CROSS JOIN LATERAL \
         generate_series(GREATEST(v.revision, w.revision - {most}) + 1, w.revision) r(revision) \
         CROSS JOIN LATERAL \
         (SELECT * FROM placet_changes c WHERE c.writer = v.id AND c.revision = r.revision LIMIT 1) c"
    )
}
