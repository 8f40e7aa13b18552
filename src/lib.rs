//! placet, a placement service. `ARCHITECTURE.md` has the layers and says which may import which.
//!
//! The layers are private to the crate, so that the compiler reports code without a caller. Two modules are public: the
//! binary starts `cli`, and the benches measure `benchmarked`.

pub(crate) mod agent;
pub(crate) mod api;
pub(crate) mod auth;
pub(crate) mod backoff;
pub(crate) mod caller;
pub mod cli;
pub(crate) mod config;
pub(crate) mod cut;
pub(crate) mod db;
pub(crate) mod error;
pub(crate) mod fair_queue;
pub(crate) mod http_client;
pub(crate) mod interrupt;
pub(crate) mod live_value;
pub(crate) mod log_context;
pub(crate) mod model;
pub(crate) mod mutants;
pub(crate) mod pem;
pub(crate) mod placing;
pub(crate) mod policy;
pub(crate) mod pools;
pub(crate) mod search;
pub(crate) mod spelling;
pub(crate) mod statistics;
pub(crate) mod systemd;
pub(crate) mod tasks;
pub(crate) mod version;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

/// The items that `benches/` measures without the service. Their interface may change at any time.
#[doc(hidden)]
pub mod benchmarked {
    pub use crate::db::{Database, DatabaseSettings, DbConnection, SetupError, schema};
    pub use crate::error::{Error, Result};
    pub use crate::search::{
        AggregateId, Catalog, ClassId, Description, Domain, Expression, Group, GroupPolicy, HostConditions, Interrupt,
        Inventory, NormalLimit, PropertyValue, ProviderId, ProviderRow, Rank, Ranked, Request, Scoring, SearchSettings,
        Snapshot, TraitId, Traits, TreeOrder, best, candidates, explain, nearest, single_changes,
    };
    pub use crate::version::Version;

    pub mod placing {
        pub use crate::placing::{
            Affinity, AffinityKind, Axis, Broken, BrokenRule, Cluster, Dimension, DomainCount, DomainId, DomainLimit,
            DomainTree, Effort, Eligible, Hosts, Judgement, Level, Members, Mode, Offer, Placed, PlacedReplica,
            Refusal, Releasable, Removed, Rule, Spread, SpreadMode, Workload, judge, place, release,
        };
    }
    pub mod workloads {
        pub use crate::model::allocations::{Owner, ProviderShare};
        pub use crate::model::claims::ClaimQuery;
        pub use crate::model::workloads::{
            Incarnation, Level, Mode, PlanJob, Put, Replica, ReplicaRow, Role, Spec, SpecRule, SpreadRule,
            StoredWorkload, WorkloadRow, judge,
        };
    }
    pub use crate::wire::allocation_candidates::CandidatesAnswer;
}
