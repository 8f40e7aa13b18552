//! Background tasks, which run concurrently with requests and do not delay them.

mod comparison;
mod rounds;

pub use comparison::Comparison;
