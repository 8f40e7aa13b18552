//! The consumers of a domain that would find no place elsewhere if the domain were lost (`GET /v1/capacity?without=`).
//!
//! The amounts of a consumer on hosts of the domain are placed on one host outside. Amounts on sharing providers stay,
//! so the host must be in an aggregate of each sharing provider of the consumer. Consumers with the largest amounts
//! come first, and each gets the fullest host with room, so that later consumers find large holes. Traits and the rules
//! of workloads are not known from allocations, and do not count.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use diesel::prelude::*;

use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, consumers, placet_replicas, placet_workloads, projects, resource_providers};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::domains::{go_on, lies_in_any, search_version};
use crate::model::{Model, Reader};
use crate::search::{
    CandidateSequence, ClassId, Domain, Group, HostConditions, MemberOf, PlannedUsage, ProviderId, Request, Scoring,
    SearchSettings, Snapshot, Traits,
};

/// The most allocations of a domain.
const MAX_ALLOCATIONS: usize = 200_000;
/// The most consumers without a place in a report.
const MAX_LISTED: usize = 1_000;

/// What the loss of a domain leaves without a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossReport {
    /// The number of hosts in the domain.
    pub hosts: usize,
    /// The number of consumers with allocations on these hosts.
    pub consumers: usize,
    /// The number of consumers with a place elsewhere.
    pub placed: usize,
    /// The first consumers without a place, by uuid.
    pub without_place: Vec<DisplacedConsumer>,
}

/// A consumer on hosts of the domain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DisplacedConsumer {
    pub uuid: String,
    pub project: String,
    /// By name of class, on the hosts of the domain.
    pub amounts: Vec<(Arc<str>, i64)>,
    /// The workload and the id of the replica, if the consumer is a replica.
    pub replica: Option<ReplicaName>,
}

/// The name of a replica.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplicaName {
    /// The uuid of the workload.
    pub workload: String,
    pub workload_name: String,
    pub id: String,
}

/// The amounts of a consumer, by class.
type AmountsByClass = Vec<(ClassId, i64)>;

/// The need of a consumer outside of the domain. Consumers of equal needs are placed together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Need {
    amounts: AmountsByClass,
    /// The sharing providers on which the consumer has amounts, too.
    pools: BTreeSet<ProviderId>,
}

/// Finds which consumers of the domain have no place elsewhere.
///
/// # Errors
/// [`Error::BadRequest`] for a domain without a host, or with more than [`MAX_ALLOCATIONS`]. [`Error::Busy`] if too
/// many searches wait, or if the search takes longer than a command may. Errors of the database.
pub async fn loss(model: &Model, domain: Domain, settings: SearchSettings, caller: &CallerKey) -> Result<LossReport> {
    let snapshot = model.snapshot().await?;
    let searched = domain.clone();
    let find = move |snapshot: &Snapshot, interrupt: &Interrupt| providers_in(snapshot, &searched, interrupt);
    let (hosts, providers) = search_version(model, Arc::clone(&snapshot), caller, find).await?;
    if hosts == 0 {
        return Err(Error::BadRequest {
            detail: format!(
                "without: no host is in {}:{}. GET /v1/domains lists the domains of a dimension.",
                domain.dimension, domain.path
            ),
        });
    }
    let mut displaced = displaced(model.reader(false), providers).await?;
    if snapshot.has_sharing() {
        displaced = with_pools(model.reader(false), Arc::clone(&snapshot), displaced).await?;
    }
    let consumers = displaced.len();
    let moved = Arc::clone(&snapshot);
    let place = move |_: &Snapshot, interrupt: &Interrupt| {
        without_place(&moved, &domain, &displaced, &settings.interrupted_by(interrupt))
    };
    let without = search_version(model, Arc::clone(&snapshot), caller, place).await?;
    let placed = consumers - without.len();
    let listed = named(model.reader(false), snapshot, without).await?;
    Ok(LossReport {
        hosts,
        consumers,
        placed,
        without_place: listed,
    })
}

/// The number of hosts in the domain, and the uuids of the hosts with the providers below.
fn providers_in(snapshot: &Snapshot, domain: &Domain, interrupt: &Interrupt) -> Result<(usize, Vec<String>)> {
    let (mut hosts, mut providers) = (0, Vec::new());
    for host in snapshot.iter().filter(|slot| snapshot.is_host(*slot)) {
        go_on(interrupt)?;
        if lies_in_any(snapshot, host, &domain.dimension, &[&domain.path]) {
            hosts += 1;
            providers.extend(
                snapshot
                    .tree(host)
                    .into_iter()
                    .map(|slot| snapshot.uuid(slot).to_owned()),
            );
        }
    }
    Ok((hosts, providers))
}

