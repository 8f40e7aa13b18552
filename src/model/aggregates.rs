//! Aggregates: groups of providers, known by the uuids that clients gave them, as they spelled them.

use std::sync::Arc;

use diesel::prelude::*;

use super::resource_providers::beside;
use crate::db::DbConnection;
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
    /// From 1.19 the provider's generation guards the change and moves with it; before, neither.
    pub generation: Option<i64>,
}

/// The aggregates of a provider, by id.
pub fn of_provider(conn: &mut DbConnection, provider: &str) -> Result<ProviderAggregates> {
    let rows: Vec<(Option<i32>, Option<String>)> = providers::table
        .left_join(members::table.on(members::resource_provider_id.eq(providers::id)))
        .left_join(table::table.on(table::id.eq(members::aggregate_id)))
        .filter(providers::uuid.eq(provider))
        .order(table::id)
        .select((providers::generation, table::uuid.nullable()))
        .load(conn)?;
    let Some((generation, uuids)) = beside(rows) else {
        return Err(Error::ProviderNotFound {
            uuid: provider.to_string(),
        });
    };
    Ok(ProviderAggregates {
        generation,
        aggregates: uuids.into_iter().map(Arc::from).collect(),
    })
}
