//! Traits, and the traits of providers.

use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::dsl::exists;
use diesel::prelude::*;

use super::reads::reader::Reader;
use super::resource_providers::with_generation;
use super::{Moment, modified};
use crate::db::DbConnection;
use crate::db::engines::dialect::now;
use crate::db::schema::{resource_provider_traits as provided, resource_providers as providers, traits as table};
use crate::error::{Error, Result};

/// A trait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trait {
    pub name: Arc<str>,
    pub modified: Moment,
}

/// The traits of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTraits {
    pub generation: i64,
    pub traits: Vec<Trait>,
}

/// The filter of a list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only these names.
    pub names: Option<Vec<String>>,
    /// Only names with this prefix.
    pub prefix: Option<String>,
    /// Only traits of at least one provider (`true`), or of no provider (`false`).
    pub associated: Option<bool>,
}

/// `PUT /resource_providers/{uuid}/traits`.
#[derive(Debug, Clone)]
pub struct Replace {
    pub provider: String,
    pub generation: i64,
    pub traits: Vec<String>,
}

/// `DELETE /resource_providers/{uuid}/traits`.
#[derive(Debug, Clone)]
pub struct Clear {
    pub provider: String,
}

/// `PUT /traits/{name}`.
#[derive(Debug, Clone)]
pub struct Ensure {
    pub name: String,
}

/// `DELETE /traits/{name}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub name: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = table)]
struct TraitRow {
    name: String,
    updated_at: Option<NaiveDateTime>,
    created_at: Option<NaiveDateTime>,
}

impl From<TraitRow> for Trait {
    fn from(row: TraitRow) -> Trait {
        Trait {
            name: row.name.into(),
            modified: modified(row.updated_at, row.created_at).unwrap_or_else(|| now().and_utc()),
        }
    }
}

/// As [`list`], in a single statement.
pub async fn fetch_list(reader: Reader, filter: Filter) -> Result<Vec<Trait>> {
    reader.ask(move |conn| list(conn, &filter)).await
}

/// As [`show`], in a single statement.
pub async fn fetch(reader: Reader, name: String) -> Result<Trait> {
    reader.ask(move |conn| show(conn, &name)).await
}

/// The traits selected by a filter, by id.
pub fn list(conn: &mut DbConnection, filter: &Filter) -> Result<Vec<Trait>> {
    let mut query = table::table.into_boxed();
    if let Some(names) = &filter.names {
        query = query.filter(table::name.eq_any(names));
    }
    if let Some(prefix) = &filter.prefix {
        query = query.filter(table::name.like(format!("{prefix}%")));
    }
    let has_provider = exists(provided::table.filter(provided::trait_id.eq(table::id)));
    query = match filter.associated {
        Some(true) => query.filter(has_provider),
        Some(false) => query.filter(diesel::dsl::not(has_provider)),
        None => query,
    };
    let rows: Vec<TraitRow> = query.order(table::id).select(TraitRow::as_select()).load(conn)?;
    Ok(rows.into_iter().map(Trait::from).collect())
}

/// A trait, by its exact name: MariaDB's collation also finds different spellings.
pub fn show(conn: &mut DbConnection, name: &str) -> Result<Trait> {
    let row: Option<TraitRow> = table::table
        .filter(table::name.eq(name))
        .select(TraitRow::as_select())
        .first(conn)
        .optional()?;
    row.filter(|row| row.name == name)
        .map(Trait::from)
        .ok_or_else(|| Error::TraitNotFound { name: name.to_string() })
}

/// The traits of a provider, by id.
pub fn of_provider(conn: &mut DbConnection, provider: &str) -> Result<ProviderTraits> {
    let rows: Vec<(Option<i32>, Option<TraitRow>)> = providers::table
        .left_join(provided::table.on(provided::resource_provider_id.eq(providers::id)))
        .left_join(table::table.on(table::id.eq(provided::trait_id)))
        .filter(providers::uuid.eq(provider))
        .order(table::id)
        .select((providers::generation, Option::<TraitRow>::as_select()))
        .load(conn)?;
    let Some((generation, rows)) = with_generation(rows) else {
        return Err(Error::ProviderNotFoundForTraits {
            uuid: provider.to_string(),
        });
    };
    Ok(ProviderTraits {
        generation,
        traits: rows.into_iter().map(Trait::from).collect(),
    })
}
