//! Places the replicas of a workload on hosts under rules of spread, affinity and anti-affinity. The answer is exact.
//!
//! A caller describes the hosts as a [`Cluster`] and the workload as a [`Workload`]. Hosts and roles are indices,
//! domains are [`DomainId`]s, and the room of hosts comes through [`Hosts`]. The layer has no SQL, HTTP, clock or
//! randomness; the caller gives the seed.
//!
//! Three questions have an answer each:
//!
//! - [`place()`]: where do the missing replicas go? If they go nowhere, a [`Refusal`] explains why.
//! - [`judge()`]: which mode and limit has each rule, which rules are broken, and does the majority survive?
//! - [`release()`]: which replicas go when fewer are wanted?
//!
//! From the bottom up:
//!
//! - `budget`: the operations, counted on the interrupt of the request. `groups`: lists of numbers.
//! - `domain_tree`, `live_tree`: the domains, and the part that has eligible hosts.
//! - `rules`: the rules as a caller gives the rules. `rules/modes`: the mode and the limit of each spread rule for n
//!   replicas. `rules/affinity`: affinity and anti-affinity to other workloads.
//! - `within`: the domain that holds all replicas of a workload.
//! - `cluster`, `eligible`: hosts and workloads. `cost`: the order of placements, as a number.
//! - `compared`: the limits of each domain and host.
//! - `judge`: the second question.
//!
//! `place` and `release` share one search. An *item* is a host: for new replicas, or with replicas that may stay. A
//! *slot* is room for one replica on an item, with a cost. A *cell* is a set of items in the same domains of
//! every compared dimension. So the search decides only how many replicas each cell gets, and a cell gives its cheapest
//! slots.
//!
//! - `cells`: items, slots and cells.
//! - `search`: branch and bound over the rules that the relaxed problem leaves out. `search/relaxed`: the relaxed
//!   problem in two dimensions, solved as a minimum-cost flow. `search/graph`: the nodes and arcs of the flow.
//!   `search/growth`: room for one replica more.
//!   `search/roles`, `search/role_prices`: assign roles to the chosen slots, with prices by Lagrangian relaxation.
//!   `search/division`: divides a part of the search.
//! - `place/prune`, `place/ceiling`: leave out cells that no best placement needs, and totals that no placement
//!   reaches.
//! - `place/domains`: the domains that a rule `within` may choose, the most promising first.
//!
//! `tests/naive` tries all sets of hosts, and the tests compare its answers with the answers of this layer.

mod budget;
mod cells;
mod cluster;
mod compared;
mod cost;
mod domain_tree;
mod eligible;
mod groups;
mod judge;
mod live_tree;
mod place;
mod release;
mod rules;
mod safety;
mod search;
mod within;

#[cfg(test)]
mod tests;

pub use cluster::{Cluster, Dimension, FurtherHost, Hosts, Offer, PlacedReplica, Standing, Workload};
pub use domain_tree::{DomainId, DomainTree};
pub use eligible::{Eligible, needed_dimensions};
pub use judge::{Broken, BrokenRule, DomainCount, Judgement, SpreadMode, judge};
pub use place::refusal::{DomainLimit, Refusal, Removed, WithinLimit};
pub use place::swap::{Swap, swap};
pub use place::{Effort, Placed, place};
pub use release::{Releasable, release};
pub use rules::modes::AxisRule;
pub use rules::{Affinity, AffinityKind, Axis, Level, Members, Mode, Rule, Spread, Within};
pub use safety::Safety;
pub use within::{AxisDomain, hard_domain};
