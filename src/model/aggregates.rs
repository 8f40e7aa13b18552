//! Aggregates: groups of providers. An aggregate has only a uuid, which clients choose and whose spelling is kept.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::prelude::*;

use super::resource_providers::{OfProvider, WithGeneration, group_by_provider, with_generation};
use crate::db::DbConnection;
use crate::db::engines::dialect::{among, on_each};
use crate::db::schema::{
    placement_aggregates as table, resource_provider_aggregates as members, resource_providers as providers,
};
use crate::error::{Error, Result};

/// The aggregates of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderAggregates {
    pub generation: i64,
    pub aggregates: Vec<Arc<str>>,
}

/// `PUT /resource_providers/{uuid}/aggregates`.
#[derive(Debug, Clone)]
pub struct Replace {
    pub provider: String,
    pub aggregates: Vec<String>,
    /// From 1.19 the provider's generation guards the change, and moves with the change. Before 1.19, neither.
    pub generation: Option<i64>,
}

/// The query for providers that a filter selects. A macro, because the type of the query has no name in diesel.
macro_rules! rows {
    ($filter:expr, $columns:expr) => {
        providers::table
            .left_join(members::table.on(members::resource_provider_id.eq(providers::id)))
            .left_join(table::table.on(table::id.eq(members::aggregate_id)))
            .filter($filter)
            .select($columns)
    };
}

/// The aggregates of a provider, by id.
pub fn of_provider(conn: &mut DbConnection, provider: &str) -> Result<ProviderAggregates> {
    let rows = rows!(
        providers::uuid.eq(provider),
        (providers::generation, table::uuid.nullable())
    );
    let rows: Vec<WithGeneration<String>> = rows.order(table::id).load(conn)?;
    let found = with_generation(rows).ok_or_else(|| Error::ProviderNotFound {
        uuid: provider.to_string(),
    })?;
    Ok(aggregates(found))
}

/// As `of_provider`, for several providers, by uuid.
pub fn of_providers(conn: &mut DbConnection, uuids: &[&str]) -> Result<HashMap<String, Arc<ProviderAggregates>>> {
    let rows: Vec<OfProvider<(i32, String)>> = on_each!(conn, conn => rows!(
        among(providers::uuid, uuids),
        (providers::uuid, (providers::generation, (table::id, table::uuid.assume_not_null()).nullable()))
    )
    .load(conn))?;
    let found = group_by_provider(rows).into_iter();
    Ok(found.map(|(uuid, found)| (uuid, Arc::new(aggregates(found)))).collect())
}

fn aggregates((generation, uuids): (i64, Vec<String>)) -> ProviderAggregates {
    ProviderAggregates {
        generation,
        aggregates: uuids.into_iter().map(Arc::from).collect(),
    }
}
