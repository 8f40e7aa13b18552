//! Background tasks, which run concurrently with requests and do not delay them.

mod comparison;
mod database_watch;
mod rounds;

pub use comparison::Comparison;
pub use database_watch::DatabaseWatch;
