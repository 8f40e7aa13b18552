//! The database: connection, pool, schema, migrations, and the writer. Knows no noun's rules.

pub mod connection;
pub mod dialect;
pub mod fault;
pub mod migrate;
pub mod pool;
pub mod schema;
pub mod url;

pub use connection::DbConnection;
pub use fault::{Fault, SetupError};
pub use pool::{Database, Settings};

#[cfg(test)]
mod tests;
