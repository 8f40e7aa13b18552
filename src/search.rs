//! Searches for providers and allocation candidates, in a snapshot of all providers in memory.
//!
//! The layer is pure: no SQL, no HTTP, no JSON, no microversion and no clock, and random numbers come from a seed of
//! the caller. `model` keeps a [`Snapshot`] up to date; `wire` reads a [`Request`] or a [`ProviderQuery`] in its newest
//! form; [`candidates()`] and [`providers()`] answer.
//!
//! - `snapshot/`: the data, in columns and in blocks of 64 providers, and how a new version is made;
//! - `request`: the question, in names; `resolve`: the same in ids (`provider_filter`), with unknown names refused;
//! - `expression/`: the language of conditions on properties; `described_filter`: conditions on hosts;
//! - `scan`: evaluates a filter over one block, a bit for each passing provider;
//! - `block_walk`: the order in which blocks are visited; `zone_filter`: skips regions that cannot contain a result;
//! - `providers` and `candidates`: the two answers; `single`: candidates of one provider each; `trees/`: candidates of
//!   several providers together;
//! - `rank`: scores; `best`: the best of all candidates, by a score;
//! - `sequence`: candidates for several consumers, one after the other;
//! - `selection`: how many candidates an answer holds, and which providers its summaries show (`shown_providers`);
//! - `purpose`: whether a claim may exceed the normal limits; `over_normal`: the candidate least above these limits;
//! - `by_host`: the offer of each host, for callers that choose hosts by rules of their own;
//! - `totals`: sums over the whole cloud, for the metrics;
//! - `capacity/`: how many more consumers of a request fit;
//! - `explanation/`: which condition leaves out which host, and what the nearest hosts lack;
//! - `tests/oracle`: a slow and simple implementation, with which tests compare the answers.

mod best;
mod block_walk;
mod by_host;
mod candidate;
mod candidates;
pub mod capacity;
mod described_filter;
mod explanation;
mod expression;
mod over_normal;
mod provider_filter;
mod providers;
mod purpose;
mod rank;
mod request;
mod resolve;
mod scan;
mod selection;
mod sequence;
mod settings;
mod shown_providers;
mod single;
pub mod snapshot;
mod totals;
mod trees;
mod zone_filter;

#[cfg(test)]
mod tests;

pub use crate::interrupt::Interrupt;
pub use best::{Ranked, Scored, best};
pub use block_walk::SharedOrder;
pub use by_host::{HostCosts, best_in_host, best_of_each_host, each_host, eligible_hosts, hosts_within};
pub use candidate::{Candidate, Placement};
pub use candidates::{candidates, check_interrupt};
pub use explanation::{
    ClassProviders, ClassRoom, Condition, Conditions, Edit, Enough, ExplainedRequest, HostSet, HostSum, Lack,
    ProviderAmount, RequestChange, Thinning, explain, failed_conditions, failing_pools, first_failed_but_room,
    lacks_in_host, nearest, single_changes,
};
pub use expression::{Expression, Truth};
pub use over_normal::{OverSequence, for_purpose};
pub use providers::providers;
pub use purpose::Purpose;
pub use rank::{CandidateLoad, Rank, Scoring};
pub use request::{
    Domain, Group, GroupPolicy, HOST_DIMENSION, HostConditions, MemberOf, ProviderQuery, Request, Traits,
};
pub use selection::Selection;
pub use sequence::{CandidateSequence, PlannedUsage};
pub use settings::{SearchLimits, SearchSettings, TreeOrder};
pub use snapshot::{
    AggregateId, AmountRule, BUILT_IN_PROPERTIES, BlockSlots, Catalog, ClassId, Declarations, Delta, Description,
    DomainKey, Inventory, LANES, NameKinds, NormalLimit, Properties, PropertyValue, ProviderId, ProviderRow,
    ProviderState, SHARING_TRAIT, Slot, Snapshot, SnapshotChange, TraitId, domain_path, is_in_domain,
};
pub use totals::{AggregateTotals, ClassTotals, CloudTotals, totals};
