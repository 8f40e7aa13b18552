//! Keeps the snapshot in memory equal to the tables: loads the snapshot, follows the change feed, publishes commits,
//! and compares the snapshot with the tables.

pub mod change;
pub mod committed;
pub mod comparison;
pub mod contention;
pub mod follower;
pub mod lineage;
pub mod load;
pub mod merged_changes;
pub mod reload;
pub mod stamp;
pub mod store;
