//! Workloads (`/v1/workloads`): replicas, with rules about the hosts of the replicas.
//!
//! A replica is a consumer with allocations, and the allocations say where the replica is. So each change of
//! allocations by OpenStack's routes is seen, and a replica without allocations is pending.
//!
//! - `spec`: the roles and rules of a workload; `rows`: the tables;
//! - `hosts`, `eligible_hosts`, `host_offers`: the hosts of a snapshot in the form of `placing`;
//! - `affinity`: the rules of a spec in the form of `placing`;
//! - `ids`: the ids of replicas; `plan`: the changes of a request, decided beside the writer;
//! - `planned`: the plan as rows to write, and as a report;
//! - `admission`: whether there is normal room in sum; `refusal`: why replicas have no place;
//! - `found`: the first reads of a request; `put`: a request from the first read to the answer; `pending`: retries;
//! - `report`: a workload as clients see the state; `listing`: a page of workloads with the figures of their state;
//! - `unfit`: why a host does not meet the query of a role; `time`: searches that end early.

mod admission;
mod affinity;
mod eligible_hosts;
mod found;
mod host_offers;
mod hosts;
mod ids;
mod listing;
mod pending;
mod plan;
mod planned;
mod put;
mod refusal;
mod report;
mod rows;
pub(super) mod spec;
pub(super) mod time;
mod unfit;

use std::sync::Arc;

use super::allocations::{Owner, ProviderShare};
use super::claims::{ClaimedConsumer, ConsumerChoice};
use crate::error::{Error, Result};
pub use crate::placing::{AffinityKind, Level, Mode};
use crate::search::ProviderState;
pub use found::Found;
pub use ids::natural_order;
pub use listing::{Listed, list};
pub use pending::{PendingWorkloads, SeenSnapshot};
#[cfg(test)]
pub(super) use pending::{pending_workloads, place_pending};
pub use plan::PlanJob;
pub use planned::Planned;
pub(super) use put::newest_for;
pub use put::{delete, put, report};
#[cfg(test)]
pub(super) use put::{put_with, report_job};
pub use report::judge::judge;
pub use report::{Report, SafetyReport, ShownHost, ShownReplica, SpreadReport, SurvivesReport, Violation};
pub use rows::{
    Neighbourhood, Page, StoredPage, StoredWorkload, fetch, fetch_with_neighbours, list_stored, named, neighbour_rows,
    replica_rows, taken, workload_rows,
};
pub use spec::{AffinityRule, Role, Spec, SpecRule, SpreadRule, WithinRule};
pub use time::{ended_by, too_long, until, whole};

/// `PUT /v1/workloads/{uuid}`.
#[derive(Debug, Clone)]
pub struct Put {
    /// In lower case with dashes.
    pub uuid: String,
    pub name: String,
    pub owner: Owner,
    /// Whether a refusal may describe workloads of foreign projects.
    pub sees_others: bool,
    /// The generation that the caller knows; `None` if the workload must be new.
    pub generation: Option<i64>,
    pub spec: Spec,
    /// The stored form of the spec.
    pub body: String,
    /// All ids. `None` if the caller names no ids.
    pub ids: Option<Vec<String>>,
    pub adopted: Vec<Adopted>,
    /// Pairs of ids whose replicas exchange their roles.
    pub swaps: Vec<[String; 2]>,
    /// Whether replicas on lost hosts give up their places and are placed again.
    pub replaces_lost: bool,
    /// Whether all new replicas are placed or none.
    pub is_atomic: bool,
    /// Whether the request repeats the stored spec. If so, nothing is written unless a replica gets a place.
    pub is_retry: bool,
    /// Whether the answer is only foreseen, and nothing is written.
    pub is_dry_run: bool,
}

/// How a workload is deleted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delete {
    /// Also if rules of other workloads name the workload.
    pub is_forced: bool,
    /// Whether the answer is only foreseen, and nothing is written.
    pub is_dry_run: bool,
}

/// A deleted workload, and the replicas that lost their allocations. A dry run releases no replica.
#[derive(Debug)]
pub struct Deleted {
    pub row: WorkloadRow,
    pub released: Vec<Replica>,
}

impl Deleted {
    /// An adopted consumer keeps its allocations.
    fn of(stored: StoredWorkload) -> Deleted {
        let StoredWorkload { row, mut replicas } = stored;
        replicas.retain(|it| !it.row.is_adopted && it.is_placed());
        Deleted {
            row,
            released: replicas,
        }
    }
}

/// A consumer that becomes a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// Uuid.
    pub consumer: String,
    /// `None`: the next free id.
    pub id: Option<String>,
    /// `None`: the first role that lacks a replica.
    pub role: Option<String>,
}

/// A row of `placet_workloads`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadRow {
    pub uuid: String,
    pub name: String,
    pub project: String,
    pub user: String,
    pub generation: i64,
    /// The version of the roles' queries and payloads, which rises with each change.
    pub revision: i64,
    pub body: Arc<str>,
    /// Counts changes of workloads whose rules name this workload, from a random number on: see `Incarnation`.
    pub named: i64,
}

