//! Reads the rows that decide whether claims and releases are refused, by one statement. A single statement is a
//! consistent read without a transaction, and so one round trip.
//!
//! The text of the statement depends only on the number of keys, padded to a power of two. So a connection prepares few
//! texts, each once. Text columns are cast, because MariaDB does not unite texts of different collations.
//!
//! Measured with 32 clients on 2 cores, 10% of the claims refused, on PostgreSQL and MariaDB. A request took 1.2 times
//! the CPU time, of placet and server, of a request without refusals. With BEGIN, eleven statements and COMMIT the
//! factor was 1.5.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Double, Integer, Nullable, Text};

use super::engines::dialect::{bigint_cast, on_each, text_cast};
use super::engines::rows::Value;
use super::engines::rows::statement::{Bound, Fragment, Statement};
use super::{DbConnection, DbResult};

/// The maximum number of keys of a kind in the statement.
const KEYS_MAX: usize = 1024;

/// The keys of the rows to read.
#[derive(Debug, Clone, Default)]
pub struct ClaimKeys<'a> {
    pub consumers: Vec<&'a str>,
    /// Uuids of providers.
    pub providers: Vec<&'a str>,
    /// Ids of providers, whose inventories and usage are read.
    pub provider_ids: Vec<i32>,
    /// Names of classes.
    pub classes: Vec<&'a str>,
}

/// A row, by its table. Usage is a sum over allocations.
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimRow {
    Consumer {
        uuid: String,
        generation: i32,
    },
    Allocation {
        consumer: String,
        provider: i32,
        class: i32,
        used: i32,
    },
    Provider {
        id: i32,
        uuid: String,
        generation: i32,
    },
    Inventory(InventoryColumns),
    Usage {
        provider: i32,
        class: i32,
        used: i64,
    },
    Class {
        id: i32,
        name: String,
    },
}

/// A row of `inventories`, without its times.
#[derive(Debug, Clone, PartialEq, Queryable)]
pub struct InventoryColumns {
    pub provider: i32,
    pub class: i32,
    pub total: i32,
    pub reserved: i32,
    pub min_unit: i32,
    pub max_unit: i32,
    pub step_size: i32,
    pub allocation_ratio: f64,
}

/// A column after `number` is NULL in rows of tables without the column.
#[derive(Queryable)]
struct ClaimColumns {
    kind: i32,
    id: i32,
    class: i32,
    text: String,
    number: i32,
    sum: Option<i64>,
    reserved: Option<i32>,
    min_unit: Option<i32>,
    max_unit: Option<i32>,
    step_size: Option<i32>,
    allocation_ratio: Option<f64>,
}

#[rustfmt::skip]
type ColumnTypes = (
    Integer, Integer, Integer, Text, Integer,
    Nullable<BigInt>, Nullable<Integer>, Nullable<Integer>, Nullable<Integer>, Nullable<Integer>, Nullable<Double>,
);

const INVENTORY: i32 = 0;
const USAGE: i32 = 1;
const PROVIDER: i32 = 2;
const CLASS: i32 = 3;
const CONSUMER: i32 = 4;
const ALLOCATION: i32 = 5;

/// The rows of the keys. `None` if there are too many keys for one statement.
pub fn read(conn: &mut DbConnection, keys: &ClaimKeys<'_>) -> DbResult<Option<Vec<ClaimRow>>> {
    let Some(statement) = statement(conn, keys) else {
        return Ok(None);
    };
    let rows: Vec<ClaimColumns> = on_each!(conn, inner => statement.load(inner))?;
    Ok(Some(rows.into_iter().map(ClaimRow::from).collect()))
}

