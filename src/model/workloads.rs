//! Workloads (`/v1/workloads`): replicas with rules about where they stand to each other.
//!
//! A replica is a consumer with allocations; where it stands is read from them. So each allocation that OpenStack's
//! routes change is seen, and a replica without allocations is pending.
//!
//! - `wish`: what a workload wants; `rows`: the tables;
//! - `hosts`, `eligible_hosts`, `host_offers`: the hosts of a snapshot as `placing` asks for them;
//! - `near`: the rules of a wish as those of `placing`;
//! - `ids`: which ids replicas get; `plan`: what a request changes, decided beside the writer;
//! - `planned`: the plan as rows to write, and as a report;
//! - `admission`: whether there is normal room in sum; `refusal`: why replicas have no place;
//! - `found`: what a request reads first; `put`: a request from its first read to the answer; `pending`: another try;
//! - `in_batch`: a plan inside the batch of the writer, after several lost ones;
//! - `report`: a workload as clients see it; `listing`: many of them with the figures of their state;
//! - `unfit`: why a host is not what a role asks for; `time`: searches that end early.

mod admission;
mod eligible_hosts;
mod found;
mod host_offers;
mod hosts;
mod ids;
mod in_batch;
mod listing;
mod near;
mod pending;
mod plan;
mod planned;
mod put;
mod refusal;
mod report;
mod rows;
mod time;
mod unfit;
pub(super) mod wish;

use std::sync::Arc;

use super::allocations::{Owner, ProviderShare};
use super::claims::{ClaimedConsumer, ConsumerChoice};
pub use crate::placing::{Level, Mode, NearKind};
pub use ids::natural_order;
pub use in_batch::{PutInBatch, SetInBatch};
pub use listing::Listed;
pub use pending::PendingWorkloads;
pub use plan::PlanJob;
pub use planned::Planned;
pub use put::read_wish;
#[cfg(test)]
pub use report::ReportJob;
pub use report::{Judge, ReadWorkload, Report, ShownReplica, SpreadReport, Violation};
pub use rows::{
    Neighbourhood, Page, StoredPage, StoredWorkload, fetch_with_neighbours, list_stored, named, neighbour_rows,
    replica_rows, taken, workload_rows,
};
pub use time::{ended_by, too_long, until, whole};
pub use wish::{NearRule, ReadWish, Role, SpreadRule, Wish, WishRule};

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
    pub wish: Wish,
    /// The wish as it is stored.
    pub body: String,
    /// Reads what was stored before.
    pub read: ReadWish,
    /// All ids, if the caller names them.
    pub ids: Option<Vec<String>>,
    pub adopted: Vec<Adopted>,
    /// Pairs of ids whose replicas exchange their roles.
    pub swaps: Vec<[String; 2]>,
    /// Whether all new replicas are placed or none.
    pub is_atomic: bool,
    /// Whether it asks once more for what is stored. Then nothing is written unless a replica gets a place.
    pub is_retry: bool,
    /// Whether the answer is only foreseen, and nothing is written.
    pub is_dry_run: bool,
}

/// How a workload is deleted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delete {
    /// Although rules of other workloads name it.
    pub is_forced: bool,
    /// Whether the answer is only foreseen, and nothing is written.
    pub is_dry_run: bool,
}

/// A consumer that becomes a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// Uuid.
    pub consumer: String,
    /// `None`: the next free one.
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
    /// The number of the roles' queries and payloads: it rises if one of them changes.
    pub revision: i64,
    pub body: Arc<str>,
    /// How often workloads whose rules name it changed, above a random number that it began with: `Incarnation`.
    pub named: i64,
}

/// Which of the workloads that had a uuid one after the other. Generations begin at 1 again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incarnation(i64);

/// The bits of [`WorkloadRow::named`] that count. If the count goes beyond them the workload seems to be another one:
/// then plans that saw it before are made again.
const NAMED_COUNT_BITS: u32 = 20;

impl Incarnation {
    pub fn random() -> Incarnation {
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        Incarnation((random >> (NAMED_COUNT_BITS + 2)) as i64)
    }

    /// Of a workload by its [`WorkloadRow::named`].
    pub fn of(named: i64) -> Incarnation {
        Incarnation(named >> NAMED_COUNT_BITS)
    }

    /// The first and the last [`WorkloadRow::named`] that it has.
    pub fn range(self) -> (i64, i64) {
        let first = self.0 << NAMED_COUNT_BITS;
        (first, first + (1 << NAMED_COUNT_BITS) - 1)
    }
}

/// Another workload as a plan saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    pub uuid: String,
    /// `None` if it did not exist.
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

    /// One that was deleted although a rule names it.
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
    /// Of the workload when the replica got its place or its role.
    pub revision: i64,
    pub is_adopted: bool,
}

/// A replica with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub row: ReplicaRow,
    /// The consumer's generation; `None` if there is no such consumer.
    pub generation: Option<i64>,
    /// What it has, by provider; empty if it is pending.
    pub allocations: Vec<ProviderShare>,
}

impl Replica {
    pub fn is_placed(&self) -> bool {
        !self.allocations.is_empty()
    }
}

/// The rows of one workload after a command, and the consumers that it claims for or releases.
#[derive(Debug, Clone)]
pub struct Set {
    pub uuid: String,
    /// The generation of the row on which the command was planned; `None`: there was none.
    pub known: Option<i64>,
    /// [`WorkloadRow::named`] of that row.
    pub named: i64,
    /// The workloads that the rules name.
    pub neighbours: Vec<Neighbour>,
    /// Of a new workload: those whose rules name it already.
    pub namers: Vec<Neighbour>,
    /// `None` deletes the workload. Its [`WorkloadRow::named`] is written if there was none.
    pub row: Option<Box<WorkloadRow>>,
    pub replicas: Vec<ReplicaRow>,
    /// Consumers that stay as they are, with the generations that the plan saw.
    pub standing: Vec<(String, Option<i64>)>,
    /// Consumers that lose their allocations, with their generations.
    pub released: Vec<(String, i64)>,
    /// Consumers that get a place.
    pub placed: Vec<ConsumerChoice>,
    /// Those of `replicas` that are adopted now.
    pub adopted: Vec<String>,
    /// The hosts on which the plan of `placed` rests.
    pub hosts: Vec<PlannedHost>,
}

/// A host, and the domains in which a plan saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedHost {
    /// Uuid.
    pub host: String,
    /// Paths by dimension, of the dimensions that rules name.
    pub domains: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// Whether no replica gets a place there, so that no claim guards the domains.
    pub is_unclaimed: bool,
}

/// The answer to [`Set`]: what the consumers of `placed` got, in their order.
pub type SetAnswer = Arc<[ClaimedConsumer]>;

impl Set {
    /// About how many rows it writes.
    pub fn rows(&self) -> usize {
        let rows = |choice: &ConsumerChoice| {
            let candidates = choice.candidates.list.iter();
            let rows = candidates.map(|it| it.allocations.iter().map(|(_, all)| all.len()).sum::<usize>());
            1 + rows.max().unwrap_or_default()
        };
        1 + self.replicas.len() + self.released.len() + self.placed.iter().map(rows).sum::<usize>()
    }
}
