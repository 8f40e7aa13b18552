//! Compares the snapshot with the tables, some providers at a time, and corrects it. A foreign writer leaves no record in
//! the change feed, so its changes are found here.
//!
//! The comparison takes no lock, and its reads may see two moments. So a difference is only a suspicion: the suspects are
//! read again with their whole trees and the revisions in one transaction. What still differs then was wrong.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use super::store::SnapshotStore;
use super::{load, reload};
use crate::db::engines::dialect;
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult};
use crate::search::{ProviderId, ProviderRow, Snapshot};

/// The result of comparing some providers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The id to continue after; `None` if these were the last.
    pub next: Option<i32>,
    /// Uuids of providers that the snapshot showed wrongly. It is corrected.
    pub mended: Vec<String>,
    /// Providers that hold more than their capacity.
    pub over: Vec<Over>,
}

/// A provider that has more usage than capacity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Over {
    pub provider: String,
    pub class: String,
    pub used: i64,
    pub capacity: i64,
}

/// Compares up to `many` providers with ids above `after`.
pub fn compare(live: &SnapshotStore, conn: &mut DbConnection, after: i32, many: usize) -> DbResult<Compared> {
    let (ids, rows) = dialect::read_transaction(conn, |conn| slice(conn, after, many))?;
    let next = (ids.len() == many).then(|| ids.last().copied()).flatten();
    let shown = live.newest();
    let suspects = suspects(&shown, after..=next.unwrap_or(i32::MAX), &rows);
    let mut mended = Vec::new();
    if !suspects.is_empty() {
        let suspects = with_trees(conn, &shown, suspects)?;
        let different = live.check(conn, &suspects, false)?;
        let now = live.newest();
        mended = different
            .into_iter()
            .filter_map(|id| uuid(&now, id).or(uuid(&shown, id)))
            .collect();
    }
    if next.is_none() && load::catalog(conn)? != *live.newest().catalog() {
        live.check(conn, &BTreeSet::new(), true)?;
    }
    Ok(Compared {
        next,
        mended,
        over: rows.iter().flat_map(|row| over(&shown, row)).collect(),
    })
}

fn slice(conn: &mut DbConnection, after: i32, many: usize) -> DbResult<(Vec<i32>, Vec<ProviderRow>)> {
    use resource_providers as t;
    let ids: Vec<i32> = t::table
        .filter(t::id.gt(after))
        .order(t::id)
        .limit(i64::try_from(many).unwrap_or(i64::MAX))
        .select(t::id)
        .load(conn)?;
    let rows = load::providers(conn, &ids)?;
    Ok((ids, rows))
}

/// Providers on which tables and snapshot differ. Usage sums are compared, not generations alone.
fn suspects(shown: &Snapshot, range: std::ops::RangeInclusive<i32>, rows: &[ProviderRow]) -> BTreeSet<ProviderId> {
    let told: BTreeMap<ProviderId, &ProviderRow> = rows.iter().map(|row| (row.id, row)).collect();
    let gone = shown.iter().map(|slot| shown.id(slot));
    let gone = gone.filter(|id| range.contains(&id.0) && *range.start() != id.0 && !told.contains_key(id));
    let other = rows.iter().filter(|row| {
        let row = ProviderRow {
            modified: 0,
            ..(*row).clone()
        };
        reload::told_row(shown, row.id).as_ref() != Some(&row)
    });
    gone.chain(other.map(|row| row.id)).collect()
}

/// The suspects with their whole trees, in the snapshot and in the tables: if a tree moved, every provider of it has
/// another root.
fn with_trees(
    conn: &mut DbConnection,
    shown: &Snapshot,
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
    let known: Vec<_> = suspects.iter().filter_map(|id| shown.by_id(*id)).collect();
    for slot in known {
        suspects.extend(shown.tree(shown.root(slot)).into_iter().map(|slot| shown.id(slot)));
    }
    suspects.extend(reload::trees(conn, &roots)?);
    Ok(suspects)
}

fn uuid(snapshot: &Snapshot, id: ProviderId) -> Option<String> {
    Some(snapshot.uuid(snapshot.by_id(id)?).to_string())
}

fn over(shown: &Snapshot, row: &ProviderRow) -> Vec<Over> {
    let beyond = row.inventories.iter().filter_map(|(class, inventory)| {
        let (used, capacity) = (*row.used.get(class)?, inventory.limit());
        (used > capacity).then(|| Over {
            provider: row.uuid.to_string(),
            class: shown
                .catalog()
                .class_name(*class)
                .map_or(class.0.to_string(), |name| name.to_string()),
            used,
            capacity,
        })
    });
    beyond.collect()
}
