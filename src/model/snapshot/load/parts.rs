//! Joins the rows of several tables, read at the same moment, into the rows of providers.

use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::db::DbConnection;
use crate::db::claim_rows::InventoryColumns;
use crate::db::engines::dialect::ratio;
use crate::model::modified_micros;
use crate::search::{AggregateId, ClassId, Inventory, ProviderId, ProviderRow, TraitId};

/// The rows of each table. Rows of an unknown provider are ignored.
#[derive(Default)]
pub struct Parts {
    pub providers: Vec<ProviderColumns>,
    pub inventories: Vec<InventoryColumns>,
    pub used: Vec<UsedColumns>,
    /// Provider and trait.
    pub traits: Vec<(i32, i32)>,
    /// Provider and aggregate.
    pub aggregates: Vec<(i32, i32)>,
}

/// The sum of the allocations of a class from a provider.
#[derive(Queryable)]
pub struct UsedColumns {
    pub provider: i32,
    pub class: i32,
    pub used: Option<i64>,
}

/// A row of `resource_providers`.
#[derive(Queryable)]
pub struct ProviderColumns {
    id: i32,
    uuid: String,
    name: Option<String>,
    generation: Option<i32>,
    parent: Option<i32>,
    root: Option<i32>,
    created_at: Option<NaiveDateTime>,
    updated_at: Option<NaiveDateTime>,
}

impl Parts {
    /// Iterates tree by tree, roots first. Each row is built on demand: all rows together take twice the memory of the
    /// snapshot's columns, which are made from the rows.
    pub fn into_rows(mut self, conn: &DbConnection) -> impl ExactSizeIterator<Item = ProviderRow> + use<> {
        for columns in &mut self.inventories {
            columns.allocation_ratio = ratio(conn, columns.allocation_ratio);
        }
        sort(&mut self.inventories, |columns| columns.provider);
        sort(&mut self.used, |columns| columns.provider);
        sort(&mut self.traits, |pair| pair.0);
        sort(&mut self.aggregates, |pair| pair.0);
        let mut providers = std::mem::take(&mut self.providers);
        sort(&mut providers, |columns| {
            (columns.root(), columns.parent.is_some(), columns.id)
        });
        providers.into_iter().map(move |columns| self.row(columns))
    }

    fn row(&self, columns: ProviderColumns) -> ProviderRow {
        let id = columns.id;
        ProviderRow {
            id: ProviderId(id),
            root: ProviderId(columns.root()),
            uuid: columns.uuid.into(),
            name: columns.name.map_or_else(|| Arc::from(""), Arc::from),
            generation: columns.generation.unwrap_or(0).into(),
            parent: columns.parent.map(ProviderId),
            modified: modified_micros(columns.updated_at, columns.created_at),
            inventories: rows_of(id, &self.inventories, |columns| columns.provider)
                .map(inventory)
                .collect(),
            used: rows_of(id, &self.used, |columns| columns.provider)
                .map(|columns| (ClassId(columns.class), columns.used.unwrap_or(0)))
                .collect(),
            traits: rows_of(id, &self.traits, |pair| pair.0)
                .map(|pair| TraitId(pair.1))
                .collect(),
            aggregates: rows_of(id, &self.aggregates, |pair| pair.0)
                .map(|pair| AggregateId(pair.1))
                .collect(),
        }
    }
}

impl ProviderColumns {
    /// A provider without a place in a tree, for callers that do not need the place.
    pub fn unplaced(id: i32, uuid: String, name: Option<String>, generation: i32) -> ProviderColumns {
        ProviderColumns {
            id,
            uuid,
            name,
            generation: Some(generation),
            parent: None,
            root: None,
            created_at: None,
            updated_at: None,
        }
    }

    fn root(&self) -> i32 {
        self.root.unwrap_or(self.id)
    }
}

/// Sorts by `key`, and releases the spare capacity left by growth.
fn sort<T, K: Ord>(rows: &mut Vec<T>, key: impl FnMut(&T) -> K) {
    rows.shrink_to_fit();
    rows.sort_unstable_by_key(key);
}

/// The rows of a provider, from rows sorted by provider.
fn rows_of<T>(provider: i32, rows: &[T], provider_of: impl Fn(&T) -> i32) -> std::slice::Iter<'_, T> {
    let start = rows.partition_point(|row| provider_of(row) < provider);
    let count = rows[start..].partition_point(|row| provider_of(row) == provider);
    rows[start..start + count].iter()
}

fn inventory(columns: &InventoryColumns) -> (ClassId, Inventory) {
    let inventory = Inventory {
        total: columns.total,
        reserved: columns.reserved,
        min_unit: columns.min_unit,
        max_unit: columns.max_unit,
        step_size: columns.step_size,
        allocation_ratio: columns.allocation_ratio,
    };
    (ClassId(columns.class), inventory)
}
