//! Locks and reads the providers of a batch, with inventories, usage, traits and aggregates.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use diesel::prelude::*;

use super::{LOCK_ATTEMPTS, RowAccess};
use crate::db::engines::dialect::{compares_exactly, folding, has_other_writers, in_lists, lock_in_lists, lock_rows};
use crate::db::schema::resource_providers;
use crate::db::{DbConnection, DbResult};
use crate::model::batch::base::Rows;
use crate::model::batch::collation::CollatedNames;
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::ConsumerEntry;
use crate::model::limits;
use crate::model::snapshot::lineage::Lineage;
use crate::model::snapshot::load;
use crate::search::{Catalog, ClassId, Declarations, ProviderId, ProviderRow};

/// A provider in its tree.
#[derive(Queryable, Selectable)]
#[diesel(table_name = resource_providers)]
struct TreeColumns {
    id: i32,
    root_provider_id: Option<i32>,
    uuid: String,
}

/// The ids of providers, ascending.
#[derive(PartialEq, Eq)]
struct ProviderIds {
    /// The providers to read.
    read: Vec<i32>,
    /// The providers to lock, which are among `read`.
    locked: Vec<i32>,
}

/// The providers of the footprint and of its consumers' allocations; whole trees only if a command needs the trees.
/// `known` is the snapshot's catalog, if the snapshot is valid.
///
/// If access is `Locked` and other writers exist, the providers are locked first, ordered by id. The ids are looked up
/// again after the locks, because another writer may have added a provider in between.
pub fn providers(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
    known: Option<&Catalog>,
    access: RowAccess,
) -> DbResult<Rows> {
    let mut ids = provider_ids(conn, footprint, consumers)?;
    let is_locked = access != RowAccess::Consistent && has_other_writers(conn);
    for _ in 0..if is_locked { LOCK_ATTEMPTS } else { 0 } {
        lock_providers(conn, &ids.locked)?;
        let ids_after_locks = provider_ids(conn, footprint, consumers)?;
        if ids_after_locks == ids {
            break;
        }
        ids = ids_after_locks;
    }
    let catalog = catalog(conn, footprint, known)?;
    let rows = load::providers(conn, &ids.read)?;
    let names = names_of(conn, footprint, &rows)?;
    let lineage = if footprint.needs_states {
        Lineage::of_rows(conn, &rows)?
    } else {
        Lineage::default()
    };
    Ok(Rows::new(catalog, rows, folding(conn), names).with_lineage(lineage))
}

/// The classes, traits and aggregates for the commands. All classes are read: they are few, and the id of a new class
/// depends on all. Traits and aggregates may be many, so only the requested names are read. The folded uuids of
/// aggregates are names, too. Claims and writes of inventories are frequent: if the classes are unchanged, they share
/// `known`.
///
/// The aggregates of domains are from `known`: a description is compared with the domain of the provider's aggregates.
fn catalog(conn: &mut DbConnection, footprint: &Footprint<'_>, known: Option<&Catalog>) -> DbResult<Catalog> {
    let classes = load::classes(conn)?;
    let shared = known.filter(|known| footprint.reach < Reach::All && has_same_classes(&classes, known));
    if let Some(shared) = shared {
        return Ok(shared.clone());
    }
    let traits = footprint.traits.iter().chain(&footprint.removed_traits);
    let traits = load::traits_named(conn, &traits.copied().collect::<Vec<_>>())?;
    let aggregates: Vec<&str> = footprint.aggregates.iter().copied().collect();
    let found = load::aggregates_named(conn, &aggregates)?;
    let fold = folding(conn);
    let folded = found.iter().map(|(id, uuid)| (*id, fold(uuid).into()));
    let known = known.filter(|_| !footprint.descriptions.is_empty());
    let of_domains = known.into_iter().flat_map(Catalog::aggregates_of_domains);
    let of_domains = of_domains.map(|(id, uuid)| (id, Arc::clone(uuid)));
    let aggregates = folded.chain(found.iter().cloned()).chain(of_domains).collect();
    let declarations = Declarations {
        limits: limits::normal_limits(conn)?,
        domains: known.map_or_else(Arc::default, |known| Arc::clone(&known.declarations().domains)),
        ..Declarations::default()
    };
    Ok(Catalog::new(classes, traits, aggregates).with_declarations(Arc::new(declarations)))
}

