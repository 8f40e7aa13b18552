//! Keeps the snapshot in memory equal to the tables: loading, following the change feed, publishing, comparing.

pub mod change;
pub mod comparison;
pub mod follower;
pub mod load;
pub mod merged_changes;
pub mod reload;
pub mod store;
