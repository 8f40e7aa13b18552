//! Reloads what change records alone cannot update, together with the revisions that it belongs to.
//!
//! It runs in one transaction that sees one moment. Everything that is not read is advanced to the same revisions, so that
//! a delta is never added to a sum that already contains it.

use std::collections::BTreeSet;

use diesel::prelude::*;

use super::change;
use super::load;
use super::merged_changes::MergedChanges;
use crate::db::change_feed::{self, ChangeRecord, FeedPage, Revisions};
use crate::db::engines::dialect::in_lists;
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult};
use crate::search::{ProviderId, ProviderRow, Snapshot};

/// The result of a reload.
pub struct Reload {
    pub snapshot: Snapshot,
    pub revisions: Revisions,
    /// Everything was reloaded: records that were fetched before are obsolete.
    pub whole: bool,
    /// Suspects that differed from the snapshot.
    pub different: Vec<ProviderId>,
}

/// All tables.
pub fn everything(conn: &mut DbConnection) -> DbResult<Reload> {
    let revisions = change_feed::revisions(conn)?;
    let (catalog, rows) = load::snapshot_parts(conn)?;
    Ok(Reload {
        snapshot: Snapshot::lay_out(catalog, rows),
        revisions,
        whole: true,
        different: Vec::new(),
    })
}

/// Reloads what `news` marks, and `suspects`, over `snapshot`, which is at `known`; with `names` the catalog too.
pub fn marked(
    conn: &mut DbConnection,
    snapshot: &Snapshot,
    known: &Revisions,
    news: FeedPage,
    suspects: &BTreeSet<ProviderId>,
    names: bool,
) -> DbResult<Reload> {
    let merged = match news.after(known) {
        Ok(told) => gather(told),
        Err(broken) => {
            log::info!("The snapshot is reloaded: {broken}");
            None
        }
    };
    let Some(mut merged) = merged else {
        return everything(conn);
    };
    merged.catalog |= names;
    merged.mark_unknown(snapshot);
    let expected = snapshot.apply(&merged.change(snapshot, Vec::new(), None));
    let checked: Vec<ProviderId> = suspects.difference(&merged.marks).copied().collect();
    merged.marks.extend(suspects);
    let next = loop {
        let next = read_marked(conn, snapshot, &merged)?;
        let mut more = merged.outrun(&next);
        more.extend(torn(conn, &next, &merged.marks)?);
        let unnamed = !merged.catalog && has_unnamed(&next, &merged.marks);
        if !unnamed && more.is_subset(&merged.marks) {
            break next;
        }
        merged.catalog |= unnamed;
        merged.marks.extend(more);
    };
    let differs = |id: &ProviderId| told_row(&expected, *id) != told_row(&next, *id);
    Ok(Reload {
        different: checked.into_iter().filter(differs).collect(),
        snapshot: next,
        revisions: news.revisions,
        whole: false,
    })
}

/// Merges the records; `None` if one cannot be read.
pub fn gather<'a>(told: impl IntoIterator<Item = &'a ChangeRecord>) -> Option<MergedChanges> {
    let mut merged = MergedChanges::default();
    for told in told {
        merged.add(change::read(&told.body)?);
    }
    Some(merged)
}

fn read_marked(conn: &mut DbConnection, snapshot: &Snapshot, merged: &MergedChanges) -> DbResult<Snapshot> {
    let ids: Vec<i32> = merged.marks.iter().map(|id| id.0).collect();
    let catalog = merged.catalog.then(|| load::catalog(conn)).transpose()?;
    let rows = load::providers(conn, &ids)?;
    Ok(snapshot.apply(&merged.change(snapshot, rows, catalog)))
}

/// Whether the providers read have classes, traits or aggregates that no record announced.
fn has_unnamed(next: &Snapshot, read: &BTreeSet<ProviderId>) -> bool {
    let catalog = next.catalog();
    read.iter().filter_map(|id| next.by_id(*id)).any(|slot| {
        next.inventories(slot)
            .any(|(class, ..)| catalog.class_name(class).is_none())
            || next.traits(slot).any(|it| catalog.trait_name(it).is_none())
            || next.aggregates(slot).any(|it| catalog.aggregate_uuid(it).is_none())
    })
}

/// Whole trees of the providers read whose parent or root is unknown: a foreign writer created those.
fn torn(conn: &mut DbConnection, next: &Snapshot, read: &BTreeSet<ProviderId>) -> DbResult<BTreeSet<ProviderId>> {
    let rows = read.iter().filter_map(|id| next.by_id(*id)).map(|slot| next.row(slot));
    let lost = |id: ProviderId| next.by_id(id).is_none();
    let roots = rows.filter(|row| lost(row.root) || row.parent.is_some_and(lost));
    let roots: BTreeSet<ProviderId> = roots.map(|row| row.root).collect();
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

/// A provider without its time, which some engines store less exactly than a delta carries it.
pub fn told_row(snapshot: &Snapshot, id: ProviderId) -> Option<ProviderRow> {
    let row = snapshot.row(snapshot.by_id(id)?);
    Some(ProviderRow { modified: 0, ..row })
}
