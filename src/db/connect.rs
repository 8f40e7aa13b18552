//! Connections to the database: URLs, pools, the lock on an SQLite file, a replica.

pub mod connection;
mod last_answer;
pub mod lock;
mod open_connections;
mod opener;
pub mod pool;
mod pool_state;
pub mod replica;
#[cfg(all(feature = "mariadb", target_os = "linux"))]
pub mod tcp_keepalive;
pub mod url;

pub use pool_state::PoolState;
