//! The common parts of the checks of both servers: reading settings, and the form of the result.

use diesel::prelude::*;
use diesel::sql_types::Text;

use super::Refusal;
use crate::db::DbConnection;

/// The result of a check: warnings for the log, or the reason to refuse the server.
pub type Checked = QueryResult<Result<Vec<String>, Refusal>>;

/// The column `value` of all rows.
pub fn values(conn: &mut DbConnection, sql: &str) -> QueryResult<Vec<String>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        value: String,
    }
    let rows: Vec<Row> = diesel::sql_query(sql).load(conn)?;
    Ok(rows.into_iter().map(|row| row.value).collect())
}
