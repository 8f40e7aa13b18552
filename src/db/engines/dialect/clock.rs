//! The database's clock, as an expression of a statement. The clocks of processes need not agree.

use crate::db::DbConnection;

/// The present time of the database, with a fraction of a second, for a column of type `{moment}`.
pub fn clock(conn: &DbConnection) -> String {
    clock_after(conn, "0")
}

/// The time of the database in some seconds from now. `seconds` is a whole number, or the name of a column.
pub fn clock_after(conn: &DbConnection, seconds: &str) -> String {
    match conn {
        // The text has three digits of the fraction in every row, so texts compare as times.
        DbConnection::Sqlite(_) => format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '+' || {seconds} || ' seconds')"),
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => format!("(clock_timestamp() + {seconds} * INTERVAL '1 second')::timestamp"),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => format!("CURRENT_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
    }
}
