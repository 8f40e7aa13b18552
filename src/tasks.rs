//! Background tasks, which run concurrently with requests without a delay for requests.

mod background;
pub mod census;
pub mod comparison;
pub mod database_watch;
mod failures;
pub mod leader;
pub mod refusals;
mod rounds;

pub use background::Background;
