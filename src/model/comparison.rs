//! Compares the snapshot with the tables, some providers at a time, and mends it: what programs other than placet wrote
//! leaves no change that could be followed.
//!
//! Looking takes no lock and may see two moments; what it suspects is read again, with its whole tree, together with
//! the revisions, and only what still differs then was really wrong.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use super::live::Live;
use super::{load, reread};
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult, dialect};
use crate::search::{ProviderId, ProviderRow, Snapshot};

/// What a look at some providers found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Where to go on; `None` where these were the last.
    pub next: Option<i32>,
    /// Uuids of providers that were not as the snapshot showed them; now they are.
    pub mended: Vec<String>,
    /// Providers that hold more than their capacity.
    pub over: Vec<Over>,
}

/// A provider of which more is used than it has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Over {
    pub provider: String,
    pub class: String,
    pub used: i64,
    pub capacity: i64,
}

/// Compares up to `many` providers with ids above `after`.
pub fn compare(live: &Live, conn: &mut DbConnection, after: i32, many: usize) -> DbResult<Compared> {
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

/// Providers of which tables and snapshot say different things: sums, and not generations alone.
fn suspects(shown: &Snapshot, range: std::ops::RangeInclusive<i32>, rows: &[ProviderRow]) -> BTreeSet<ProviderId> {
    let told: BTreeMap<ProviderId, &ProviderRow> = rows.iter().map(|row| (row.id, row)).collect();
    let gone = shown.iter().map(|slot| shown.id(slot));
    let gone = gone.filter(|id| range.contains(&id.0) && *range.start() != id.0 && !told.contains_key(id));
    let other = rows.iter().filter(|row| {
        let row = ProviderRow {
            modified: 0,
            ..(*row).clone()
        };
        reread::told_row(shown, row.id).as_ref() != Some(&row)
    });
    gone.chain(other.map(|row| row.id)).collect()
}

/// The suspects with their whole trees, as the snapshot shows them and as the tables have them: of a tree that moved,
/// every provider has another root.
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
    suspects.extend(reread::trees(conn, &roots)?);
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
