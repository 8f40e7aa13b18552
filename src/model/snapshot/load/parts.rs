//! Joins the rows of the tables, all read in one moment, to providers.

use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::db::DbConnection;
use crate::db::engines::dialect::ratio;
use crate::model::modified_micros;
use crate::search::{AggregateId, ClassId, Inventory, ProviderId, ProviderRow, TraitId};

/// Rows of a provider that no longer exists are ignored.
pub(super) struct Parts {
    pub providers: Vec<ProviderColumns>,
    pub inventories: Vec<InventoryColumns>,
    pub used: Vec<UsedColumns>,
    /// Provider and trait.
    pub traits: Vec<(i32, i32)>,
    /// Provider and aggregate.
    pub aggregates: Vec<(i32, i32)>,
}

#[derive(Queryable)]
pub(super) struct InventoryColumns {
    provider: i32,
    class: i32,
    total: i32,
    reserved: i32,
    min_unit: i32,
    max_unit: i32,
    step_size: i32,
    allocation_ratio: f64,
}

/// The sum of the allocations of one class from one provider.
#[derive(Queryable)]
pub(super) struct UsedColumns {
    provider: i32,
    class: i32,
    used: Option<i64>,
}

#[derive(Queryable)]
pub(super) struct ProviderColumns {
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
    /// Iterates tree by tree, roots first. A row is built when it is asked for: the rows of all providers together take twice
    /// the memory of the columns that are made from them.
    pub fn into_rows(mut self, conn: &DbConnection) -> impl ExactSizeIterator<Item = ProviderRow> + use<> {
        for it in &mut self.inventories {
            it.allocation_ratio = ratio(conn, it.allocation_ratio);
        }
        sort(&mut self.inventories, |it| it.provider);
        sort(&mut self.used, |it| it.provider);
        sort(&mut self.traits, |it| it.0);
        sort(&mut self.aggregates, |it| it.0);
        let mut providers = std::mem::take(&mut self.providers);
        sort(&mut providers, |it| (it.root(), it.parent.is_some(), it.id));
        providers.into_iter().map(move |it| self.row(it))
    }

    fn row(&self, it: ProviderColumns) -> ProviderRow {
        let id = it.id;
        ProviderRow {
            id: ProviderId(id),
            root: ProviderId(it.root()),
            uuid: it.uuid.into(),
            name: it.name.map_or_else(|| Arc::from(""), Arc::from),
            generation: it.generation.unwrap_or(0).into(),
            parent: it.parent.map(ProviderId),
            modified: modified_micros(it.updated_at, it.created_at),
            inventories: of(id, &self.inventories, |it| it.provider).map(inventory).collect(),
            used: of(id, &self.used, |it| it.provider)
                .map(|it| (ClassId(it.class), it.used.unwrap_or(0)))
                .collect(),
            traits: of(id, &self.traits, |it| it.0).map(|it| TraitId(it.1)).collect(),
            aggregates: of(id, &self.aggregates, |it| it.0)
                .map(|it| AggregateId(it.1))
                .collect(),
        }
    }
}

impl ProviderColumns {
    fn root(&self) -> i32 {
        self.root.unwrap_or(self.id)
    }
}

/// Sorts by `key`, and releases the spare capacity left by growth.
fn sort<T, K: Ord>(rows: &mut Vec<T>, key: impl FnMut(&T) -> K) {
    rows.shrink_to_fit();
    rows.sort_unstable_by_key(key);
}

/// The rows of one provider, from rows sorted by provider.
fn of<T>(provider: i32, rows: &[T], whose: impl Fn(&T) -> i32) -> std::slice::Iter<'_, T> {
    let from = rows.partition_point(|it| whose(it) < provider);
    let count = rows[from..].partition_point(|it| whose(it) == provider);
    rows[from..from + count].iter()
}

fn inventory(it: &InventoryColumns) -> (ClassId, Inventory) {
    let inventory = Inventory {
        total: it.total,
        reserved: it.reserved,
        min_unit: it.min_unit,
        max_unit: it.max_unit,
        step_size: it.step_size,
        allocation_ratio: it.allocation_ratio,
    };
    (ClassId(it.class), inventory)
}
