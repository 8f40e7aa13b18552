//! Copies of an SQLite database: copies a served database, and checks copies.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::db::DbConnection;
use crate::db::engines::rows::statement::Statement;

/// Writes a consistent copy to a new file without a log. Concurrent connections may write.
pub fn copy_into(conn: &mut DbConnection, path: &str) -> QueryResult<()> {
    allow_writes(conn)?;
    diesel::sql_query("VACUUM INTO ?")
        .bind::<Text, _>(path)
        .execute(conn)
        .map(|_| ())
}

/// Lets a reading session write. The session leaves the file's journal mode unchanged.
pub fn allow_writes(conn: &mut DbConnection) -> QueryResult<()> {
    conn.batch_execute("PRAGMA query_only = OFF")
}

/// The first fault in the whole file according to SQLite; `None` for a sound file.
pub fn integrity_fault(conn: &mut DbConnection) -> QueryResult<Option<String>> {
    let found = Statement::of("PRAGMA integrity_check(1)").texts(conn)?;
    Ok(found.into_iter().find(|fault| fault != "ok"))
}
