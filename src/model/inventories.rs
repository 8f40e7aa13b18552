//! Inventories: the amount of each class of a provider.

use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::reads::reader::Reader;
use super::resource_providers::with_generation;
use super::{Moment, modified};
use crate::db::DbConnection;
use crate::db::engines::dialect::ratio;
use crate::db::schema::{inventories, resource_classes, resource_providers as providers};
use crate::error::{Error, Result};
pub use crate::search::Inventory;

/// All inventories of a provider, or the written or requested inventory.
#[derive(Debug, Clone, PartialEq)]
pub struct Inventories {
    pub provider: Arc<str>,
    /// The provider's generation.
    pub generation: i64,
    /// By class name, in the order of class ids.
    pub inventories: Vec<(Arc<str>, Inventory)>,
    /// When the newest inventory was written; `None` without inventories.
    pub modified: Option<Moment>,
}

/// `PUT …/inventories`: replaces all inventories.
#[derive(Debug, Clone)]
pub struct Replace {
    pub provider: String,
    pub generation: i64,
    pub inventories: Vec<(String, Inventory)>,
    /// From 1.26 `reserved` may equal `total`.
    pub reserved_may_equal_total: bool,
}

/// `POST …/inventories`: adds an inventory.
#[derive(Debug, Clone)]
pub struct Add {
    pub provider: String,
    pub class: String,
    pub inventory: Inventory,
    pub reserved_may_equal_total: bool,
}

/// `PUT …/inventories/{class}`.
#[derive(Debug, Clone)]
pub struct Update {
    pub provider: String,
    pub class: String,
    pub generation: i64,
    pub inventory: Inventory,
    pub reserved_may_equal_total: bool,
}

/// `DELETE …/inventories/{class}`.
#[derive(Debug, Clone)]
pub struct Remove {
    pub provider: String,
    pub class: String,
}

/// `DELETE …/inventories`.
#[derive(Debug, Clone)]
pub struct Clear {
    pub provider: String,
}

/// A row of the table, with the name of the class.
#[derive(Queryable, Selectable)]
#[diesel(table_name = inventories)]
struct InventoryRow {
    #[diesel(select_expression = resource_classes::name)]
    class: String,
    total: i32,
    reserved: i32,
    min_unit: i32,
    max_unit: i32,
    step_size: i32,
    allocation_ratio: f64,
    updated_at: Option<NaiveDateTime>,
    created_at: Option<NaiveDateTime>,
}

/// The inventories of a provider.
pub fn list(conn: &mut DbConnection, provider: &str) -> Result<Inventories> {
    read(conn, provider, |_| true)
}

/// As [`show`], in a single statement.
pub async fn fetch(reader: Reader, provider: String, class: String) -> Result<Inventories> {
    reader.ask(move |conn| show(conn, &provider, &class)).await
}

/// The inventory of a class, by the exact name of the class.
pub fn show(conn: &mut DbConnection, provider: &str, class: &str) -> Result<Inventories> {
    let found = read(conn, provider, |row| row.class == class)?;
    if found.inventories.is_empty() {
        return Err(Error::InventoryNotFound {
            class: class.to_string(),
            provider: provider.to_string(),
        });
    }
    Ok(found)
}

/// The inventories chosen by `is_wanted`.
fn read(conn: &mut DbConnection, provider: &str, is_wanted: impl Fn(&InventoryRow) -> bool) -> Result<Inventories> {
    let of_class = resource_classes::id.eq(inventories::resource_class_id);
    let rows = providers::table
        .left_join(inventories::table.on(inventories::resource_provider_id.eq(providers::id)))
        .left_join(resource_classes::table.on(of_class))
        .filter(providers::uuid.eq(provider))
        .order(inventories::resource_class_id)
        .select((providers::generation, Option::<InventoryRow>::as_select()))
        .load(conn)?;
    let Some((generation, mut rows)) = with_generation(rows) else {
        return Err(Error::ProviderNotFoundForInventories {
            uuid: provider.to_string(),
        });
    };
    rows.retain(is_wanted);
    let times = rows.iter().filter_map(|row| modified(row.updated_at, row.created_at));
    let newest = times.max();
    let named = rows.into_iter().map(|row| {
        let inventory = Inventory {
            total: row.total,
            reserved: row.reserved,
            min_unit: row.min_unit,
            max_unit: row.max_unit,
            step_size: row.step_size,
            allocation_ratio: ratio(conn, row.allocation_ratio),
        };
        (row.class.into(), inventory)
    });
    Ok(Inventories {
        provider: provider.into(),
        generation,
        modified: newest,
        inventories: named.collect(),
    })
}
