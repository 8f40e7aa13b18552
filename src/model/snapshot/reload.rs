//! Reloads rows if change records alone cannot update the snapshot, together with the revisions of the rows.
//!
//! A reload runs in a transaction with a view of a single moment. The deltas of all remaining providers are applied up
//! to the same revisions. So no sum contains a delta twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use diesel::prelude::*;

use super::change;
use super::load;
use super::merged_changes::MergedChanges;
use crate::db::change_feed::{self, ChangeRecord, FeedError, FeedPage, Revisions};
use crate::db::engines::dialect::{self, in_lists};
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult};
use crate::model::providers;
use crate::search::{NameKinds, ProviderId, ProviderRow, Snapshot, SnapshotChange};

/// The result of a reload.
pub struct Reload {
    pub snapshot: Arc<Snapshot>,
    pub revisions: Revisions,
    /// Suspects with a difference from the snapshot.
    pub differing: Vec<ProviderId>,
    /// The providers of which rows were read. Empty after a reload of everything.
    pub read: BTreeSet<ProviderId>,
    /// Whether the rows show a change without a record in the feed: a foreign writer made the change.
    pub has_foreign_changes: bool,
}

/// Loads all tables. `check` runs between the statements. An error of `check` ends the reading.
pub fn everything(conn: &mut DbConnection, check: impl Fn() -> DbResult<()>) -> DbResult<Reload> {
    let revisions = change_feed::revisions(conn)?;
    let (catalog, rows) = load::snapshot_parts(conn, &check)?;
    let ignores_case = dialect::ignores_case(conn)?;
    let described = providers::describe_all(conn, Snapshot::lay_out(catalog, ignores_case, rows))?;
    check()?;
    Ok(Reload {
        snapshot: Arc::new(described),
        revisions,
        differing: Vec::new(),
        read: BTreeSet::new(),
        has_foreign_changes: false,
    })
}

/// Advances `snapshot` from the revisions `known` to the revisions of `page`, within the caller's transaction. Reads
/// three sets of rows:
///
/// 1. the providers marked in a record, which has no deltas for marked providers;
/// 2. the `suspects`: providers that differed from the snapshot in a comparison;
/// 3. the classes, traits or aggregates, if a record or `names` says that names of this kind are new.
///
/// An error if the page is not enough: everything must be read.
pub fn marked(
    conn: &mut DbConnection,
    snapshot: &Snapshot,
    known: &Revisions,
    page: FeedPage,
    suspects: &BTreeSet<ProviderId>,
    names: NameKinds,
) -> DbResult<Result<Reload, FeedError>> {
    let mut merged = match page.after(known).and_then(merge) {
        Ok(merged) => merged,
        Err(error) => return Ok(Err(error)),
    };
    merged.names = merged.names.or(names);
    merged.mark_unknown(snapshot);
    let expected = snapshot.apply(&merged.snapshot_change(snapshot, Vec::new(), None));
    let compared: Vec<ProviderId> = suspects.difference(&merged.marked).copied().collect();
    merged.marked.extend(suspects);
    let mut has_foreign_changes = false;
    let next = loop {
        let next = read_marked(conn, snapshot, &merged)?;
        let mut to_mark = merged.lagging_providers(&next);
        to_mark.extend(incomplete_trees(conn, &next, &merged.marked)?);
        let lacks_names = merged.names != NameKinds::ALL && has_unknown_names(&next, &merged.marked);
        if !lacks_names && to_mark.is_subset(&merged.marked) {
            break next;
        }
        // The transaction shows rows and feed at the same moment, so the page has each commit of placet in these rows.
        // A difference without a record in the page is a foreign writer's.
        has_foreign_changes = true;
        if lacks_names {
            merged.names = NameKinds::ALL;
        }
        merged.marked.extend(to_mark);
    };
    let differs = |id: &ProviderId| row_without_time(&expected, *id) != row_without_time(&next, *id);
    Ok(Ok(Reload {
        differing: compared.into_iter().filter(differs).collect(),
        read: merged.marked,
        has_foreign_changes,
        snapshot: Arc::new(next),
        revisions: page.revisions,
    }))
}

fn merge(records: &[ChangeRecord]) -> Result<MergedChanges, FeedError> {
    let decode = |record: &ChangeRecord| {
        change::decode(&record.body).ok_or_else(|| FeedError::Unreadable(record.writer.clone()))
    };
    let commits = records.iter().map(decode).collect::<Result<Vec<_>, _>>()?;
    Ok(MergedChanges::of_commits(commits))
}

fn read_marked(conn: &mut DbConnection, snapshot: &Snapshot, merged: &MergedChanges) -> DbResult<Snapshot> {
    let ids: Vec<i32> = merged.marked.iter().map(|id| id.0).collect();
    let renewed = || load::renewed_catalog(conn, snapshot.catalog(), merged.names);
    let catalog = merged.names.any().then(renewed).transpose()?;
    let rows = load::providers(conn, &ids)?;
    let descriptions = providers::of_reloaded(conn, &rows)?;
    let change = merged.snapshot_change(snapshot, rows, catalog);
    Ok(snapshot.apply(&SnapshotChange { descriptions, ..change }))
}

/// Whether a provider in `read` has a class, trait or aggregate unknown to the catalog. A foreign writer creates names
/// without a record.
fn has_unknown_names(next: &Snapshot, read: &BTreeSet<ProviderId>) -> bool {
    let catalog = next.catalog();
    read.iter().filter_map(|id| next.by_id(*id)).any(|slot| {
        next.inventories(slot)
            .any(|(class, ..)| catalog.class_name(class).is_none())
            || next.traits(slot).any(|id| catalog.trait_name(id).is_none())
            || next.aggregates(slot).any(|id| catalog.aggregate_uuid(id).is_none())
    })
}

/// All providers in the trees of providers in `read` whose parent or root the snapshot lacks. A foreign writer created
/// the parent or root.
fn incomplete_trees(
    conn: &mut DbConnection,
    next: &Snapshot,
    read: &BTreeSet<ProviderId>,
) -> DbResult<BTreeSet<ProviderId>> {
    let rows = read.iter().filter_map(|id| next.by_id(*id)).map(|slot| next.row(slot));
    let is_missing = |id: ProviderId| next.by_id(id).is_none();
    let incomplete = rows.filter(|row| is_missing(row.root) || row.parent.is_some_and(is_missing));
    let roots: BTreeSet<ProviderId> = incomplete.map(|row| row.root).collect();
    trees(conn, &roots)
}

/// All providers with these roots, from the tables.
pub fn trees(conn: &mut DbConnection, roots: &BTreeSet<ProviderId>) -> DbResult<BTreeSet<ProviderId>> {
    use resource_providers as t;
    let roots: Vec<Option<i32>> = roots.iter().map(|id| Some(id.0)).collect();
    let ids: Vec<i32> = in_lists(&roots, |roots| {
        t::table
            .filter(t::root_provider_id.eq_any(roots))
            .select(t::id)
            .load(&mut *conn)
    })?;
    Ok(ids.into_iter().map(ProviderId).collect())
}

/// The row of a provider without the time: a delta has the exact time, and some engines round the time in the table.
pub fn row_without_time(snapshot: &Snapshot, id: ProviderId) -> Option<ProviderRow> {
    let row = snapshot.row(snapshot.by_id(id)?);
    Some(ProviderRow { modified: 0, ..row })
}
