//! Aggregates: groups of providers. An aggregate has only a uuid, which clients choose and whose spelling is kept.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::prelude::*;

use super::resource_providers::{OfProvider, group_by_provider};
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

/// The aggregates of a provider, by id. MariaDB may find a different spelling of the uuid.
pub fn of_provider(conn: &mut DbConnection, provider: &str) -> Result<Arc<ProviderAggregates>> {
    let found = of_providers(conn, &[provider])?.into_values().next();
    found.ok_or_else(|| Error::ProviderNotFound {
        uuid: provider.to_owned(),
    })
}

/// As `of_provider`, for several providers, by uuid.
pub fn of_providers(conn: &mut DbConnection, uuids: &[&str]) -> Result<HashMap<String, Arc<ProviderAggregates>>> {
    let rows: Vec<OfProvider<(i32, String)>> = on_each!(conn, conn => providers::table
        .left_join(members::table.on(members::resource_provider_id.eq(providers::id)))
        .left_join(table::table.on(table::id.eq(members::aggregate_id)))
        .filter(among(providers::uuid, uuids))
        .select((
            providers::uuid,
            (providers::generation, (table::id, table::uuid.assume_not_null()).nullable()),
        ))
        .load(conn))?;
    let aggregates = group_by_provider(rows).into_iter().map(|(uuid, (generation, found))| {
        let aggregates = found.into_iter().map(Arc::from).collect();
        (uuid, Arc::new(ProviderAggregates { generation, aggregates }))
    });
    Ok(aggregates.collect())
}
