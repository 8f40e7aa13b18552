//! Copies of an SQLite database: making one while it is served, and checking it.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::db::DbConnection;

/// Writes a consistent copy to a new file, which has no log. Other connections may write at the same time.
pub fn copy_into(conn: &mut DbConnection, path: &str) -> QueryResult<()> {
    allow_writes(conn)?;
    diesel::sql_query("VACUUM INTO ?")
        .bind::<Text, _>(path)
        .execute(conn)
        .map(|_| ())
}

/// Lets a session write that was opened for reading, which leaves the file's journal mode as it is.
pub fn allow_writes(conn: &mut DbConnection) -> QueryResult<()> {
    conn.batch_execute("PRAGMA query_only = OFF")
}

/// The first fault that SQLite finds when it reads the whole file; `None` if there is none.
pub fn integrity_fault(conn: &mut DbConnection) -> QueryResult<Option<String>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        integrity_check: String,
    }
    let row: Row = diesel::sql_query("PRAGMA integrity_check(1)").get_result(conn)?;
    Ok(Some(row.integrity_check).filter(|found| found != "ok"))
}
