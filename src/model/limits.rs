//! The normal limits of resource classes (`/v1/limits`): how far a class is used on normal days, below the capacity.
//!
//! A limit belongs to the name of a class, not to the class id. A foreign writer may delete a class and create a
//! different class, which gets the same id.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::batch::entry::Entry;
use super::batch::own_tables::OwnRow;
use super::reads::reader::Reader;
use super::{pages, resource_classes};
use crate::db::engines::dialect::in_lists;
use crate::db::schema::placet_limits as table;
use crate::db::{DbConnection, DbResult};
use crate::error::Result;
use crate::search::NormalLimit;

/// The normal limit of a class, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    pub class: String,
    /// `None` if the limit was never set.
    pub generation: Option<i64>,
    /// `None` if the class has no normal limit.
    pub normal: Option<NormalLimit>,
}

/// `PUT /v1/limits/{class}`.
#[derive(Debug, Clone)]
pub struct Set {
    pub class: String,
    /// The generation that the caller knows; `None` if the limit was never set.
    pub generation: Option<i64>,
    pub normal: Option<NormalLimit>,
}

/// A row of `placet_limits`, without the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitRow {
    pub generation: i64,
    pub normal: Option<NormalLimit>,
}

impl Limit {
    pub fn new(class: &str, row: Option<LimitRow>) -> Limit {
        Limit {
            class: class.to_owned(),
            generation: row.map(|row| row.generation),
            normal: row.and_then(|row| row.normal),
        }
    }
}

impl LimitRow {
    /// A text that this version cannot read limits nothing.
    fn new(generation: i64, normal: Option<String>) -> LimitRow {
        let normal = normal.and_then(|text| match text.parse() {
            Ok(normal) => Some(normal),
            Err(()) => {
                log::error!("placet_limits has the normal limit '{text}', which is ignored: set it again");
                None
            }
        });
        LimitRow { generation, normal }
    }
}

/// A page of limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub limit: usize,
    /// Only of classes with a greater name.
    pub after: Option<String>,
}

/// The limits of a page, by class, and the class after which the next page begins. Classes without a row are left out.
pub async fn fetch_list(reader: Reader, page: Page) -> Result<(Vec<Limit>, Option<String>)> {
    let Page { limit, after } = page;
    let read = reader.ask(move |conn| {
        let rows: Vec<(String, i64, Option<String>)> = table::table
            .filter(table::resource_class.gt(after.as_deref().unwrap_or_default()))
            .order(table::resource_class)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
            .select((table::resource_class, table::generation, table::normal))
            .load(conn)?;
        Ok(rows)
    });
    let (rows, has_more) = pages::cut(read.await?, limit, |_| 0);
    let next = rows.last().filter(|_| has_more).map(|(class, ..)| class.clone());
    let limits = rows
        .into_iter()
        .map(|(class, generation, normal)| Limit::new(&class, Some(LimitRow::new(generation, normal))));
    Ok((limits.collect(), next))
}

/// The limit of one class.
///
/// # Errors
/// [`crate::error::Error::ClassNotFound`].
pub async fn fetch(reader: Reader, class: String) -> Result<Limit> {
    let read = reader.read(move |conn| {
        resource_classes::show(conn, &class)?;
        let row = LimitRow::rows(conn, &[class.as_str()])?.remove(&class);
        Ok(Limit::new(&class, row))
    });
    read.await
}

impl OwnRow for LimitRow {
    const TABLE: &'static str = "placet_limits";
    const IS_DECLARED: bool = true;

    /// The rows of these classes. A class whose limit was never set has no row.
    fn rows(conn: &mut DbConnection, classes: &[&str]) -> DbResult<BTreeMap<String, LimitRow>> {
        let rows: Vec<(String, i64, Option<String>)> = in_lists(classes, |classes| {
            table::table
                .filter(table::resource_class.eq_any(classes))
                .select((table::resource_class, table::generation, table::normal))
                .load(&mut *conn)
        })?;
        let rows = rows
            .into_iter()
            .map(|(class, generation, normal)| (class, LimitRow::new(generation, normal)));
        Ok(rows.collect())
    }

    /// Guard: the generation that the batch was decided on; for a new limit the primary key. No limit is deleted.
    fn write(conn: &mut DbConnection, now: NaiveDateTime, class: &str, entry: &Entry<LimitRow>) -> DbResult<usize> {
        let Some(LimitRow { generation, normal }) = entry.now else {
            return Ok(0);
        };
        let normal = normal.map(|normal| normal.to_string());
        let Some(base) = entry.base else {
            let key = (table::resource_class.eq(class), table::created_at.eq(now));
            let row = (key, table::generation.eq(generation), table::normal.eq(normal));
            return diesel::insert_into(table::table).values(row).execute(conn);
        };
        let known = table::table
            .filter(table::resource_class.eq(class))
            .filter(table::generation.eq(base.generation));
        let row = (table::generation.eq(generation), table::normal.eq(normal));
        diesel::update(known)
            .set((table::updated_at.eq(now), row))
            .execute(conn)
    }
}

/// All normal limits, by the name of the class.
pub fn normal_limits(conn: &mut DbConnection) -> DbResult<BTreeMap<Arc<str>, NormalLimit>> {
    let rows: Vec<(String, i64, Option<String>)> = table::table
        .filter(table::normal.is_not_null())
        .select((table::resource_class, table::generation, table::normal))
        .load(conn)?;
    let limits = rows.into_iter().filter_map(|(class, generation, normal)| {
        let normal = LimitRow::new(generation, normal).normal?;
        Some((class.into(), normal))
    });
    Ok(limits.collect())
}
