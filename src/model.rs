//! What placet keeps and the rules it keeps it by: one file a noun, its rules and its SQL. Knows no version, no JSON.

pub mod aggregates;
pub mod allocations;
pub mod batch;
pub mod inventories;
pub mod reads;
pub mod reshaper;
pub mod resource_classes;
pub mod resource_providers;
mod service;
pub mod snapshot;
pub mod standard;
pub mod traits;
pub mod upgrade;
pub mod usages;

use chrono::{DateTime, NaiveDateTime, Utc};

pub use batch::decide::Rules;
pub use reads::reader::Reader;
#[cfg(test)]
pub use service::Running;
pub use service::{Model, Serving, Shown};

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
