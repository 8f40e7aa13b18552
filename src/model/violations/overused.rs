//! Providers that are used above a limit although no workload lists the violation: no replica has allocations of the
//! class there.

use std::collections::HashSet;

use diesel::prelude::*;

use crate::db::DbConnection;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, resource_classes};
use crate::error::{Reason, Result};
use crate::interrupt::Interrupt;
use crate::model::domains::{go_on, search_hosts};
use crate::model::overuse::Limits;
use crate::model::reads::reader::Reader;
use crate::model::{Model, workloads};
use crate::placing::Level;
use crate::pools::CallerKey;
use crate::search::{ProviderId, Snapshot};

/// The most providers and classes above their limits that a list of violations has.
const LISTED_MAX: usize = 1_000;

/// A provider with a class that is used above a limit.
#[derive(Debug, Clone)]
pub struct OverusedProvider {
    id: ProviderId,
    pub level: Level,
    pub reason: Reason,
    /// The root of the provider: uuid and name.
    pub host: (String, String),
}

/// The overused classes of providers, as far as no replica of a workload has allocations of the class: those overuses
/// are violations of the workload. Of `provider` alone, if there is one. The first [`LISTED_MAX`] overuses are looked at,
/// hard violations first, in the order of the uuids of providers.
///
/// # Errors
/// Of the database. [`crate::error::Error::Busy`] if too many searches wait.
pub async fn without_replicas(
    model: &Model,
    reader: &Reader,
    provider: Option<String>,
    caller: &CallerKey,
) -> Result<Vec<OverusedProvider>> {
    let search =
        move |snapshot: &Snapshot, interrupt: &Interrupt| overused_providers(snapshot, provider.as_deref(), interrupt);
    let mut found = search_hosts(model, caller, search).await?;
    if found.is_empty() {
        return Ok(found);
    }
    let ids: Vec<i32> = found.iter().map(|overused| overused.id.0).collect();
    let covered = reader.clone().read(move |conn| used_by_replicas(conn, &ids)).await?;
    found.retain(|overused| {
        let class = overused.reason.resource_class.clone().unwrap_or_default();
        !covered.contains(&(overused.id.0, class))
    });
    Ok(found)
}

fn overused_providers(
    snapshot: &Snapshot,
    provider: Option<&str>,
    interrupt: &Interrupt,
) -> Result<Vec<OverusedProvider>> {
    let limits = Limits::of(snapshot);
    let only = provider.map(|uuid| snapshot.by_uuid(uuid));
    let mut found: Vec<OverusedProvider> = Vec::new();
    for slot in snapshot.iter() {
        go_on(interrupt)?;
        let root = snapshot.root(slot);
        if only.is_some_and(|only| only != Some(slot) && only != Some(root)) {
            continue;
        }
        found.extend(limits.of_provider(slot).map(|overuse| OverusedProvider {
            id: snapshot.id(slot),
            level: overuse.level,
            reason: limits.reason(&overuse),
            host: (snapshot.uuid(root).to_owned(), snapshot.name(root).to_owned()),
        }));
    }
    let key = |it: &OverusedProvider| (it.level != Level::Hard, it.reason.resource_provider.clone());
    found.sort_by_cached_key(key);
    found.truncate(LISTED_MAX);
    Ok(found)
}

/// The providers and classes, among these providers, of which a replica of a workload has allocations.
fn used_by_replicas(conn: &mut DbConnection, providers: &[i32]) -> Result<HashSet<(i32, String)>> {
    let rows: Vec<(i32, String, String)> = in_lists(providers, |providers| {
        allocations::table
            .inner_join(resource_classes::table.on(resource_classes::id.eq(allocations::resource_class_id)))
            .filter(allocations::resource_provider_id.eq_any(providers))
            .select((
                allocations::resource_provider_id,
                resource_classes::name,
                allocations::consumer_id,
            ))
            .load(&mut *conn)
    })?;
    let consumers: Vec<&str> = rows.iter().map(|(.., consumer)| consumer.as_str()).collect();
    let taken = workloads::taken(conn, &consumers)?;
    let of_replicas = rows.iter().filter(|(.., consumer)| taken.contains_key(consumer));
    Ok(of_replicas
        .map(|(provider, class, _)| (*provider, class.clone()))
        .collect())
}
