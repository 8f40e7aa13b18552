//! What placet keeps and the rules it keeps it by: one file a noun, its rules and its SQL. Knows no version, no JSON.

pub mod aggregates;
pub mod allocations;
mod base;
pub mod batch;
mod change;
pub mod command;
mod company;
pub mod comparison;
pub mod decide;
mod follower;
mod gather;
mod gathered;
pub mod inventories;
pub mod live;
pub mod load;
#[cfg(feature = "mutants")]
mod mutant;
mod named;
mod naming;
mod of_provider;
mod plannable;
mod reader;
mod reread;
pub mod reshaper;
pub mod resource_classes;
pub mod resource_providers;
mod save;
mod service;
mod shared;
mod spelled;
pub mod standard;
mod state;
pub mod traits;
mod turn;
pub mod upgrade;
pub mod usages;

use chrono::{DateTime, NaiveDateTime, Utc};

pub use decide::Rules;
pub use naming::Names;
pub use reader::Reader;
pub use service::{Model, Running, Serving, Shown};

/// When a row was last written: `updated_at`, or else `created_at`.
fn modified(updated_at: Option<NaiveDateTime>, created_at: Option<NaiveDateTime>) -> Option<Moment> {
    Some(updated_at.or(created_at)?.and_utc())
}

/// The same as microseconds, as the snapshot has it: 0 where there is none.
fn modified_micros(updated_at: Option<NaiveDateTime>, created_at: Option<NaiveDateTime>) -> i64 {
    modified(updated_at, created_at).map_or(0, |time| time.timestamp_micros())
}

/// A moment as the tables keep it: UTC, microseconds.
pub type Moment = DateTime<Utc>;

#[cfg(test)]
mod tests;
