//! What placet keeps and the rules it keeps it by: one file a noun, its rules and its SQL. Knows no version, no JSON.

pub mod aggregates;
pub mod allocations;
pub mod batch;
mod change;
pub mod command;
pub mod decide;
mod gather;
pub mod inventories;
pub mod live;
pub mod load;
pub mod resource_classes;
pub mod resource_providers;
mod save;
mod service;
pub mod standard;
mod state;
pub mod traits;
pub mod usages;

use chrono::{DateTime, Utc};

pub use decide::Rules;
pub use service::{Model, Running};

/// A moment as the tables keep it: UTC, microseconds.
pub type Moment = DateTime<Utc>;

#[cfg(test)]
mod tests;