/// The amounts of each consumer on these providers.
async fn displaced(reader: Reader, providers: Vec<String>) -> Result<BTreeMap<String, Need>> {
    let read = reader.read(move |conn| {
        let limit = i64::try_from(MAX_ALLOCATIONS).unwrap_or(i64::MAX).saturating_add(1);
        let rows: Vec<(String, i32, i32)> = in_lists(&providers, |uuids| {
            allocations::table
                .inner_join(resource_providers::table.on(resource_providers::id.eq(allocations::resource_provider_id)))
                .filter(resource_providers::uuid.eq_any(uuids))
                .select((
                    allocations::consumer_id,
                    allocations::resource_class_id,
                    allocations::used,
                ))
                .limit(limit)
                .load(&mut *conn)
        })?;
        if rows.len() > MAX_ALLOCATIONS {
            return Err(Error::BadRequest {
                detail: format!(
                    "without: the domain has more than {MAX_ALLOCATIONS} allocations. Name a smaller domain."
                ),
            });
        }
        let mut found: BTreeMap<String, BTreeMap<ClassId, i64>> = BTreeMap::new();
        for (consumer, class, used) in rows {
            *found.entry(consumer).or_default().entry(ClassId(class)).or_default() += i64::from(used);
        }
        let needs = found.into_iter().map(|(consumer, amounts)| {
            let amounts = amounts.into_iter().collect();
            let pools = BTreeSet::new();
            (consumer, Need { amounts, pools })
        });
        Ok(needs.collect())
    });
    read.await
}

/// The needs with the sharing providers of each consumer.
async fn with_pools(
    reader: Reader,
    snapshot: Arc<Snapshot>,
    needs: BTreeMap<String, Need>,
) -> Result<BTreeMap<String, Need>> {
    let read = reader.read(move |conn| {
        let consumers: Vec<&str> = needs.keys().map(String::as_str).collect();
        let rows: Vec<(String, i32)> = in_lists(&consumers, |consumers| {
            allocations::table
                .filter(allocations::consumer_id.eq_any(consumers))
                .select((allocations::consumer_id, allocations::resource_provider_id))
                .load(&mut *conn)
        })?;
        let mut needs = needs.clone();
        for (consumer, provider) in rows {
            let provider = ProviderId(provider);
            let is_pool = snapshot.by_id(provider).is_some_and(|slot| snapshot.is_sharing(slot));
            if let Some(need) = needs.get_mut(&consumer).filter(|_| is_pool) {
                need.pools.insert(provider);
            }
        }
        Ok(needs)
    });
    read.await
}

/// The consumers without a place, each with the amounts. Groups with larger amounts come first.
fn without_place(
    snapshot: &Arc<Snapshot>,
    domain: &Domain,
    displaced: &BTreeMap<String, Need>,
    settings: &SearchSettings,
) -> Result<Vec<(String, AmountsByClass)>> {
    let mut by_need: HashMap<&Need, Vec<&String>> = HashMap::new();
    for (consumer, need) in displaced {
        go_on(&settings.interrupt)?;
        by_need.entry(need).or_default().push(consumer);
    }
    let mut groups: Vec<(&Need, Vec<&String>)> = by_need.into_iter().collect();
    let largest = largest_capacities(snapshot, &settings.interrupt)?;
    let share = |need: &Need| {
        let shares = need
            .amounts
            .iter()
            .map(|(class, amount)| *amount as f64 / largest.get(class).copied().unwrap_or_default().max(1) as f64);
        shares.fold(0.0, f64::max)
    };
    groups.sort_by(|(one, _), (other, _)| share(other).total_cmp(&share(one)).then_with(|| one.cmp(other)));
    let mut usage = PlannedUsage::new(Arc::clone(snapshot));
    let mut without = Vec::new();
    for (need, group) in groups {
        let request = request(snapshot, domain, need);
        let mut sequence = CandidateSequence::new(&request, Some(Scoring::Fullest), settings.clone(), group.len(), 0);
        for consumer in group {
            go_on(&settings.interrupt)?;
            let Some((_, candidate)) = sequence.next(&mut usage)? else {
                without.push((consumer.clone(), need.amounts.clone()));
                continue;
            };
            let placements = candidate.placements.clone();
            let change = usage.add(&placements);
            sequence.note(&change);
        }
    }
    without.sort_unstable();
    Ok(without)
}

