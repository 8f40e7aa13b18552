//! The types of providers (`/v1/types`): properties of all providers of a type.
//!
//! The description of a provider names the type by a text. A type without a row has no properties.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::batch::entry::Entry;
use super::batch::own_tables::OwnRow;
use super::pages;
use super::providers::{decode_properties, encode_properties};
use super::reads::reader::Reader;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::placet_types as table;
use crate::db::{DbConnection, DbResult};
use crate::error::{Error, Result};
use crate::search::Properties;

/// A type, as clients see the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownType {
    pub name: String,
    pub generation: i64,
    pub properties: Properties,
}

/// `PUT` and `PATCH /v1/types/{name}`.
#[derive(Debug, Clone)]
pub struct Set {
    pub name: String,
    /// The generation known to the caller; `None` if the type is new.
    pub generation: Option<i64>,
    pub properties: Properties,
}

/// `DELETE /v1/types/{name}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub name: String,
    /// The generation known to the caller; `None`: any generation.
    pub generation: Option<i64>,
}

/// A row of `placet_types`, without the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeRow {
    pub generation: i64,
    pub properties: Properties,
}

impl TypeRow {
    /// A body of an unknown form gives no properties.
    fn new(name: &str, generation: i64, body: &str) -> TypeRow {
        let properties = decode_properties(body).unwrap_or_else(|| {
            log::error!(
                "placet_types has properties of the type '{name}' that cannot be read; they are ignored: set them again"
            );
            Properties::new()
        });
        TypeRow { generation, properties }
    }

    pub fn shown(self, name: &str) -> ShownType {
        ShownType {
            name: name.to_owned(),
            generation: self.generation,
            properties: self.properties,
        }
    }
}

/// The refusal of a type without a row.
pub fn not_found(name: &str) -> Error {
    Error::NotFound {
        noun: format!("type {name}"),
    }
}

/// A page of types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub limit: usize,
    /// Only types with a greater name.
    pub after: Option<String>,
}

/// The types of a page, by name, and the name after which the next page begins.
pub async fn fetch_list(reader: Reader, page: Page) -> Result<(Vec<ShownType>, Option<String>)> {
    let Page { limit, after } = page;
    let read = reader.ask(move |conn| {
        let rows: Vec<(String, i64, String)> = table::table
            .filter(table::name.gt(after.as_deref().unwrap_or_default()))
            .order(table::name)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
            .select((table::name, table::generation, table::body))
            .load(conn)?;
        Ok(rows)
    });
    let (rows, has_more) = pages::cut(read.await?, limit, |(_, _, body)| body.len());
    let next = rows.last().filter(|_| has_more).map(|(name, ..)| name.clone());
    let types = rows
        .into_iter()
        .map(|(name, generation, body)| TypeRow::new(&name, generation, &body).shown(&name));
    Ok((types.collect(), next))
}

/// The type with this name.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn fetch(reader: Reader, name: String) -> Result<ShownType> {
    let read = reader.ask(move |conn| {
        let row = TypeRow::rows(conn, &[name.as_str()])?.remove(&name);
        row.map(|row| row.shown(&name)).ok_or_else(|| not_found(&name))
    });
    read.await
}

impl OwnRow for TypeRow {
    const TABLE: &'static str = "placet_types";
    const IS_DECLARED: bool = true;

    fn rows(conn: &mut DbConnection, names: &[&str]) -> DbResult<BTreeMap<String, TypeRow>> {
        let rows: Vec<(String, i64, String)> = in_lists(names, |names| {
            table::table
                .filter(table::name.eq_any(names))
                .select((table::name, table::generation, table::body))
                .load(&mut *conn)
        })?;
        let rows = rows.into_iter().map(|(name, generation, body)| {
            let row = TypeRow::new(&name, generation, &body);
            (name, row)
        });
        Ok(rows.collect())
    }

    /// Guard: the generation before the batch; for a new type the primary key.
    fn write(conn: &mut DbConnection, now: NaiveDateTime, name: &str, entry: &Entry<TypeRow>) -> DbResult<usize> {
        let base = entry.base.as_ref().map(|base| base.generation);
        let known = table::table
            .filter(table::name.eq(name))
            .filter(table::generation.eq(base.unwrap_or_default()));
        let Some(TypeRow { generation, properties }) = &entry.now else {
            return diesel::delete(known).execute(conn);
        };
        let row = (
            table::generation.eq(generation),
            table::body.eq(encode_properties(properties)),
        );
        if base.is_none() {
            let row = (table::name.eq(name), table::created_at.eq(now), row);
            return diesel::insert_into(table::table).values(row).execute(conn);
        }
        diesel::update(known)
            .set((table::updated_at.eq(now), row))
            .execute(conn)
    }
}

/// The properties of all types, by name.
pub fn properties_of_types(conn: &mut DbConnection) -> DbResult<BTreeMap<Arc<str>, Properties>> {
    let rows: Vec<(String, i64, String)> = table::table
        .select((table::name, table::generation, table::body))
        .load(conn)?;
    let types = rows.into_iter().map(|(name, generation, body)| {
        let TypeRow { properties, .. } = TypeRow::new(&name, generation, &body);
        (name.into(), properties)
    });
    Ok(types.collect())
}
