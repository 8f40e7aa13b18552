//! Providers of resources and the trees they form.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::{Moment, modified, modified_micros};
use crate::db::DbConnection;
use crate::db::dialect::{among, now, on_each};
use crate::db::schema::{inventories, resource_providers as table};
use crate::error::{Error, Result};
use crate::search::ProviderId;

/// A provider as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub uuid: Arc<str>,
    pub name: Arc<str>,
    pub generation: i64,
    /// The uuid of the parent; a root has none.
    pub parent: Option<Arc<str>>,
    /// The uuid of the root of its tree; a root's own.
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
    /// From 1.37 a provider that has a parent may get another one, or none.
    pub may_reparent: bool,
}

/// What an update says of the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewParent {
    /// Nothing: the parent stays.
    Keep,
    /// It is to be this one, or none.
    Set(Option<String>),
}

/// `DELETE /resource_providers/{uuid}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub uuid: String,
}

/// One provider.
pub fn show(conn: &mut DbConnection, uuid: &str) -> Result<Provider> {
    let (parent, root) = diesel::alias!(table as parent, table as root);
    #[expect(clippy::type_complexity, reason = "a row")]
    let row: Option<(
        String,
        Option<String>,
        Option<i32>,
        Option<String>,
        String,
        Option<NaiveDateTime>,
        Option<NaiveDateTime>,
    )> = table::table
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
    let Some((uuid, name, generation, parent, root, updated_at, created_at)) = row else {
        return Err(Error::ProviderNotFound { uuid: uuid.to_string() });
    };
    Ok(Provider {
        uuid: uuid.into(),
        name: name.unwrap_or_default().into(),
        generation: generation.unwrap_or_default().into(),
        parent: parent.map(Arc::from),
        root: root.into(),
        modified: modified(updated_at, created_at).unwrap_or_else(|| now().and_utc()),
    })
}

/// A provider as one statement saw it: by what to know whether anything has changed that its generation guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Another one than before where it was deleted and made again, within a second for all that times tell.
    pub id: ProviderId,
    pub generation: i64,
    /// In microseconds, as the snapshot has it.
    pub modified: i64,
    /// When the newest of its inventories was written.
    pub stocked: Option<Moment>,
}

/// Some providers, by uuid.
pub fn seen(conn: &mut DbConnection, uuids: &[&str]) -> Result<HashMap<String, Seen>> {
    type Times = (Option<NaiveDateTime>, Option<NaiveDateTime>);
    type Row = (i32, String, Option<i32>, Times, Option<Times>);
    let rows: Vec<Row> = on_each!(conn, conn => table::table
        .left_join(inventories::table.on(inventories::resource_provider_id.eq(table::id)))
        .filter(among(table::uuid, uuids))
        .select((
            table::id,
            table::uuid,
            table::generation,
            (table::updated_at, table::created_at),
            (inventories::updated_at, inventories::created_at).nullable(),
        ))
        .load(conn))?;
    let mut found: HashMap<String, Seen> = HashMap::new();
    for (id, uuid, generation, (updated_at, created_at), written) in rows {
        let seen = found.entry(uuid).or_insert_with(|| Seen {
            id: ProviderId(id),
            generation: generation.unwrap_or_default().into(),
            modified: modified_micros(updated_at, created_at),
            stocked: None,
        });
        seen.stocked = seen
            .stocked
            .max(written.and_then(|(updated_at, created_at)| modified(updated_at, created_at)));
    }
    Ok(found)
}

/// Whether there is such a provider.
pub fn exists(conn: &mut DbConnection, uuid: &str) -> Result<()> {
    match find(conn, uuid)? {
        Some(_) => Ok(()),
        None => Err(Error::ProviderNotFound { uuid: uuid.to_string() }),
    }
}

/// When a provider was last changed; `None` where it is as it was made.
pub fn updated(conn: &mut DbConnection, uuid: &str) -> Result<Option<Moment>> {
    let row: Option<Option<NaiveDateTime>> = table::table
        .filter(table::uuid.eq(uuid))
        .select(table::updated_at)
        .first(conn)
        .optional()?;
    let updated = row.ok_or_else(|| Error::ProviderNotFound { uuid: uuid.to_string() })?;
    Ok(updated.map(|time| time.and_utc()))
}

/// The id and the generation of a provider. Read before what the generation guards.
pub(super) fn find(conn: &mut DbConnection, uuid: &str) -> QueryResult<Option<(i32, i64)>> {
    let row: Option<(i32, Option<i32>)> = table::table
        .filter(table::uuid.eq(uuid))
        .select((table::id, table::generation))
        .first(conn)
        .optional()?;
    Ok(row.map(|(id, generation)| (id, generation.unwrap_or_default().into())))
}

/// A provider's generation, and something that it may have.
pub(super) type Beside<T> = (Option<i32>, Option<T>);

/// The same with the provider's uuid.
pub(super) type OfOne<T> = (String, Beside<T>);

/// What one statement, which sees one moment, found beside a provider's generation; `None` where there is no provider. One
/// that has nothing is a row too.
pub(super) fn beside<T>(rows: Vec<Beside<T>>) -> Option<(i64, Vec<T>)> {
    let (generation, _) = rows.first()?;
    let generation = generation.unwrap_or_default().into();
    Some((generation, rows.into_iter().filter_map(|(_, beside)| beside).collect()))
}

/// The same of several providers, by uuid, in the order of their ids: to sort rows of several tables MariaDB makes a table of
/// them.
pub(super) fn beside_each_by_id<T>(mut rows: Vec<OfOne<(i32, T)>>) -> HashMap<String, (i64, Vec<T>)> {
    rows.sort_unstable_by_key(|(_, (_, beside))| beside.as_ref().map(|(id, _)| *id));
    let mut found: HashMap<String, (i64, Vec<T>)> = HashMap::new();
    for (uuid, (generation, beside)) in rows {
        let generation = generation.unwrap_or_default().into();
        let (_, all) = found.entry(uuid).or_insert_with(|| (generation, Vec::new()));
        all.extend(beside.map(|(_, it)| it));
    }
    found
}

/// When a provider was last updated; `None` if never.
pub fn last_update(conn: &mut DbConnection, uuid: &str) -> Result<Option<Moment>> {
    let found: Option<Option<NaiveDateTime>> = table::table
        .filter(table::uuid.eq(uuid))
        .select(table::updated_at)
        .first(conn)
        .optional()?;
    let updated_at = found.ok_or_else(|| Error::ProviderNotFound { uuid: uuid.to_owned() })?;
    Ok(updated_at.map(|time| time.and_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_have_is_in_the_order_of_ids_and_who_has_nothing_is_there() {
        let row = |uuid: &str, beside: Option<(i32, char)>| (uuid.to_owned(), (Some(1), beside));
        let rows = vec![
            row("a", Some((7, 'z'))),
            row("b", Some((5, 'y'))),
            row("a", Some((3, 'x'))),
            row("c", None),
        ];
        let found = beside_each_by_id(rows);
        let all = |uuid: &str| found.get(uuid).map(|(_, all)| all.iter().collect::<String>());
        assert_eq!(
            (all("a").as_deref(), all("b").as_deref(), all("c").as_deref()),
            (Some("xz"), Some("y"), Some(""))
        );
    }
}
