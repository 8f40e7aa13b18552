//! Compares the snapshot with the tables, a slice of the providers at a time, and corrects the snapshot. A foreign
//! writer leaves no record in the change feed, so only this comparison finds the foreign writer's changes.
//!
//! The comparison takes no lock, and the snapshot and the slice may show two moments. So a difference is only a
//! suspicion. The suspects are read again with their whole trees and the revisions in one transaction. If a suspect
//! still differs, the snapshot was wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use diesel::prelude::*;
use tokio::sync::Mutex;

use super::store::SnapshotStore;
use super::{load, reload};
use crate::db::boot_instant::BootInstant;
use crate::db::engines::dialect;
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, ProviderRow, Snapshot};

/// The providers of a slice. The database reads them in a few milliseconds.
pub const SLICE_PROVIDERS: usize = 500;

/// When the last early comparison began. The lock is held while a comparison runs.
pub type LastComparison = Arc<Mutex<Option<BootInstant>>>;

/// The result of comparing one slice of the providers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SliceResult {
    /// The id after which the next slice begins; `None` if this slice was the last.
    pub next: Option<i32>,
    /// Uuids of providers that the snapshot showed wrongly, and that were corrected.
    pub corrected: Vec<String>,
    pub over_capacity: Vec<OverCapacity>,
}

/// A provider that has more usage of a class than capacity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverCapacity {
    pub provider: String,
    pub class: String,
    pub used: i64,
    pub capacity: i64,
}

/// Compares the first `limit` providers with ids above `after`. The comparison of the last slice includes the catalog.
pub fn compare(store: &SnapshotStore, conn: &mut DbConnection, after: i32, limit: usize) -> DbResult<SliceResult> {
    let (ids, rows) = dialect::read_transaction(conn, |conn| read_slice(conn, after, limit))?;
    let next = (ids.len() == limit).then(|| ids.last().copied()).flatten();
    let snapshot = store.newest();
    let suspects = suspects(&snapshot, after..=next.unwrap_or(i32::MAX), &rows);
    let mut corrected = Vec::new();
    if !suspects.is_empty() {
        let suspects = with_trees(conn, &snapshot, suspects)?;
        let differing = store.reload_suspects(conn, &suspects)?;
        let reloaded = store.newest();
        corrected = differing
            .into_iter()
            .filter_map(|id| uuid_of(&reloaded, id).or(uuid_of(&snapshot, id)))
            .collect();
        for provider in &corrected {
            log::info!("A program other than placet changed provider {provider}: it was reloaded");
        }
    }
    if next.is_none() && load::catalog(conn)? != *store.newest().catalog() {
        store.reload_catalog(conn)?;
    }
    Ok(SliceResult {
        next,
        corrected,
        over_capacity: rows.iter().flat_map(|row| over_capacity(&snapshot, row)).collect(),
    })
}

/// Corrects the snapshot after rows of a consistent read differed from the snapshot. `shown` is the snapshot before the
/// read, `differing` the providers with different rows.
///
/// Mostly a commit of placet made the difference. So the change feed is followed first. A provider that has changed
/// since `shown` is newer now than the rows, and needs no read. The remaining providers were changed by a foreign
/// writer. They are read again, with their trees.
pub fn correct(
    store: &SnapshotStore,
    conn: &mut DbConnection,
    shown: &Snapshot,
    differing: BTreeSet<ProviderId>,
) -> DbResult<()> {
    if mutants::is(Mutant::KeepSnapshot) {
        return Ok(());
    }
    let Some(followed) = store.try_follow(conn)? else {
        // The reload of the invalid snapshot reads all providers.
        return Ok(());
    };
    let is_unchanged =
        |id: &ProviderId| reload::row_without_time(shown, *id) == reload::row_without_time(&followed, *id);
    let foreign: BTreeSet<ProviderId> = differing.into_iter().filter(is_unchanged).collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let suspects = with_trees(conn, &followed, foreign)?;
    store.reload_suspects(conn, &suspects).map(|_| ())
}

fn read_slice(conn: &mut DbConnection, after: i32, limit: usize) -> DbResult<(Vec<i32>, Vec<ProviderRow>)> {
    use resource_providers as t;
    let ids: Vec<i32> = t::table
        .filter(t::id.gt(after))
        .order(t::id)
        .limit(i64::try_from(limit).unwrap_or(i64::MAX))
        .select(t::id)
        .load(conn)?;
    let rows = load::providers(conn, &ids)?;
    Ok((ids, rows))
}

/// Providers of the slice on which tables and snapshot differ. `range` begins at the last id before the slice. Whole
/// rows are compared, because a foreign writer may change usage without moving a generation.
fn suspects(snapshot: &Snapshot, range: RangeInclusive<i32>, rows: &[ProviderRow]) -> BTreeSet<ProviderId> {
    let rows_by_id: BTreeMap<ProviderId, &ProviderRow> = rows.iter().map(|row| (row.id, row)).collect();
    let deleted = snapshot
        .iter()
        .map(|slot| snapshot.id(slot))
        .filter(|id| range.contains(&id.0) && *range.start() != id.0 && !rows_by_id.contains_key(id));
    let changed = rows.iter().filter(|row| {
        let row = ProviderRow {
            modified: 0,
            ..(*row).clone()
        };
        reload::row_without_time(snapshot, row.id).as_ref() != Some(&row)
    });
    deleted.chain(changed.map(|row| row.id)).collect()
}

/// The suspects with their whole trees, in the snapshot and in the tables. If a tree moved, every provider of the tree
/// has a new root.
fn with_trees(
    conn: &mut DbConnection,
    snapshot: &Snapshot,
    mut suspects: BTreeSet<ProviderId>,
) -> DbResult<BTreeSet<ProviderId>> {
    use resource_providers as t;
    let ids: Vec<i32> = suspects.iter().map(|id| id.0).collect();
    let roots: Vec<Option<i32>> = dialect::in_lists(&ids, |ids| {
        t::table
            .filter(t::id.eq_any(ids))
            .select(t::root_provider_id)
            .load(&mut *conn)
    })?;
    let roots: BTreeSet<ProviderId> = roots.into_iter().flatten().map(ProviderId).collect();
    let slots: Vec<_> = suspects.iter().filter_map(|id| snapshot.by_id(*id)).collect();
    for slot in slots {
        let tree = snapshot.tree(snapshot.root(slot));
        suspects.extend(tree.into_iter().map(|slot| snapshot.id(slot)));
    }
    suspects.extend(reload::trees(conn, &roots)?);
    Ok(suspects)
}

fn uuid_of(snapshot: &Snapshot, id: ProviderId) -> Option<String> {
    Some(snapshot.uuid(snapshot.by_id(id)?).to_string())
}

/// The classes of which the provider has more usage than capacity.
fn over_capacity(snapshot: &Snapshot, row: &ProviderRow) -> Vec<OverCapacity> {
    let exceeded = row.inventories.iter().filter_map(|(class, inventory)| {
        let (used, capacity) = (*row.used.get(class)?, inventory.limit());
        (used > capacity).then(|| OverCapacity {
            provider: row.uuid.to_string(),
            class: snapshot
                .catalog()
                .class_name(*class)
                .map_or(class.0.to_string(), |name| name.to_string()),
            used,
            capacity,
        })
    });
    exceeded.collect()
}
