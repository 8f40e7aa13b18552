//! Providers that are used above a limit although no workload lists the violation: no replica has allocations of the
//! class there.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use diesel::prelude::*;

use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, placet_replicas as replicas};
use crate::error::{Reason, Result};
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::model::domains::{go_on, search_version};
use crate::model::overuse::{Overuse, UsageLimits};
use crate::model::reads::reader::Reader;
use crate::placing::Level;
use crate::search::Snapshot;

/// The overuses to list.
#[derive(Debug, Clone)]
pub struct OveruseFilter {
    /// The uuid of a provider: only overuses of the provider, or of the tree below this root.
    pub provider: Option<String>,
    pub level: Option<Level>,
    /// The most providers and classes. As many are compared with the allocations of replicas at once.
    pub most: usize,
}

impl Default for OveruseFilter {
    fn default() -> Self {
        OveruseFilter {
            provider: None,
            level: None,
            most: 1_000,
        }
    }
}

/// A provider with a class that is used above a limit.
#[derive(Debug, Clone)]
pub struct OverusedProvider {
    pub level: Level,
    pub reason: Reason,
    /// The root of the provider: uuid and name.
    pub host: (String, String),
}

/// The overused classes of providers, as far as no replica of a workload has allocations of the class: those overuses
/// are violations of the workload. Hard violations come first, in the order of the uuids of providers.
///
/// # Errors
/// Of the database. [`crate::error::Error::Busy`] if too many searches wait.
pub async fn without_replicas(
    model: &Model,
    reader: &Reader,
    wanted: OveruseFilter,
    caller: &CallerKey,
) -> Result<Vec<OverusedProvider>> {
    let snapshot = model.snapshot().await?;
    let most = wanted.most;
    let search = move |snapshot: &Snapshot, interrupt: &Interrupt| overuses(snapshot, &wanted, interrupt);
    let overuses = search_version(model, Arc::clone(&snapshot), caller, search).await?;
    let mut found: Vec<OverusedProvider> = Vec::new();
    for overuses in overuses.chunks(most.max(1)) {
        let pairs: Vec<(i32, i32)> = overuses.iter().map(|it| pair(&snapshot, it)).collect();
        let covered = reader.clone().read(move |conn| used_by_replicas(conn, &pairs)).await?;
        let limits = UsageLimits::of(&snapshot);
        let others = overuses.iter().filter(|it| !covered.contains(&pair(&snapshot, it)));
        found.extend(others.map(|overuse| {
            let root = snapshot.root(overuse.slot);
            OverusedProvider {
                level: overuse.level,
                reason: limits.reason(overuse),
                host: (snapshot.uuid(root).to_owned(), snapshot.name(root).to_owned()),
            }
        }));
        if found.len() >= most {
            found.truncate(most);
            break;
        }
    }
    Ok(found)
}

/// The ids of the provider and of the class.
fn pair(snapshot: &Snapshot, overuse: &Overuse) -> (i32, i32) {
    (snapshot.id(overuse.slot).0, overuse.class.0)
}

fn overuses(snapshot: &Snapshot, wanted: &OveruseFilter, interrupt: &Interrupt) -> Result<Vec<Overuse>> {
    let limits = UsageLimits::of(snapshot);
    let only = wanted.provider.as_deref().map(|uuid| snapshot.by_uuid(uuid));
    let mut found: Vec<Overuse> = Vec::new();
    for slot in snapshot.iter() {
        go_on(interrupt)?;
        if only.is_some_and(|only| only != Some(slot) && only != Some(snapshot.root(slot))) {
            continue;
        }
        let overuses = limits.of_provider(slot);
        found.extend(overuses.filter(|overuse| wanted.level.is_none_or(|level| overuse.level == level)));
    }
    found.sort_by_cached_key(|overuse| (overuse.level != Level::Hard, snapshot.uuid(overuse.slot)));
    Ok(found)
}

/// The providers and classes, among these pairs, of which a replica of a workload has allocations.
fn used_by_replicas(conn: &mut DbConnection, pairs: &[(i32, i32)]) -> Result<HashSet<(i32, i32)>> {
    let providers: BTreeSet<i32> = pairs.iter().map(|(provider, _)| *provider).collect();
    let providers: Vec<i32> = providers.into_iter().collect();
    let classes: BTreeSet<i32> = pairs.iter().map(|(_, class)| *class).collect();
    let classes: Vec<i32> = classes.into_iter().collect();
    let used: Vec<(i32, i32)> = in_lists(&providers, |providers| {
        allocations::table
            .inner_join(replicas::table.on(replicas::consumer_id.eq(allocations::consumer_id)))
            .filter(allocations::resource_provider_id.eq_any(providers))
            .filter(allocations::resource_class_id.eq_any(&classes))
            .select((allocations::resource_provider_id, allocations::resource_class_id))
            .distinct()
            .load(&mut *conn)
    })?;
    Ok(used.into_iter().collect())
}
