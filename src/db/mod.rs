//! The database: connection, pool, schema, migrations, the writer, and what other writers did. Knows no noun's rules.

mod alembic;
pub mod connection;
pub mod dialect;
mod failure;
pub mod fault;
pub mod followed;
mod identity;
mod lock;
pub mod migrate;
mod mover;
pub mod pool;
mod pruning;
pub mod queue;
mod replica;
pub mod rows;
pub mod schema;
pub mod thread;
pub mod together;
pub mod url;
#[cfg(all(feature = "mariadb", target_os = "linux"))]
mod vanished;
pub mod writer;

pub use connection::DbConnection;
pub use fault::{Fault, SetupError};
pub use identity::Commit;
#[cfg(test)]
pub use identity::{Doubt, Identity};
pub use lock::ServingLock;
pub use pool::{Database, Settings, Turn};
pub use replica::Replica;

/// What a query answers; `fault::classify` says what to do about an error.
pub type DbResult<T> = diesel::QueryResult<T>;

#[cfg(test)]
mod identity_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod server_tests;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod writer_tests;
