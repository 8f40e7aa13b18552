//! What happens without being asked for, beside the requests and never in their way.

mod comparison;
mod rounds;

pub use comparison::Comparison;
