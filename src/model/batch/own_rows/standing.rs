//! Reads the replicas on the hosts whose domains the commands of a batch change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::db::{DbConnection, DbResult};
use crate::model::batch::base::Base;
use crate::model::batch::entry::Entries;
use crate::model::batch::footprint::Footprint;
use crate::model::providers::{self, DescriptionRow};
use crate::model::workloads;
use crate::search::{ProviderId, ProviderRow, SHARING_TRAIT};

/// A replica that stands on a host whose domains a command changes, before the batch.
#[derive(Debug, Clone)]
pub struct StandingReplica {
    /// The root of the tree.
    pub host: ProviderId,
    /// Uuid.
    pub consumer: String,
    /// Uuid.
    pub workload: String,
    /// The workload's spec.
    pub body: Arc<str>,
}

/// Reads the replicas after the providers are locked. The description can miss only a replica that gets its place
/// later. A sharing provider is no host, and may have the allocations of all replicas: these are not read.
pub fn read(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    base: &Base,
    descriptions: &Entries<ProviderId, DescriptionRow>,
) -> DbResult<Vec<StandingReplica>> {
    let none = BTreeMap::new();
    let sharing = base.catalog().trait_id(SHARING_TRAIT);
    let is_host = |row: &ProviderRow| {
        let is_sharing = sharing.is_some_and(|sharing| row.traits.contains(&sharing));
        row.parent.is_none() && !is_sharing
    };
    let changed = footprint.descriptions.iter().filter_map(|new| {
        let row = base.row(base.by_uuid(&new.provider)?)?;
        let before = descriptions.get(&row.id).and_then(|entry| entry.base.as_ref());
        let before = before.map_or(&none, |row| &row.description.domains);
        (is_host(&row) && new.description.domains != *before).then_some(row.id.0)
    });
    let roots: BTreeSet<i32> = changed.collect();
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let roots: Vec<i32> = roots.into_iter().collect();
    let consumers = providers::consumers_of_trees(conn, &roots)?;
    let names: Vec<&str> = consumers.iter().map(|(_, consumer)| consumer.as_str()).collect();
    let owners = workloads::taken(conn, &names)?;
    let uuids: BTreeSet<&str> = owners.values().map(String::as_str).collect();
    let rows = workloads::workload_rows(conn, &uuids.into_iter().collect::<Vec<_>>())?;
    let bodies: HashMap<String, Arc<str>> = rows.into_iter().map(|row| (row.uuid, row.body)).collect();
    let standing = consumers.into_iter().filter_map(|(host, consumer)| {
        let workload = owners.get(&consumer)?.clone();
        let body = Arc::clone(bodies.get(&workload)?);
        Some(StandingReplica {
            host,
            consumer,
            workload,
            body,
        })
    });
    Ok(standing.collect())
}
