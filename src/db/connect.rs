//! Connections to the database: URLs, pools, the lock on an SQLite file, a replica.

mod attempts;
pub mod connection;
mod last_answer;
pub mod lock;
mod opener;
pub mod pool;
mod pool_limit;
mod pool_state;
pub mod replica;
mod slot;
#[cfg(all(feature = "mariadb", target_os = "linux"))]
pub mod tcp_keepalive;
pub mod url;

pub use pool_state::PoolState;
