//! The database: connection, pool, schema, migrations, and the writer. Knows no noun's rules.

mod alembic;
pub mod connection;
pub mod dialect;
pub mod fault;
mod identity;
mod lock;
pub mod migrate;
pub mod pool;
pub mod rows;
pub mod schema;
pub mod url;
pub mod writer;

pub use connection::DbConnection;
pub use fault::{Fault, SetupError};
pub use lock::ServingLock;
pub use pool::{Database, Settings};

/// What a query answers; `fault::classify` says what to do about an error.
pub type DbResult<T> = diesel::QueryResult<T>;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod writer_tests;
