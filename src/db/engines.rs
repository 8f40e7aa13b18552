//! Everything that differs between SQLite, PostgreSQL and MariaDB.

pub mod dialect;
pub mod guarded;
pub mod rows;
