//! How many more consumers of a query fit (`/v1/capacity`): in all, and by aggregate, domain or host.

pub mod loss;

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use super::Model;
use super::domains::{go_on, prefixes, search_version};
use super::pages::PAGE_BYTES;
use super::reads::unknown_names::Names;
use crate::caller::CallerKey;
use crate::error::Result;
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::capacity::{Capacity, FitCount};
use crate::search::{Purpose, Request, SearchSettings, Slot, Snapshot};

/// A question for room.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityQuestion {
    pub request: Request,
    pub purpose: Purpose,
    /// The room of each part of the cloud, too.
    pub by: Option<PageOfParts>,
}

/// The length of a part in an answer without the texts, and of a class without the name.
const PART_BYTES: usize = 150;
const CLASS_BYTES: usize = 100;

/// A page of the parts of a cloud, by their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOfParts {
    pub kind: CloudPartKind,
    pub limit: usize,
    /// The key after which the page begins.
    pub after: Option<String>,
}

/// The parts of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudPartKind {
    /// By uuid. A host is in each aggregate of its root.
    Aggregate,
    /// The domains of a dimension, by path. A host is in its domain, and in all domains around.
    Domain(String),
    /// The hosts, by uuid.
    Provider,
}

/// The room in a cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityReport {
    pub all: RoomReport,
    /// The parts of the page, by key. `None` if the question is not by parts.
    pub parts: Option<RoomByKey>,
    /// The key of the part after which the next page begins.
    pub next: Option<String>,
}

/// The room of parts, by key.
pub type RoomByKey = Vec<(String, RoomReport)>;

/// The room on some hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomReport {
    /// The name of the host, if the room is of a single host.
    pub name: Option<String>,
    /// The number of hosts that can serve the query if room does not count.
    pub hosts: usize,
    /// Within the limits of the purpose.
    pub count: ConsumerBounds,
    /// Within the capacity, if a class has a normal limit.
    pub hard: Option<ConsumerBounds>,
    pub classes: Vec<FreeClass>,
}

/// The number of further consumers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerBounds {
    /// As many fit.
    pub found: u64,
    /// No more fit. `None` without a bound.
    pub most: Option<u64>,
    /// Whether both numbers are equal.
    pub is_exact: bool,
    /// The class that ends first on most hosts, or in the pools.
    pub limited_by: Option<Arc<str>>,
}

/// The free amount of a class within the limits of the purpose, on hosts with the providers below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeClass {
    pub class: Arc<str>,
    pub requested: i64,
    /// `None` if a provider has no limit.
    pub sum: Option<i64>,
    /// On a single provider. `None` without a limit.
    pub largest: Option<i64>,
}

impl RoomReport {
    /// The approximate length in the answer.
    fn bytes(&self) -> usize {
        let names = self.classes.iter().map(|free| CLASS_BYTES + free.class.len());
        PART_BYTES + self.name.as_ref().map_or(0, String::len) + names.sum::<usize>()
    }
}

/// Counts room.
///
/// # Errors
/// [`crate::error::Error::UnknownClassInQuery`] and the like for unknown names. [`crate::error::Error::Busy`] if too
/// many searches wait, or if the search takes longer than a command may. Errors of the database.
pub async fn report(
    model: &Model,
    question: CapacityQuestion,
    settings: SearchSettings,
    caller: &CallerKey,
) -> Result<CapacityReport> {
    let names = Names::of_candidates([&question.request]);
    let prepared = model.prepare_search(names, Duration::ZERO).await?;
    let count = move |snapshot: &Snapshot, interrupt: &Interrupt| {
        report_on(snapshot, &question, &settings.interrupted_by(interrupt))
    };
    search_version(model, prepared.snapshot, caller, count).await
}

/// As [`report`], on one version of the snapshot.
fn report_on(snapshot: &Snapshot, question: &CapacityQuestion, settings: &SearchSettings) -> Result<CapacityReport> {
    let of_capacity = Capacity::of(snapshot, &question.request, settings)?;
    let normal = snapshot
        .catalog()
        .has_normal_limits()
        .then(|| snapshot.at_normal_limits());
    let of_normal = normal
        .as_ref()
        .map(|normal| Capacity::of(normal, &question.request, settings));
    let of_normal = of_normal.transpose()?;
    let counter = RoomCounter {
        snapshot,
        settings,
        of_purpose: match &of_normal {
            Some(of_normal) if !question.purpose.may_exceed_normal() => of_normal,
            _ => &of_capacity,
        },
        of_capacity: of_normal.is_some().then_some(&of_capacity),
    };
    counter.report(question.by.as_ref())
}

/// Counts the consumers of a request.
struct RoomCounter<'a> {
    snapshot: &'a Snapshot,
    settings: &'a SearchSettings,
    /// Within the limits of the purpose.
    of_purpose: &'a Capacity<'a>,
    /// Within the capacity, if a class has a normal limit.
    of_capacity: Option<&'a Capacity<'a>>,
}

