//! Background tasks, which run concurrently with requests and do not delay them.

mod background;
pub mod census;
pub mod comparison;
mod database_watch;
mod failures;
pub mod pending;
mod rounds;

pub use background::Background;
pub use database_watch::DatabaseWatch;
