//! What placet keeps and the rules it keeps it by: one file a noun, its rules and its SQL. Knows no version, no JSON.

pub mod aggregates;
pub mod allocations;
pub mod command;
pub mod inventories;
#[cfg(test)]
mod read_tests;
pub mod resource_classes;
pub mod resource_providers;
pub mod standard;
pub mod traits;
pub mod usages;

use chrono::{DateTime, NaiveDateTime, Utc};

/// When a row was last written: `updated_at`, or else `created_at`.
fn modified(updated_at: Option<NaiveDateTime>, created_at: Option<NaiveDateTime>) -> Option<Moment> {
    Some(updated_at.or(created_at)?.and_utc())
}

/// A moment as the tables keep it: UTC, microseconds.
pub type Moment = DateTime<Utc>;
