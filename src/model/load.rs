//! Reads providers with all that hangs on them, in a number of statements that does not depend on how many there are.
//!
//! Called within one transaction that sees one moment: usage read after or before its generation would lie.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::dsl::sum;
use diesel::prelude::*;

use super::modified_micros;
use crate::db::dialect::{in_lists, ratio};
use crate::db::schema::{
    allocations, inventories, placement_aggregates, resource_classes, resource_provider_aggregates,
    resource_provider_traits, resource_providers, traits,
};
use crate::db::{DbConnection, DbResult};
use crate::search::{AggregateId, Catalog, ClassId, Inventory, ProviderId, ProviderRow, TraitId};

/// Usage by provider and class, of all allocations or of those that a filter lets through: diesel cannot name this type.
macro_rules! used {
    ($($filter:expr)?) => {
        allocations::table
            $(.filter($filter))?
            .group_by((allocations::resource_provider_id, allocations::resource_class_id))
            .select((allocations::resource_provider_id, allocations::resource_class_id, sum(allocations::used)))
    };
}

/// The names of all classes, by id.
pub fn classes(conn: &mut DbConnection) -> DbResult<Vec<(ClassId, Arc<str>)>> {
    use resource_classes as t;
    let rows: Vec<(i32, String)> = t::table.order(t::id).select((t::id, t::name)).load(conn)?;
    Ok(rows.into_iter().map(|(id, name)| (ClassId(id), name.into())).collect())
}

/// The names of all classes, traits and aggregates.
pub fn catalog(conn: &mut DbConnection) -> DbResult<Catalog> {
    let classes = classes(conn)?;
    let traits: Vec<(i32, String)> = traits::table.select((traits::id, traits::name)).load(conn)?;
    let aggregates: Vec<(i32, Option<String>)> = placement_aggregates::table
        .select((placement_aggregates::id, placement_aggregates::uuid))
        .load(conn)?;
    Ok(Catalog::new(
        classes,
        traits
            .into_iter()
            .map(|(id, name)| (TraitId(id), name.into()))
            .collect(),
        aggregates
            .into_iter()
            .filter_map(|(id, uuid)| Some((AggregateId(id), uuid?.into())))
            .collect(),
    ))
}

/// Everything: the catalog and every provider.
pub fn snapshot_parts(conn: &mut DbConnection) -> DbResult<(Catalog, Vec<ProviderRow>)> {
    let catalog = catalog(conn)?;
    let parts = Parts {
        providers: providers_query().load(conn)?,
        inventories: inventories_query().load(conn)?,
        used: used!().load(conn)?,
        traits: traits_query().load(conn)?,
        aggregates: aggregates_query().load(conn)?,
    };
    Ok((catalog, parts.assemble(conn)))
}

/// Some providers, by id; ids that nothing has are left out.
pub fn providers(conn: &mut DbConnection, ids: &[i32]) -> DbResult<Vec<ProviderRow>> {
    let parts = Parts {
        providers: in_lists(ids, |ids| {
            providers_query()
                .filter(resource_providers::id.eq_any(ids))
                .load(&mut *conn)
        })?,
        inventories: in_lists(ids, |ids| {
            inventories_query()
                .filter(inventories::resource_provider_id.eq_any(ids))
                .load(&mut *conn)
        })?,
        used: in_lists(ids, |ids| {
            used!(allocations::resource_provider_id.eq_any(ids)).load(&mut *conn)
        })?,
        traits: in_lists(ids, |ids| {
            traits_query()
                .filter(resource_provider_traits::resource_provider_id.eq_any(ids))
                .load(&mut *conn)
        })?,
        aggregates: in_lists(ids, |ids| {
            aggregates_query()
                .filter(resource_provider_aggregates::resource_provider_id.eq_any(ids))
                .load(&mut *conn)
        })?,
    };
    Ok(parts.assemble(conn))
}