impl WorkloadRow {
    /// The spec, in the form that `read` returns.
    ///
    /// # Errors
    /// [`Error::Internal`] if this version of placet cannot read the spec.
    pub fn spec<T>(&self, read: fn(&str) -> Result<T>) -> Result<T> {
        read(&self.body).map_err(|error| Error::Internal {
            detail: format!("the body of workload {} cannot be read: {error}", self.uuid),
        })
    }
}

/// Tells a workload from earlier workloads with the same uuid, whose generations began at 1, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incarnation(i64);

/// The low bits of [`WorkloadRow::named`], which count. After an overflow the workload looks like a new incarnation:
/// plans on the earlier count are made again.
const NAMED_COUNT_BITS: u32 = 20;

impl Incarnation {
    pub fn random() -> Incarnation {
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        Incarnation((random >> (NAMED_COUNT_BITS + 2)) as i64)
    }

    /// The incarnation of the workload with this [`WorkloadRow::named`].
    pub fn of(named: i64) -> Incarnation {
        Incarnation(named >> NAMED_COUNT_BITS)
    }

    /// The first and the last [`WorkloadRow::named`] of the incarnation.
    pub fn range(self) -> (i64, i64) {
        let first = self.0 << NAMED_COUNT_BITS;
        (first, first + (1 << NAMED_COUNT_BITS) - 1)
    }
}

/// A workload that a rule ties to the planned workload, in the state that the plan saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    pub uuid: String,
    /// `None` if the workload did not exist.
    pub generation: Option<i64>,
    pub incarnation: Incarnation,
}

impl Neighbour {
    pub fn of(row: &WorkloadRow) -> Neighbour {
        Neighbour {
            uuid: row.uuid.clone(),
            generation: Some(row.generation),
            incarnation: Incarnation::of(row.named),
        }
    }

    /// A deleted workload that a rule names.
    pub fn missing(uuid: &str) -> Neighbour {
        Neighbour {
            uuid: uuid.to_owned(),
            generation: None,
            incarnation: Incarnation::of(0),
        }
    }
}

/// A row of `placet_replicas`, without the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRow {
    /// Unique in the workload.
    pub id: String,
    /// Uuid.
    pub consumer: String,
    pub role: String,
    /// The workload's revision when the replica got the place or the role.
    pub revision: i64,
    pub is_adopted: bool,
}

/// A replica with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub row: ReplicaRow,
    /// The consumer's generation; `None` if the consumer does not exist.
    pub generation: Option<i64>,
    /// By provider. Empty if the replica is pending.
    pub allocations: Vec<ProviderShare>,
}

impl Replica {
    pub fn is_placed(&self) -> bool {
        !self.allocations.is_empty()
    }
}

/// How many of these replicas have a place, and how many lack a place.
pub fn placed_and_pending<'a>(replicas: impl Iterator<Item = &'a Replica> + Clone) -> (usize, usize) {
    let placed = replicas.clone().filter(|replica| replica.is_placed()).count();
    (placed, replicas.count() - placed)
}

/// A command: the rows of a workload, and the consumers to claim for or to release.
#[derive(Debug, Clone, Default)]
pub struct Set {
    pub uuid: String,
    /// The generation of the row on which the command was planned; `None` if there was no row.
    pub known: Option<i64>,
    /// [`WorkloadRow::named`] of the same row.
    pub named: i64,
    /// The workloads that the rules name.
    pub neighbours: Vec<Neighbour>,
    /// Of a new workload: the workloads whose rules already name the uuid.
    pub referrers: Vec<Neighbour>,
    /// `None` deletes the workload. [`WorkloadRow::named`] is written only for a new workload.
    pub row: Option<Box<WorkloadRow>>,
    pub replicas: Vec<ReplicaRow>,
    /// Consumers that stay unchanged, with the generations in the plan.
    pub standing: Vec<(String, Option<i64>)>,
    /// Consumers that lose their allocations, with their generations.
    pub released: Vec<(String, i64)>,
    /// Consumers that get a place.
    pub placed: Vec<ConsumerChoice>,
    /// The consumers of `replicas` that this command adopts.
    pub adopted: Vec<String>,
    /// The lost hosts whose replicas give up their places.
    pub lost: Vec<LostHost>,
    /// The hosts on which the plan of `placed` rests.
    pub hosts: Vec<PlannedHost>,
}

/// A host, and the domains of the host in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedHost {
    /// Uuid.
    pub host: String,
    /// The host's path in each dimension that a rule names.
    pub domains: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// Whether no replica gets a place on the host. If so, no claim guards the domains.
    pub is_unclaimed: bool,
}

/// A host whose replicas give up their places, because the host is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostHost {
    /// Uuid.
    pub host: String,
    /// The state in the plan: lost, or unknown for longer than the spec's `lost_after`.
    pub state: ProviderState,
}

/// The answer to [`Set`]: the places of the consumers of `placed`, in the same order.
pub type SetAnswer = Arc<[ClaimedConsumer]>;

impl Set {
    /// An estimate of the rows to write.
    pub fn rows(&self) -> usize {
        let rows = |choice: &ConsumerChoice| {
            let candidates = choice.candidates.list.iter();
            let rows = candidates.map(|it| it.allocations.iter().map(|(_, all)| all.len()).sum::<usize>());
            1 + rows.max().unwrap_or_default()
        };
        1 + self.replicas.len() + self.released.len() + self.placed.iter().map(rows).sum::<usize>()
    }
}
