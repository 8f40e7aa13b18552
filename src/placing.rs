//! Places the replicas of a workload on hosts so that its rules hold: exactly, and purely.
//!
//! The layer knows plain numbers only: hosts by index, domains by [`DomainId`], roles by index. It knows no SQL, HTTP,
//! clock or randomness; a seed comes in. What it needs to know of hosts comes through [`Hosts`].
//!
//! - [`place()`]: where the missing replicas go, or why they go nowhere;
//! - [`judge()`]: modes, limits, `safe` and violations of replicas that stand;
//! - [`release()`]: which replicas go when fewer are wanted;
//! - `safe`: whether the majority survives the loss of any domain; `occupied`: the domains that it compares;
//! - `modes`: what a rule means for n replicas on the eligible hosts; `near`: where the rules to others exclude hosts;
//! - `cells`, `cell_index`, `cell_places`, `slot_costs`, `prune`: hosts in equal domains, and which of them may be
//!   needed;
//! - `budget`: the operations of all that is computed, on the interrupt of the request;
//! - `bounds`, `relaxed`, `flow`: the placement as a minimum-cost flow; `search`, `role_prices`: the rest, by branch
//!   and bound;
//! - `tests/naive`: all sets of hosts, one after the other, with which tests compare the answers.

mod bounds;
mod budget;
mod ceiling;
mod cell_index;
mod cell_numbers;
mod cell_places;
mod cells;
mod cluster;
mod compared;
mod cost;
mod domain_tree;
mod eligible;
mod evaluate;
mod even;
mod flow;
mod host_items;
mod judge;
mod live_tree;
mod modes;
mod near;
mod occupied;
mod place;
mod prune;
mod refusal;
mod relaxed;
mod release;
mod role_prices;
mod roles;
mod rules;
mod safe;
mod search;
mod slot_costs;

#[cfg(test)]
mod tests;

pub use cluster::{Cluster, Dimension, Hosts, Offer, Standing, Workload};
pub use domain_tree::{DomainId, DomainTree};
pub use eligible::{Eligible, needed_dimensions};
pub use judge::{Broken, DomainCount, Judgement, SpreadMode, Violation, judge};
pub use place::{Effort, Placed, Proof, place};
pub use refusal::{DomainLimit, Refusal, Removed};
pub use release::{Replica, release};
pub use rules::{Axis, Level, Members, Mode, Near, NearKind, Rule, Spread};