fn statement(conn: &DbConnection, keys: &ClaimKeys<'_>) -> Option<Statement<ColumnTypes>> {
    let ClaimKeys {
        consumers,
        providers,
        provider_ids,
        classes,
    } = keys;
    let lengths = [consumers.len(), providers.len(), provider_ids.len(), classes.len()];
    let width = lengths
        .into_iter()
        .max()
        .filter(|most| *most <= KEYS_MAX)?
        .next_power_of_two();
    let texts = |keys: &[&str]| padded(keys, "", width, |key| Value::Text(key.to_owned()));
    let numbers = |keys: &[i32]| padded(keys, 0, width, |key| Value::Int(key.into()));
    let (ids, consumers) = (numbers(provider_ids), texts(consumers));
    let bound = [
        ids.clone(),
        ids,
        texts(providers),
        texts(classes),
        consumers.clone(),
        consumers,
    ];
    let keys = vec!["?"; width].join(", ");
    let (bigint, char) = (bigint_cast(conn), text_cast(conn));
    // The first part has no NULL, and so gives each column its type. All further parts have the same types, so
    // PostgreSQL needs no projection of each part.
    let text = format!(
        "SELECT {INVENTORY}, i.resource_provider_id, i.resource_class_id, CAST('' AS {char}), i.total, \
         CAST(0 AS {bigint}), i.reserved, i.min_unit, i.max_unit, i.step_size, i.allocation_ratio \
         FROM inventories i WHERE i.resource_provider_id IN ({keys}) \
         UNION ALL SELECT {USAGE}, u.resource_provider_id, u.resource_class_id, '', 0, \
         CAST(SUM(u.used) AS {bigint}), NULL, NULL, NULL, NULL, NULL FROM allocations u \
         WHERE u.resource_provider_id IN ({keys}) GROUP BY u.resource_provider_id, u.resource_class_id \
         UNION ALL SELECT {PROVIDER}, p.id, 0, CAST(p.uuid AS {char}), COALESCE(p.generation, 0), \
         NULL, NULL, NULL, NULL, NULL, NULL FROM resource_providers p WHERE p.uuid IN ({keys}) \
         UNION ALL SELECT {CLASS}, r.id, 0, CAST(r.name AS {char}), 0, NULL, NULL, NULL, NULL, NULL, NULL \
         FROM resource_classes r WHERE r.name IN ({keys}) \
         UNION ALL SELECT {CONSUMER}, 0, 0, CAST(c.uuid AS {char}), c.generation, \
         NULL, NULL, NULL, NULL, NULL, NULL FROM consumers c WHERE c.uuid IN ({keys}) \
         UNION ALL SELECT {ALLOCATION}, a.resource_provider_id, a.resource_class_id, CAST(a.consumer_id AS {char}), a.used, \
         NULL, NULL, NULL, NULL, NULL, NULL FROM allocations a WHERE a.consumer_id IN ({keys})"
    );
    let bound = bound.into_iter().flatten().map(Bound::Value).collect();
    Some(Fragment { text, bound }.cached())
}

/// The keys, padded to `width` with the last key. Without keys, `absent`, which no row has.
fn padded<K: Copy>(keys: &[K], absent: K, width: usize, value: impl Fn(K) -> Value) -> Vec<Value> {
    let last = keys.last().copied().unwrap_or(absent);
    (0..width)
        .map(|at| value(keys.get(at).copied().unwrap_or(last)))
        .collect()
}

impl From<ClaimColumns> for ClaimRow {
    fn from(row: ClaimColumns) -> ClaimRow {
        match row.kind {
            INVENTORY => ClaimRow::Inventory(InventoryColumns {
                provider: row.id,
                class: row.class,
                total: row.number,
                reserved: row.reserved.unwrap_or_default(),
                min_unit: row.min_unit.unwrap_or_default(),
                max_unit: row.max_unit.unwrap_or_default(),
                step_size: row.step_size.unwrap_or_default(),
                allocation_ratio: row.allocation_ratio.unwrap_or_default(),
            }),
            USAGE => ClaimRow::Usage {
                provider: row.id,
                class: row.class,
                used: row.sum.unwrap_or_default(),
            },
            PROVIDER => ClaimRow::Provider {
                id: row.id,
                uuid: row.text,
                generation: row.number,
            },
            CLASS => ClaimRow::Class {
                id: row.id,
                name: row.text,
            },
            CONSUMER => ClaimRow::Consumer {
                uuid: row.text,
                generation: row.number,
            },
            _ => ClaimRow::Allocation {
                consumer: row.text,
                provider: row.id,
                class: row.class,
                used: row.number,
            },
        }
    }
}
