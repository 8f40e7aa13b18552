//! The names of types in a CAST.

use crate::db::DbConnection;

/// The type of a 64-bit number.
pub fn bigint_cast(conn: &DbConnection) -> &'static str {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => "bigint",
        _ => "SIGNED",
    }
}

/// The type of a text. On MariaDB it has the collation of the connection.
pub fn text_cast(conn: &DbConnection) -> &'static str {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => "text",
        _ => "CHAR",
    }
}
