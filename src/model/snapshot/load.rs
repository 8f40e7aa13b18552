//! Loads providers with their inventories, usage, traits and aggregates. The number of statements does not depend on
//! the number of providers.
//!
//! The caller's transaction must see one moment: usage and generation from two moments would not fit together.

pub mod parts;

use std::sync::Arc;

use diesel::dsl::sum;
use diesel::prelude::*;

use self::parts::Parts;
use crate::db::engines::dialect::{in_lists, without_statement_cache};
use crate::db::schema::{
    allocations, inventories, placement_aggregates, resource_classes, resource_provider_aggregates,
    resource_provider_traits, resource_providers, traits,
};
use crate::db::{DbConnection, DbResult};
use crate::model::{domains, limits, types};
use crate::search::{AggregateId, Catalog, ClassId, Declarations, NameKinds, ProviderRow, TraitId};

/// The names of all classes, by id.
pub fn classes(conn: &mut DbConnection) -> DbResult<Vec<(ClassId, Arc<str>)>> {
    use resource_classes as t;
    Ok(named(
        ClassId,
        t::table.order(t::id).select((t::id, t::name)).load(conn)?,
    ))
}

/// The names of all classes, traits and aggregates.
pub fn catalog(conn: &mut DbConnection) -> DbResult<Catalog> {
    renewed_catalog(conn, &Catalog::default(), NameKinds::ALL)
}

/// `known`, with the current names of these kinds from the tables. With the classes, the declarations are read too.
pub fn renewed_catalog(conn: &mut DbConnection, known: &Catalog, kinds: NameKinds) -> DbResult<Catalog> {
    let declarations = kinds.classes.then(|| declarations(conn)).transpose()?;
    let classes = kinds.classes.then(|| classes(conn)).transpose()?;
    let traits = kinds.traits.then(|| trait_names().load(conn)).transpose()?;
    let aggregates = kinds.aggregates.then(|| aggregate_uuids().load(conn)).transpose()?;
    let traits = traits.map(|rows| named(TraitId, rows));
    let aggregates = aggregates.map(|rows| named(AggregateId, rows));
    let renewed = known.renewed(classes, traits, aggregates);
    Ok(match declarations {
        Some(declarations) => renewed.with_declarations(Arc::new(declarations)),
        None => renewed,
    })
}

fn declarations(conn: &mut DbConnection) -> DbResult<Declarations> {
    Ok(Declarations {
        limits: limits::normal_limits(conn)?,
        types: types::properties_of_types(conn)?,
        domains: Arc::new(domains::aggregates_of_domains(conn)?),
    })
}

/// The existing traits among `names`. MariaDB may find a different spelling.
pub fn traits_named(conn: &mut DbConnection, names: &[&str]) -> DbResult<Vec<(TraitId, Arc<str>)>> {
    let rows = in_lists(names, |names| {
        trait_names().filter(traits::name.eq_any(names)).load(&mut *conn)
    })?;
    Ok(named(TraitId, rows))
}

/// The existing aggregates among `uuids`. MariaDB may find a different spelling.
pub fn aggregates_named(conn: &mut DbConnection, uuids: &[&str]) -> DbResult<Vec<(AggregateId, Arc<str>)>> {
    let rows = in_lists(uuids, |uuids| {
        aggregate_uuids()
            .filter(placement_aggregates::uuid.eq_any(uuids))
            .load(&mut *conn)
    })?;
    Ok(named(AggregateId, rows))
}

#[diesel::dsl::auto_type]
fn trait_names() -> _ {
    traits::table.select((traits::id, traits::name))
}

/// Only aggregates with a uuid.
#[diesel::dsl::auto_type]
fn aggregate_uuids() -> _ {
    placement_aggregates::table
        .filter(placement_aggregates::uuid.is_not_null())
        .select((placement_aggregates::id, placement_aggregates::uuid.assume_not_null()))
}

fn named<Id>(id: impl Fn(i32) -> Id, rows: Vec<(i32, String)>) -> Vec<(Id, Arc<str>)> {
    rows.into_iter().map(|(row, name)| (id(row), name.into())).collect()
}

/// Everything: the catalog and every provider, tree by tree. `check` runs after the catalog and after each later
/// statement. An error of `check` ends the reading.
pub fn snapshot_parts<F: Fn() -> DbResult<()>>(
    conn: &mut DbConnection,
    check: F,
) -> DbResult<(Catalog, impl ExactSizeIterator<Item = ProviderRow> + use<F>)> {
    let (catalog, parts) = without_statement_cache(conn, |conn| {
        let catalog = catalog(conn)?;
        check()?;
        DbResult::Ok((catalog, parts(conn, None, &check)?))
    })?;
    Ok((catalog, parts.into_rows(conn)))
}

/// The providers with these ids; unknown ids are skipped.
pub fn providers(conn: &mut DbConnection, ids: &[i32]) -> DbResult<Vec<ProviderRow>> {
    Ok(parts(conn, Some(ids), || Ok(()))?.into_rows(conn).collect())
}

/// The rows of all providers, or of the providers with these ids.
fn parts(conn: &mut DbConnection, ids: Option<&[i32]>, check: impl Fn() -> DbResult<()>) -> DbResult<Parts> {
    // A macro, because each query has a type of its own.
    macro_rules! read {
        ($query:expr, $provider:expr) => {{
            let rows = match ids {
                None => $query.load(conn)?,
                Some(ids) => in_lists(ids, |ids| $query.filter($provider.eq_any(ids)).load(&mut *conn))?,
            };
            check()?;
            rows
        }};
    }
    let used = || {
        allocations::table
            .group_by((allocations::resource_provider_id, allocations::resource_class_id))
            .select((
                allocations::resource_provider_id,
                allocations::resource_class_id,
                sum(allocations::used),
            ))
    };
    Ok(Parts {
        providers: read!(providers_query(), resource_providers::id),
        inventories: read!(inventories_query(), inventories::resource_provider_id),
        used: read!(used(), allocations::resource_provider_id),
        traits: read!(traits_query(), resource_provider_traits::resource_provider_id),
        aggregates: read!(aggregates_query(), resource_provider_aggregates::resource_provider_id),
    })
}

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
