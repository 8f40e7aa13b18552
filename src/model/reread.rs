//! Reads what changes alone cannot tell, in one moment together with the revisions that it belongs to.
//!
//! Called within one transaction that sees one moment. Everything that is not read is brought up to the same revisions,
//! so that no delta ever meets a sum that already contains it.

use std::collections::BTreeSet;

use diesel::prelude::*;

use super::change;
use super::gathered::Gathered;
use super::load;
use crate::db::dialect::in_lists;
use crate::db::followed::{self, News, Revisions, Told};
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult};
use crate::search::{ProviderId, ProviderRow, Snapshot};

/// What was read.
pub struct Reread {
    pub snapshot: Snapshot,
    pub revisions: Revisions,
    /// Everything was read again: what others fetched before says nothing any more.
    pub whole: bool,
    /// Suspects that were not what deltas made of them.
    pub different: Vec<ProviderId>,
}

/// All tables.
pub fn everything(conn: &mut DbConnection) -> DbResult<Reread> {
    let revisions = followed::revisions(conn)?;
    let (catalog, rows) = load::snapshot_parts(conn)?;
    Ok(Reread {
        snapshot: Snapshot::lay_out(catalog, rows),
        revisions,
        whole: true,
        different: Vec::new(),
    })
}

/// What `news` marks, and `suspects`, over `snapshot`, which shows `known`; with `names` the catalog in any case.
pub fn marked(
    conn: &mut DbConnection,
    snapshot: &Snapshot,
    known: &Revisions,
    news: News,
    suspects: &BTreeSet<ProviderId>,
    names: bool,
) -> DbResult<Reread> {
    let gathered = match news.after(known) {
        Ok(told) => gather(told),
        Err(broken) => {
            log::info!("Everything is read again: {broken}");
            None
        }
    };
    let Some(mut gathered) = gathered else {
        return everything(conn);
    };
    gathered.catalog |= names;
    gathered.mark_unknown(snapshot);
    let expected = snapshot.apply(&gathered.change(snapshot, Vec::new(), None));
    let checked: Vec<ProviderId> = suspects.difference(&gathered.marks).copied().collect();
    gathered.marks.extend(suspects);
    let next = loop {
        let next = read_marked(conn, snapshot, &gathered)?;
        let mut more = gathered.outrun(&next);
        more.extend(torn(conn, &next, &gathered.marks)?);
        let unnamed = !gathered.catalog && has_unnamed(&next, &gathered.marks);
        if !unnamed && more.is_subset(&gathered.marks) {
            break next;
        }
        gathered.catalog |= unnamed;
        gathered.marks.extend(more);
    };
    let differs = |id: &ProviderId| told_row(&expected, *id) != told_row(&next, *id);
    Ok(Reread {
        different: checked.into_iter().filter(differs).collect(),
        snapshot: next,
        revisions: news.now,
        whole: false,
    })
}

/// What changes come to; `None` where one cannot be read.
pub fn gather<'a>(told: impl IntoIterator<Item = &'a Told>) -> Option<Gathered> {
    let mut gathered = Gathered::default();
    for told in told {
        gathered.add(change::read(&told.body)?);
    }
    Some(gathered)
}

fn read_marked(conn: &mut DbConnection, snapshot: &Snapshot, gathered: &Gathered) -> DbResult<Snapshot> {
    let ids: Vec<i32> = gathered.marks.iter().map(|id| id.0).collect();
    let catalog = gathered.catalog.then(|| load::catalog(conn)).transpose()?;
    let rows = load::providers(conn, &ids)?;
    Ok(snapshot.apply(&gathered.change(snapshot, rows, catalog)))
}

/// Whether read providers have classes, traits or aggregates that nobody told of.
fn has_unnamed(next: &Snapshot, read: &BTreeSet<ProviderId>) -> bool {
    let catalog = next.catalog();
    read.iter().filter_map(|id| next.by_id(*id)).any(|slot| {
        next.inventories(slot)
            .any(|(class, ..)| catalog.class_name(class).is_none())
            || next.traits(slot).any(|it| catalog.trait_name(it).is_none())
            || next.aggregates(slot).any(|it| catalog.aggregate_uuid(it).is_none())
    })
}

/// Whole trees of read providers whose parent or root is nowhere: somebody made those who leaves no changes.
fn torn(conn: &mut DbConnection, next: &Snapshot, read: &BTreeSet<ProviderId>) -> DbResult<BTreeSet<ProviderId>> {
    let rows = read.iter().filter_map(|id| next.by_id(*id)).map(|slot| next.row(slot));
    let lost = |id: ProviderId| next.by_id(id).is_none();
    let roots = rows.filter(|row| lost(row.root) || row.parent.is_some_and(lost));
    let roots: BTreeSet<ProviderId> = roots.map(|row| row.root).collect();
    trees(conn, &roots)
}

/// All providers of these roots, by the tables.
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

/// A provider without its time, which not every table keeps as exactly as a delta tells it.
pub fn told_row(snapshot: &Snapshot, id: ProviderId) -> Option<ProviderRow> {
    let row = snapshot.row(snapshot.by_id(id)?);
    Some(ProviderRow { modified: 0, ..row })
}
