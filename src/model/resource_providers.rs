//! Resource providers, and the trees of providers.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::reads::reader::Reader;
use super::{Moment, modified, modified_micros};
use crate::db::DbConnection;
use crate::db::engines::dialect::{among, now, on_each};
use crate::db::schema::{inventories, resource_providers as table};
use crate::error::{Error, Result};
use crate::search::ProviderId;

/// A provider as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub uuid: Arc<str>,
    pub name: Arc<str>,
    pub generation: i64,
    /// The uuid of the parent; `None` for a root.
    pub parent: Option<Arc<str>>,
    /// The uuid of the root of the provider's tree; for a root the provider's own uuid.
    pub root: Arc<str>,
    pub modified: Moment,
}

/// `POST /resource_providers`. `uuid` is in its canonical form.
#[derive(Debug, Clone)]
pub struct Create {
    pub uuid: String,
    pub name: String,
    pub parent: Option<String>,
}

/// `PUT /resource_providers/{uuid}`.
#[derive(Debug, Clone)]
pub struct Update {
    pub uuid: String,
    pub name: String,
    pub parent: NewParent,
    /// From 1.37 a provider with a parent may get a different parent, or none.
    pub may_reparent: bool,
}

/// The parent in an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewParent {
    /// Not mentioned: the parent stays.
    Keep,
    /// The new parent, or none.
    Set(Option<String>),
}

/// `DELETE /resource_providers/{uuid}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub uuid: String,
}

/// A provider with the uuids of its parent and its root.
#[derive(Queryable)]
struct ProviderTreeRow {
    uuid: String,
    name: Option<String>,
    generation: Option<i32>,
    parent: Option<String>,
    root: String,
    updated_at: Option<NaiveDateTime>,
    created_at: Option<NaiveDateTime>,
}

/// As [`show`], in a single statement.
pub async fn fetch(reader: Reader, uuid: String) -> Result<Provider> {
    reader.ask(move |conn| show(conn, &uuid)).await
}

/// When a provider was last updated; `None` if never.
pub async fn fetch_last_update(reader: Reader, uuid: String) -> Result<Option<Moment>> {
    let read = reader.ask(move |conn| {
        let found: Option<Option<NaiveDateTime>> = table::table
            .filter(table::uuid.eq(&uuid))
            .select(table::updated_at)
            .first(conn)
            .optional()?;
        let updated_at = found.ok_or_else(|| Error::ProviderNotFound { uuid: uuid.clone() })?;
        Ok(updated_at.map(|time| time.and_utc()))
    });
    read.await
}

/// As [`check_exists`], in a single statement.
pub async fn check_existence(reader: Reader, uuid: String) -> Result<()> {
    reader.ask(move |conn| check_exists(conn, &uuid)).await
}

/// One provider.
pub fn show(conn: &mut DbConnection, uuid: &str) -> Result<Provider> {
    let (parent, root) = diesel::alias!(table as parent, table as root);
    let row: Option<ProviderTreeRow> = table::table
        .inner_join(root.on(table::root_provider_id.eq(root.field(table::id).nullable())))
        .left_join(parent.on(table::parent_provider_id.eq(parent.field(table::id).nullable())))
        .filter(table::uuid.eq(uuid))
        .select((
            table::uuid,
            table::name,
            table::generation,
            parent.field(table::uuid).nullable(),
            root.field(table::uuid),
            table::updated_at,
            table::created_at,
        ))
        .first(conn)
        .optional()?;
    let Some(row) = row else {
        return Err(Error::ProviderNotFound { uuid: uuid.to_string() });
    };
    Ok(Provider {
        uuid: row.uuid.into(),
        name: row.name.unwrap_or_default().into(),
        generation: row.generation.unwrap_or_default().into(),
        parent: row.parent.map(Arc::from),
        root: row.root.into(),
        modified: modified(row.updated_at, row.created_at).unwrap_or_else(|| now().and_utc()),
    })
}

/// The version of a provider, read by one statement. While the version is the same, nothing under the guard of the
/// generation has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderVersion {
    /// Differs if the provider was deleted and created again. Within a second, times alone cannot show a new provider.
    pub id: ProviderId,
    pub generation: i64,
    /// In microseconds, as in the snapshot.
    pub modified: i64,
    /// When the newest inventory of the provider was written.
    pub inventories_updated_at: Option<Moment>,
}