impl RoomCounter<'_> {
    fn report(&self, by: Option<&PageOfParts>) -> Result<CapacityReport> {
        let count = self.of_purpose.total(self.settings)?;
        let hard = self
            .of_capacity
            .map(|capacity| capacity.total(self.settings))
            .transpose()?;
        let all = self.room(self.of_purpose.eligible(), count, hard)?;
        let page = by.map(|page| self.page(page)).transpose()?;
        let (parts, next) = page.unzip();
        Ok(CapacityReport {
            all,
            parts,
            next: next.flatten(),
        })
    }

    /// The parts of a page, and the key after which the next page begins. A page ends with the part that brings the
    /// page to [`PAGE_BYTES`].
    fn page(&self, page: &PageOfParts) -> Result<(RoomByKey, Option<String>)> {
        let after = page.after.as_deref();
        let mut hosts_by_key = self.hosts_by_key(&page.kind)?.into_iter();
        let mut following = hosts_by_key
            .by_ref()
            .filter(|(key, _)| after.is_none_or(|after| *key > after));
        let (mut parts, mut bytes) = (Vec::new(), 0);
        while parts.len() < page.limit && bytes < PAGE_BYTES {
            let Some((key, hosts)) = following.next() else {
                return Ok((parts, None));
            };
            let part = self.part(&page.kind, &hosts)?;
            bytes += key.len() + part.bytes();
            parts.push((key.to_owned(), part));
        }
        let next = parts.last().filter(|_| following.next().is_some());
        let next = next.map(|(key, _)| key.clone());
        Ok((parts, next))
    }

    fn part(&self, kind: &CloudPartKind, hosts: &[Slot]) -> Result<RoomReport> {
        let count = self.of_purpose.on(hosts, self.settings)?;
        let hard = self
            .of_capacity
            .map(|capacity| capacity.on(hosts, self.settings))
            .transpose()?;
        let name = match (kind, hosts) {
            (CloudPartKind::Provider, [host]) => Some(self.snapshot.name(*host).to_owned()),
            _ => None,
        };
        Ok(RoomReport {
            name,
            ..self.room(hosts, count, hard)?
        })
    }

    fn room(&self, hosts: &[Slot], count: FitCount, hard: Option<FitCount>) -> Result<RoomReport> {
        let name = |class| self.snapshot.catalog().class_name(class).cloned();
        let bounds = |count: FitCount| ConsumerBounds {
            found: count.found,
            most: (count.most < u64::MAX).then_some(count.most),
            is_exact: count.is_exact(),
            limited_by: count.limited_by.and_then(name),
        };
        let free = self.of_purpose.free(hosts, self.settings)?;
        let classes = free.into_iter().filter_map(|free| {
            let limited = |amount| (!free.is_unlimited).then_some(amount);
            Some(FreeClass {
                class: name(free.class)?,
                requested: free.requested,
                sum: limited(free.sum),
                largest: limited(free.largest),
            })
        });
        Ok(RoomReport {
            name: None,
            hosts: hosts.len(),
            count: bounds(count),
            hard: hard.map(bounds),
            classes: classes.collect(),
        })
    }

    /// The hosts that can serve the query if room does not count, by the key of their part.
    fn hosts_by_key(&self, kind: &CloudPartKind) -> Result<BTreeMap<&str, Vec<Slot>>> {
        let snapshot = self.snapshot;
        match kind {
            CloudPartKind::Provider => self.grouped(|host| iter::once(snapshot.uuid(host))),
            CloudPartKind::Domain(dimension) => self.grouped(|host| {
                snapshot
                    .domain(host, dimension)
                    .into_iter()
                    .flat_map(|path| prefixes(path))
            }),
            CloudPartKind::Aggregate => {
                // Ids are compared faster than uuids.
                let hosts_by_id = self.grouped(|host| snapshot.aggregates(host))?;
                let named = hosts_by_id.into_iter().filter_map(|(id, hosts)| {
                    let uuid = snapshot.catalog().aggregate_uuid(id)?;
                    Some((&**uuid, hosts))
                });
                Ok(named.collect())
            }
        }
    }

    /// The hosts that can serve the query if room does not count, by each of their keys.
    fn grouped<K: Ord, I: Iterator<Item = K>>(&self, keys: impl Fn(Slot) -> I) -> Result<BTreeMap<K, Vec<Slot>>> {
        let mut hosts_by_key: BTreeMap<K, Vec<Slot>> = BTreeMap::new();
        for &host in self.of_purpose.eligible() {
            let mut number = 0;
            for key in keys(host) {
                hosts_by_key.entry(key).or_default().push(host);
                number += 1;
            }
            self.settings.interrupt.spend(number / OPERATIONS_A_STEP);
            go_on(&self.settings.interrupt)?;
        }
        Ok(hosts_by_key)
    }
}
