//! The state that placet keeps, and its rules: one file for each noun of the API, with the noun's SQL. The model knows
//! neither versions nor JSON of the API. The calls of a noun are functions of its module, whose first argument is the
//! [`Model`] or a [`Reader`].

pub mod aggregates;
mod allocation_groups;
pub mod allocations;
pub mod batch;
pub mod capacity;
pub mod census;
pub mod claims;
mod commands;
pub mod comparisons;
pub mod consumers;
mod database_state;
pub mod domains;
pub mod explain;
pub mod granted;
pub mod hosts;
pub mod inventories;
mod judging;
pub mod limits;
pub mod overuse;
pub mod pages;
mod planner;
pub mod providers;
pub mod reads;
pub mod refusals;
pub mod reshaper;
pub mod resource_classes;
pub mod resource_providers;
mod running;
mod service;
pub mod snapshot;
pub mod standard;
pub mod statistics;
pub mod traits;
pub mod types;
pub mod upgrade;
pub mod usages;
pub mod version_cache;
pub mod violations;
pub mod workloads;

use chrono::{DateTime, NaiveDateTime, Utc};

pub use crate::db::Leadership;
pub use batch::decide::Rules;
pub use database_state::DatabaseState;
pub use reads::provider_reads::ProviderReader;
pub use reads::reader::Reader;
pub use running::Running;
pub use service::Model;

/// When a row was last written: `updated_at`, or else `created_at`.
fn modified(updated_at: Option<NaiveDateTime>, created_at: Option<NaiveDateTime>) -> Option<Moment> {
    Some(updated_at.or(created_at)?.and_utc())
}

/// The time of `modified` in microseconds, as in the snapshot; 0 without a time.
fn modified_micros(updated_at: Option<NaiveDateTime>, created_at: Option<NaiveDateTime>) -> i64 {
    modified(updated_at, created_at).map_or(0, |time| time.timestamp_micros())
}

/// A moment in UTC. The tables store moments in microseconds or more coarsely.
pub type Moment = DateTime<Utc>;

#[cfg(test)]
mod tests;
