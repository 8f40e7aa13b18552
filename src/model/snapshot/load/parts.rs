//! Joins the rows of the tables, all read in one moment, to providers.

use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::db::DbConnection;
use crate::db::engines::dialect::ratio;
use crate::model::modified_micros;
use crate::search::{AggregateId, ClassId, Inventory, ProviderId, ProviderRow, TraitId};

/// Provider, class, and the columns of an inventory, in the order of the table.
pub(super) type InventoryColumns = (i32, i32, i32, i32, i32, i32, i32, f64);

/// Rows of a provider that no longer exists are ignored.
pub(super) struct Parts {
    pub providers: Vec<ProviderColumns>,
    pub inventories: Vec<InventoryColumns>,
    pub used: Vec<(i32, i32, Option<i64>)>,
    pub traits: Vec<(i32, i32)>,
    pub aggregates: Vec<(i32, i32)>,
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
        self.inventories.iter_mut().for_each(|it| it.7 = ratio(conn, it.7));
        sort(&mut self.inventories, |it| it.0);
        sort(&mut self.used, |it| it.0);
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
            inventories: of(id, &self.inventories, |it| it.0).map(inventory).collect(),
            used: of(id, &self.used, |it| it.0)
                .map(|&(_, class, used)| (ClassId(class), used.unwrap_or(0)))
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

fn inventory(
    &(_, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio): &InventoryColumns,
) -> (ClassId, Inventory) {
    let inventory = Inventory {
        total,
        reserved,
        min_unit,
        max_unit,
        step_size,
        allocation_ratio,
    };
    (ClassId(class), inventory)
}