/// A provider with the times of one of its inventories; `None` without an inventory.
#[derive(Queryable)]
struct VersionRow {
    id: i32,
    uuid: String,
    generation: Option<i32>,
    updated_at: Option<NaiveDateTime>,
    created_at: Option<NaiveDateTime>,
    inventory_times: Option<(Option<NaiveDateTime>, Option<NaiveDateTime>)>,
}

/// The versions of providers, by uuid.
pub fn versions(conn: &mut DbConnection, uuids: &[&str]) -> Result<HashMap<String, ProviderVersion>> {
    let rows: Vec<VersionRow> = on_each!(conn, conn => table::table
        .left_join(inventories::table.on(inventories::resource_provider_id.eq(table::id)))
        .filter(among(table::uuid, uuids))
        .select((
            table::id,
            table::uuid,
            table::generation,
            table::updated_at,
            table::created_at,
            (inventories::updated_at, inventories::created_at).nullable(),
        ))
        .load(conn))?;
    let mut found: HashMap<String, ProviderVersion> = HashMap::new();
    for row in rows {
        let version = found.entry(row.uuid).or_insert_with(|| ProviderVersion {
            id: ProviderId(row.id),
            generation: row.generation.unwrap_or_default().into(),
            modified: modified_micros(row.updated_at, row.created_at),
            inventories_updated_at: None,
        });
        let written = row
            .inventory_times
            .and_then(|(updated_at, created_at)| modified(updated_at, created_at));
        version.inventories_updated_at = version.inventories_updated_at.max(written);
    }
    Ok(found)
}

/// Refuses an unknown provider.
pub fn check_exists(conn: &mut DbConnection, uuid: &str) -> Result<()> {
    let found = find(conn, uuid)?;
    found
        .map(drop)
        .ok_or_else(|| Error::ProviderNotFound { uuid: uuid.to_string() })
}

/// The id and the generation of a provider. Callers read the generation before the rows under its guard.
pub(super) fn find(conn: &mut DbConnection, uuid: &str) -> QueryResult<Option<(i32, i64)>> {
    let row: Option<(i32, Option<i32>)> = table::table
        .filter(table::uuid.eq(uuid))
        .select((table::id, table::generation))
        .first(conn)
        .optional()?;
    Ok(row.map(|(id, generation)| (id, generation.unwrap_or_default().into())))
}

/// A provider's generation, and a joined row or `None`.
pub(super) type WithGeneration<T> = (Option<i32>, Option<T>);

/// A generation and a joined row, with the provider's uuid.
pub(super) type OfProvider<T> = (String, WithGeneration<T>);

/// Splits the result of a join into a provider's generation and the joined rows, all of one moment. `None` if the
/// provider does not exist. A provider without joined rows is one row with `None`.
pub(super) fn with_generation<T>(rows: Vec<WithGeneration<T>>) -> Option<(i64, Vec<T>)> {
    let (generation, _) = rows.first()?;
    let generation = generation.unwrap_or_default().into();
    Some((generation, rows.into_iter().filter_map(|(_, joined)| joined).collect()))
}

/// As `with_generation`, for several providers, by uuid. Sorts by the id of the joined row: MariaDB would sort the rows
/// of several tables in a temporary table.
pub(super) fn group_by_provider<T>(mut rows: Vec<OfProvider<(i32, T)>>) -> HashMap<String, (i64, Vec<T>)> {
    rows.sort_unstable_by_key(|(_, (_, joined))| joined.as_ref().map(|(id, _)| *id));
    let mut found: HashMap<String, (i64, Vec<T>)> = HashMap::new();
    for (uuid, (generation, joined)) in rows {
        let generation = generation.unwrap_or_default().into();
        let (_, all) = found.entry(uuid).or_insert_with(|| (generation, Vec::new()));
        all.extend(joined.map(|(_, row)| row));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_rows_are_ordered_by_id_and_a_provider_without_rows_is_present() {
        let row = |uuid: &str, joined: Option<(i32, char)>| (uuid.to_owned(), (Some(1), joined));
        let rows = vec![
            row("a", Some((7, 'z'))),
            row("b", Some((5, 'y'))),
            row("a", Some((3, 'x'))),
            row("c", None),
        ];
        let found = group_by_provider(rows);
        let all = |uuid: &str| found.get(uuid).map(|(_, all)| all.iter().collect::<String>());
        assert_eq!(
            (all("a").as_deref(), all("b").as_deref(), all("c").as_deref()),
            (Some("xz"), Some("y"), Some(""))
        );
    }
}
