//! The database: connections, engines, schema, the writer and its change feed. Knows tables and transactions, and no
//! rule of the API.

pub mod boot_instant;
pub mod change_feed;
pub mod claim_rows;
pub mod connect;
pub mod engines;
pub mod fault;
mod file;
pub mod leases;
mod live_count;
pub mod schema;
pub mod statements;
pub mod thread;
mod wal_checkpointer;
pub mod writer;

pub use connect::PoolState;
pub use connect::connection::DbConnection;
pub use connect::lock::ServingLock;
pub use connect::pool::{Database, DatabaseSettings, ReadPermit};
pub use connect::replica::ReadReplica;
pub use fault::{Fault, SetupError, WriteError};
pub use writer::election::{ELECTION_INTERVAL, Leadership};
pub use writer::identity::Commit;
#[cfg(test)]
pub use writer::identity::{CommitOutcome, Identity};
pub use writer::statistics::WriterStatistics;

/// The result of a query. [`fault::classify`] chooses the reaction to an error.
pub type DbResult<T> = diesel::QueryResult<T>;

#[cfg(test)]
pub mod tests;
