//! `/resource_providers/{uuid}/inventories`.

use serde::Serialize;

use super::output::{Map, json};
use super::schema::Steps;
use super::value::Value;
use crate::error::{Error, Result};
use crate::model::inventories::{Add, Inventories, Inventory, Replace, Update};
use crate::version::{RESERVED_EQUAL_TOTAL, Version};

const SCHEMAS: &str = include_str!("schemas/inventories.json");
static POST: Steps = Steps::of_body(SCHEMAS, "post");
static PUT: Steps = Steps::of_body(SCHEMAS, "put");
static PUT_ALL: Steps = Steps::of_body(SCHEMAS, "put_all");

/// Reads `PUT …/inventories`.
pub fn read_replace(version: Version, provider: &str, body: &[u8]) -> Result<Replace> {
    let body = PUT_ALL.read(version, body)?;
    Ok(Replace {
        provider: provider.to_owned(),
        generation: body.field("resource_provider_generation").integer(),
        inventories: of_provider(provider, &body)?,
        reserved_may_equal_total: version >= RESERVED_EQUAL_TOTAL,
    })
}

/// The inventories by class that a provider is to have.
pub fn of_provider(provider: &str, body: &Value) -> Result<Vec<(String, Inventory)>> {
    let inventories = body.field("inventories").members();
    inventories
        .map(|(class, value)| Ok((class.to_owned(), inventory(provider, class, value)?)))
        .collect()
}

/// Reads `POST …/inventories`. A generation in it is not looked at.
pub fn read_add(version: Version, provider: &str, body: &[u8]) -> Result<Add> {
    let body = POST.read(version, body)?;
    let class = body.field("resource_class").text();
    Ok(Add {
        provider: provider.to_owned(),
        class: class.to_owned(),
        inventory: inventory(provider, class, &body)?,
        reserved_may_equal_total: version >= RESERVED_EQUAL_TOTAL,
    })
}

/// Reads `PUT …/inventories/{class}`.
pub fn read_update(version: Version, provider: &str, class: &str, body: &[u8]) -> Result<Update> {
    let body = PUT.read(version, body)?;
    Ok(Update {
        provider: provider.to_owned(),
        class: class.to_owned(),
        generation: body.field("resource_provider_generation").integer(),
        inventory: inventory(provider, class, &body)?,
        reserved_may_equal_total: version >= RESERVED_EQUAL_TOTAL,
    })
}

/// An inventory with its defaults. Under a name that can be no class the schema judges nothing: whatever stands there
/// is read as far as it goes, and refused with the class.
fn inventory(provider: &str, class: &str, body: &Value) -> Result<Inventory> {
    let amount = |name: &str, default: i32| match body.get(name) {
        Some(value) => i32::try_from(value.integer()).unwrap_or(i32::MAX),
        None => default,
    };
    let allocation_ratio = body.get("allocation_ratio").and_then(Value::float).unwrap_or(1.0);
    if !allocation_ratio.is_finite() {
        return Err(Error::BadRequest {
            detail: format!(
                "Bad inventory {class} for resource provider {provider}: allocation_ratio must be a finite number"
            ),
        });
    }
    Ok(Inventory {
        total: amount("total", 0),
        reserved: amount("reserved", 0),
        min_unit: amount("min_unit", 1),
        max_unit: amount("max_unit", i32::MAX),
        step_size: amount("step_size", 1),
        allocation_ratio,
    })
}

#[derive(Serialize)]
struct One {
    total: i32,
    reserved: i32,
    min_unit: i32,
    max_unit: i32,
    step_size: i32,
    allocation_ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider_generation: Option<i64>,
}

#[derive(Serialize)]
struct All<T> {
    resource_provider_generation: i64,
    inventories: T,
}

fn one(inventory: &Inventory, resource_provider_generation: Option<i64>) -> One {
    let &Inventory {
        total,
        reserved,
        min_unit,
        max_unit,
        step_size,
        allocation_ratio,
    } = inventory;
    One {
        total,
        reserved,
        min_unit,
        max_unit,
        step_size,
        allocation_ratio,
        resource_provider_generation,
    }
}

/// Writes the one inventory that was asked for or written. A generation of 0 is left out, as clients know it.
pub fn write_one(view: &Inventories) -> Option<Vec<u8>> {
    let (_, inventory) = view.inventories.first()?;
    Some(json(&one(
        inventory,
        Some(view.generation).filter(|generation| *generation != 0),
    )))
}

/// Writes the inventories of a provider.
pub fn write_all(view: &Inventories) -> Vec<u8> {
    json(&All {
        resource_provider_generation: view.generation,
        inventories: Map(|| {
            view.inventories
                .iter()
                .map(|(class, inventory)| (&**class, one(inventory, None)))
        }),
    })
}

#[cfg(test)]
mod tests;
