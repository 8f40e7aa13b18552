//! The handlers, one file per noun: each reads the request with `wire`, makes one call to `model`, and writes the
//! reply.

pub mod aggregates;
pub mod allocation_candidates;
pub mod allocations;
pub mod candidates;
pub mod capacity;
pub mod claims;
pub mod consumers;
pub mod domains;
pub mod explain;
pub mod hosts;
pub mod inventories;
pub mod limits;
pub mod providers;
pub mod refusals;
pub mod reshaper;
pub mod resource_classes;
pub mod resource_providers;
pub mod root;
pub mod traits;
pub mod types;
pub mod usages;
pub mod v1;
pub mod violations;
pub mod workloads;
