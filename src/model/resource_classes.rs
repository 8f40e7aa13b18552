//! Resource classes: the standard classes with their fixed ids, and custom classes from id 10000.

use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::reads::reader::Reader;
use super::{Moment, modified};
use crate::db::DbConnection;
use crate::db::schema::resource_classes as table;
use crate::error::{Error, Result};

/// One resource class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceClass {
    pub name: Arc<str>,
    /// `None` for a standard class, which OpenStack Placement stores without a time.
    pub modified: Option<Moment>,
}

/// `POST /resource_classes`.
#[derive(Debug, Clone)]
pub struct Create {
    pub name: String,
}

/// `PUT /resource_classes/{name}` from 1.7.
#[derive(Debug, Clone)]
pub struct Ensure {
    pub name: String,
}

/// `PUT /resource_classes/{name}` before 1.7.
#[derive(Debug, Clone)]
pub struct Rename {
    pub from: String,
    pub to: String,
}

/// `DELETE /resource_classes/{name}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub name: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = table)]
struct ClassRow {
    name: String,
    updated_at: Option<NaiveDateTime>,
    created_at: Option<NaiveDateTime>,
}

impl From<ClassRow> for ResourceClass {
    fn from(row: ClassRow) -> ResourceClass {
        ResourceClass {
            name: row.name.into(),
            modified: modified(row.updated_at, row.created_at),
        }
    }
}

/// As [`list`], in a transaction.
pub async fn fetch_list(reader: Reader) -> Result<Vec<ResourceClass>> {
    reader.read(list).await
}

/// As [`show`], in a single statement.
pub async fn fetch(reader: Reader, name: String) -> Result<ResourceClass> {
    reader.ask(move |conn| show(conn, &name)).await
}

/// All resource classes, by id: the standard classes first.
pub fn list(conn: &mut DbConnection) -> Result<Vec<ResourceClass>> {
    let rows: Vec<ClassRow> = table::table.order(table::id).select(ClassRow::as_select()).load(conn)?;
    Ok(rows.into_iter().map(ResourceClass::from).collect())
}

/// One resource class, by its exact name: MariaDB's collation also finds different spellings.
pub fn show(conn: &mut DbConnection, name: &str) -> Result<ResourceClass> {
    let row: Option<ClassRow> = table::table
        .filter(table::name.eq(name))
        .select(ClassRow::as_select())
        .first(conn)
        .optional()?;
    row.filter(|row| row.name == name)
        .map(ResourceClass::from)
        .ok_or_else(|| Error::ClassNotFound { name: name.to_string() })
}
