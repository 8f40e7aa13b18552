//! The differences between SQLite, PostgreSQL and MariaDB: sessions, transactions, SQL, and error messages.

pub mod built_in;
pub mod dialect;
pub mod guarded;
pub mod rows;
mod server_check;
