//! A batch of commands: what it touches, how it is decided, and how its net effect is written.

pub mod base;
pub mod batch_rows;
pub mod collation;
pub mod command;
pub mod contention;
pub mod decide;
pub mod decider;
pub mod footprint;
pub mod lock_set;
#[cfg(feature = "mutants")]
pub mod mutant;
pub mod optimistic;
pub mod save;
pub mod state;
