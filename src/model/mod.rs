//! What placet keeps and the rules it keeps it by: one file a noun, its rules and its SQL. Knows no version, no JSON.

pub mod aggregates;
pub mod allocations;
pub mod command;
pub mod inventories;
pub mod resource_classes;
pub mod resource_providers;
pub mod traits;
pub mod usages;

use chrono::{DateTime, Utc};

/// A moment as the tables keep it: UTC, microseconds.
pub type Moment = DateTime<Utc>;
#[derive(Clone)]
pub struct Model;
