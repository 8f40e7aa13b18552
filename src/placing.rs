//! Places the replicas of a workload on hosts under rules of spread, affinity and anti-affinity. The answer is exact.
//!
//! A caller describes the hosts as a [`Cluster`] and the workload as a [`Workload`]. Hosts and roles are indices,
//! domains are [`DomainId`]s, and the room of hosts comes through [`Hosts`]. The layer has no SQL, HTTP, clock or
//! randomness; the caller gives the seed.
//!
//! Three questions have an answer each:
//!
//! - [`place()`]: where do the missing replicas go? If they go nowhere, a [`Refusal`] (`refusal`) explains why.
//! - [`judge()`]: which mode and limit has each rule, which rules are broken, and does the majority survive (`safe`)?
//! - [`release()`]: which replicas go when fewer are wanted?
//!
//! The rules become numbers in four steps:
//!
//! - `rules`: the rules as a caller gives the rules. `modes`: the mode and the limit of each spread rule for n
//!   replicas.
//! - `domain_tree`, `live_tree`, `eligible`, `occupied`: the domains, with the part that has eligible hosts or
//!   replicas.
//! - `affinity`: affinity and anti-affinity to other workloads. `compared`, `even`: the limits of each domain and host.
//! - `cost`: the order of placements, as a number. `budget`: the operations, counted on the interrupt of the request.
//!
//! `place` and `release` share one search. An *item* is a candidate: a host for a new replica, or a replica that may
//! stay. A *slot* is room for one replica on an item, with a cost. A *cell* is a set of items in the same domains of
//! every compared dimension. So the search decides only how many replicas each cell gets, and a cell gives its cheapest
//! slots.
//!
//! - `cells`, `cell_index`, `cell_numbers`, `cell_places`, `slot_costs`, `host_items`: items, slots and cells.
//! - `prune`, `ceiling`: leave out cells that no best placement needs, and totals that no placement reaches.
//! - `bounds`, `relaxed`, `flow`: the relaxed problem in two dimensions, solved as a minimum-cost flow.
//! - `search`, `evaluate`: branch and bound over the rules that the flow leaves out.
//! - `roles`, `role_prices`: assign roles to the chosen slots, with prices by Lagrangian relaxation.
//!
//! `tests/naive` tries all sets of hosts, and the tests compare its answers with the answers of this layer.

mod affinity;
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
pub use rules::{Affinity, AffinityKind, Axis, Level, Members, Mode, Rule, Spread};
