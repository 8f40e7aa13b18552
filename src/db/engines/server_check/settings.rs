//! What the checks of both servers share: reading settings, and the form of their result.

use diesel::prelude::*;
use diesel::sql_types::Text;

use super::Refusal;
use crate::db::DbConnection;

/// What was found at a server that can be served from: warnings for the log.
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