/// The largest capacity of a provider, by class.
fn largest_capacities(snapshot: &Snapshot, interrupt: &Interrupt) -> Result<HashMap<ClassId, i64>> {
    let mut largest: HashMap<ClassId, i64> = HashMap::new();
    for slot in snapshot.iter() {
        go_on(interrupt)?;
        for (class, inventory, _) in snapshot.inventories(slot) {
            let known = largest.entry(class).or_default();
            *known = inventory.limit().max(*known);
        }
    }
    Ok(largest)
}

/// A request for the amounts on one host outside of the domain, in reach of the sharing providers.
fn request(snapshot: &Snapshot, domain: &Domain, need: &Need) -> Request {
    let resources = need.amounts.iter().filter_map(|(class, amount)| {
        let name = snapshot.catalog().class_name(*class)?;
        Some((name.to_string(), *amount))
    });
    Request {
        groups: vec![Group {
            resources: resources.collect(),
            member_of: MemberOf {
                any_of: need.pools.iter().map(|pool| aggregates_of(snapshot, *pool)).collect(),
                ..MemberOf::default()
            },
            ..Group::default()
        }],
        group_policy: None,
        same_subtrees: Vec::new(),
        root_required: Traits::default(),
        host: HostConditions {
            not_in_domains: vec![domain.clone()],
            only_up: true,
            ..HostConditions::default()
        },
        limit: None,
        nested: true,
    }
}

/// The uuids of the aggregates of a provider.
fn aggregates_of(snapshot: &Snapshot, provider: ProviderId) -> BTreeSet<String> {
    let aggregates = snapshot
        .by_id(provider)
        .into_iter()
        .flat_map(|slot| snapshot.aggregates(slot));
    let uuids = aggregates.filter_map(|id| snapshot.catalog().aggregate_uuid(id));
    uuids.map(|uuid| uuid.to_string()).collect()
}

/// The first consumers with their projects, and with the names of replicas.
async fn named(
    reader: Reader,
    snapshot: Arc<Snapshot>,
    mut without: Vec<(String, AmountsByClass)>,
) -> Result<Vec<DisplacedConsumer>> {
    without.truncate(MAX_LISTED);
    if without.is_empty() {
        return Ok(Vec::new());
    }
    let read = reader.read(move |conn| {
        let uuids: Vec<String> = without.iter().map(|(consumer, _)| consumer.clone()).collect();
        let projects = projects_of(conn, &uuids)?;
        let mut replicas = replicas_of(conn, &uuids)?;
        let listed = without.iter().map(|(consumer, amounts)| {
            let amounts = amounts
                .iter()
                .filter_map(|(class, amount)| Some((snapshot.catalog().class_name(*class)?.clone(), *amount)));
            DisplacedConsumer {
                uuid: consumer.clone(),
                project: projects.get(consumer).cloned().unwrap_or_default(),
                amounts: amounts.collect(),
                replica: replicas.remove(consumer),
            }
        });
        Ok(listed.collect())
    });
    read.await
}

fn projects_of(conn: &mut DbConnection, uuids: &[String]) -> Result<HashMap<String, String>> {
    let found: Vec<(String, String)> = in_lists(uuids, |uuids| {
        consumers::table
            .inner_join(projects::table.on(projects::id.eq(consumers::project_id)))
            .filter(consumers::uuid.eq_any(uuids))
            .select((consumers::uuid, projects::external_id))
            .load(&mut *conn)
    })?;
    Ok(found.into_iter().collect())
}

fn replicas_of(conn: &mut DbConnection, uuids: &[String]) -> Result<HashMap<String, ReplicaName>> {
    let replicas: Vec<(String, String, String)> = in_lists(uuids, |uuids| {
        placet_replicas::table
            .filter(placet_replicas::consumer_id.eq_any(uuids))
            .select((
                placet_replicas::consumer_id,
                placet_replicas::workload,
                placet_replicas::replica,
            ))
            .load(&mut *conn)
    })?;
    let workloads: Vec<String> = replicas.iter().map(|(_, workload, _)| workload.clone()).collect();
    let names: Vec<(String, String)> = in_lists(&workloads, |workloads| {
        placet_workloads::table
            .filter(placet_workloads::uuid.eq_any(workloads))
            .select((placet_workloads::uuid, placet_workloads::name))
            .load(&mut *conn)
    })?;
    let names: HashMap<String, String> = names.into_iter().collect();
    let named = replicas.into_iter().map(|(consumer, workload, id)| {
        let name = ReplicaName {
            workload_name: names.get(&workload).cloned().unwrap_or_default(),
            workload,
            id,
        };
        (consumer, name)
    });
    Ok(named.collect())
}