fn has_same_classes(classes: &[(ClassId, Arc<str>)], known: &Catalog) -> bool {
    classes.iter().map(|(id, name)| (*id, name)).eq(known.classes())
}

/// The providers by name, in the spelling of the commands. A database that does not compare exactly decides which names
/// are equal.
fn names_of(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    rows: &[ProviderRow],
) -> DbResult<HashMap<Arc<str>, ProviderId>> {
    let requested: Vec<&str> = footprint.names.iter().copied().collect();
    let collated = CollatedNames::new(conn, &requested);
    let mut names: HashMap<Arc<str>, ProviderId> = rows
        .iter()
        .map(|row| (collated.as_requested(row.name.to_string()).into(), row.id))
        .collect();
    if compares_exactly(conn) {
        return Ok(names);
    }
    for name in requested
        .into_iter()
        .filter(|name| !names.contains_key(*name))
        .collect::<Vec<_>>()
    {
        use resource_providers as t;
        let found: Option<i32> = t::table.filter(t::name.eq(name)).select(t::id).first(conn).optional()?;
        names.extend(found.map(|id| (name.into(), ProviderId(id))));
    }
    Ok(names)
}

/// Locks providers, in the order of their ids.
pub fn lock_providers(conn: &mut DbConnection, ids: &[i32]) -> DbResult<()> {
    use resource_providers as t;
    lock_in_lists(ids, |ids| -> DbResult<Vec<i32>> {
        lock_rows!(conn, t::table.filter(t::id.eq_any(ids)).order(t::id).select(t::id))
    })
    .map(|_| ())
}

fn provider_ids(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
) -> DbResult<ProviderIds> {
    use resource_providers as t;
    // A provider from which allocations are only released is not written. A wiped consumer moves the generation.
    let (mut only_read, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (uuid, entry) in consumers {
        let providers = entry.base_allocations.iter().map(|row| row.provider.0);
        if footprint.wiped.contains(uuid.as_str()) {
            ids.extend(providers);
        } else {
            only_read.extend(providers);
        }
    }
    let uuids: Vec<&str> = footprint.providers.iter().copied().collect();
    let found: Vec<TreeColumns> = in_lists(&uuids, |uuids| {
        t::table
            .filter(t::uuid.eq_any(uuids))
            .select(TreeColumns::as_select())
            .load(&mut *conn)
    })?;
    let mut roots: BTreeSet<Option<i32>> = BTreeSet::new();
    let fold = folding(conn);
    let folded = |uuids: &BTreeSet<&str>| uuids.iter().map(|uuid| fold(uuid)).collect::<HashSet<String>>();
    let (parents, trees) = (folded(&footprint.parents), folded(&footprint.trees));
    for row in &found {
        let uuid = fold(&row.uuid);
        ids.insert(row.id);
        if parents.contains(&uuid) {
            ids.extend(row.root_provider_id);
        }
        if trees.contains(&uuid) {
            roots.insert(row.root_provider_id);
        }
    }
    let names: Vec<&str> = footprint.names.iter().copied().collect();
    ids.extend::<Vec<i32>>(in_lists(&names, |names| {
        t::table.filter(t::name.eq_any(names)).select(t::id).load(&mut *conn)
    })?);
    let roots: Vec<Option<i32>> = roots.into_iter().collect();
    ids.extend::<Vec<i32>>(in_lists(&roots, |roots| {
        t::table
            .filter(t::root_provider_id.eq_any(roots))
            .select(t::id)
            .load(&mut *conn)
    })?);
    Ok(ProviderIds {
        read: ids.union(&only_read).copied().collect(),
        locked: ids.into_iter().collect(),
    })
}
