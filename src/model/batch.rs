//! A batch of commands: the rows that the batch touches, the decision, and the write of the net effect.

pub mod base;
pub mod batch_rows;
pub mod call_usage;
pub mod collation;
pub mod command;
pub mod decide;
pub mod decider;
pub mod entry;
pub mod footprint;
pub mod generation_moves;
#[cfg(feature = "mutants")]
pub mod mutant;
pub mod optimistic;
pub mod own_rows;
pub mod own_tables;
pub mod refusals;
pub mod save;
mod savepoint;
pub mod state;