#[derive(Queryable)]
struct ProviderColumns {
    id: i32,
    uuid: String,
    name: Option<String>,
    generation: Option<i32>,
    parent: Option<i32>,
    root: Option<i32>,
    created_at: Option<NaiveDateTime>,
    updated_at: Option<NaiveDateTime>,
}

type InventoryColumns = (i32, i32, i32, i32, i32, i32, i32, f64);

#[diesel::dsl::auto_type]
fn providers_query() -> _ {
    resource_providers::table.select((
        resource_providers::id,
        resource_providers::uuid,
        resource_providers::name,
        resource_providers::generation,
        resource_providers::parent_provider_id,
        resource_providers::root_provider_id,
        resource_providers::created_at,
        resource_providers::updated_at,
    ))
}

#[diesel::dsl::auto_type]
fn inventories_query() -> _ {
    inventories::table.select((
        inventories::resource_provider_id,
        inventories::resource_class_id,
        inventories::total,
        inventories::reserved,
        inventories::min_unit,
        inventories::max_unit,
        inventories::step_size,
        inventories::allocation_ratio,
    ))
}

#[diesel::dsl::auto_type]
fn traits_query() -> _ {
    resource_provider_traits::table.select((
        resource_provider_traits::resource_provider_id,
        resource_provider_traits::trait_id,
    ))
}

#[diesel::dsl::auto_type]
fn aggregates_query() -> _ {
    resource_provider_aggregates::table.select((
        resource_provider_aggregates::resource_provider_id,
        resource_provider_aggregates::aggregate_id,
    ))
}

/// Rows of one moment, table by table.
struct Parts {
    providers: Vec<ProviderColumns>,
    inventories: Vec<InventoryColumns>,
    used: Vec<(i32, i32, Option<i64>)>,
    traits: Vec<(i32, i32)>,
    aggregates: Vec<(i32, i32)>,
}

impl Parts {
    fn assemble(self, conn: &DbConnection) -> Vec<ProviderRow> {
        let mut rows: Vec<ProviderRow> = self.providers.into_iter().map(ProviderColumns::row).collect();
        let places: HashMap<i32, usize> = rows.iter().enumerate().map(|(place, row)| (row.id.0, place)).collect();
        let mut on = |provider: i32, add: &mut dyn FnMut(&mut ProviderRow)| {
            // What hangs on a provider that is gone hangs on nothing.
            if let Some(place) = places.get(&provider) {
                add(&mut rows[*place]);
            }
        };
        for (provider, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio) in self.inventories {
            let inventory = Inventory {
                total,
                reserved,
                min_unit,
                max_unit,
                step_size,
                allocation_ratio: ratio(conn, allocation_ratio),
            };
            on(provider, &mut |row| {
                row.inventories.insert(ClassId(class), inventory);
            });
        }
        for (provider, class, used) in self.used {
            on(provider, &mut |row| {
                row.used.insert(ClassId(class), used.unwrap_or(0));
            });
        }
        for (provider, it) in self.traits {
            on(provider, &mut |row| {
                row.traits.insert(TraitId(it));
            });
        }
        for (provider, it) in self.aggregates {
            on(provider, &mut |row| {
                row.aggregates.insert(AggregateId(it));
            });
        }
        rows
    }
}

impl ProviderColumns {
    fn row(self) -> ProviderRow {
        ProviderRow {
            id: ProviderId(self.id),
            uuid: self.uuid.into(),
            name: self.name.unwrap_or_default().into(),
            generation: self.generation.unwrap_or(0).into(),
            parent: self.parent.map(ProviderId),
            root: ProviderId(self.root.unwrap_or(self.id)),
            modified: modified_micros(self.updated_at, self.created_at),
            inventories: BTreeMap::new(),
            used: BTreeMap::new(),
            traits: BTreeSet::new(),
            aggregates: BTreeSet::new(),
        }
    }
}
