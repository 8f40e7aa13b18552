//! Parses the requests to `/resource_providers/{uuid}/inventories`, and serializes the answers.

use indexmap::IndexMap;
use serde::Serialize;

use super::output::{Number, Pairs, json};
use super::steps::Steps;
use super::value::Json;
use crate::error::Result;
use crate::model::inventories::{Add, Inventories, Inventory, Replace, Update};
use crate::version::{RESERVED_EQUAL_TOTAL, Version};

const SCHEMAS: &str = include_str!("schemas/inventories.json");
static POST: Steps = Steps::of_body(SCHEMAS, "post");
static PUT: Steps = Steps::of_body(SCHEMAS, "put");
static PUT_ALL: Steps = Steps::of_body(SCHEMAS, "put_all");

/// Reads `PUT …/inventories`.
pub fn read_replace(version: Version, provider: &str, body: &[u8]) -> Result<(Replace, RawNumbers)> {
    let body = PUT_ALL.read(version, body)?;
    let replace = Replace {
        provider: provider.to_owned(),
        generation: body.field("resource_provider_generation").integer(),
        inventories: inventories_by_class(&body),
        reserved_may_equal_total: version >= RESERVED_EQUAL_TOTAL,
    };
    let raw = body.field("inventories").members();
    let raw = RawNumbers(
        raw.map(|(class, value)| (class.to_owned(), raw_numbers(value)))
            .collect(),
    );
    Ok((replace, raw))
}

/// The requested inventories of a provider, by class.
pub fn inventories_by_class(body: &Json) -> Vec<(String, Inventory)> {
    let inventories = body.field("inventories").members();
    inventories
        .map(|(class, value)| (class.to_owned(), inventory(value)))
        .collect()
}

/// Reads `POST …/inventories`. A generation in the body is ignored, as in OpenStack Placement.
pub fn read_add(version: Version, provider: &str, body: &[u8]) -> Result<(Add, RawNumbers)> {
    let body = POST.read(version, body)?;
    let class = body.field("resource_class").text();
    let add = Add {
        provider: provider.to_owned(),
        class: class.to_owned(),
        inventory: inventory(&body),
        reserved_may_equal_total: version >= RESERVED_EQUAL_TOTAL,
    };
    Ok((add, RawNumbers::one(class, &body)))
}

/// Reads `PUT …/inventories/{class}`.
pub fn read_update(version: Version, provider: &str, class: &str, body: &[u8]) -> Result<(Update, RawNumbers)> {
    let body = PUT.read(version, body)?;
    let update = Update {
        provider: provider.to_owned(),
        class: class.to_owned(),
        generation: body.field("resource_provider_generation").integer(),
        inventory: inventory(&body),
        reserved_may_equal_total: version >= RESERVED_EQUAL_TOTAL,
    };
    Ok((update, RawNumbers::one(class, &body)))
}

/// An inventory, with defaults for missing fields. The schema does not validate the value of an invalid class name. The
/// value is read as far as possible, and the request is refused later because of the class.
fn inventory(body: &Json) -> Inventory {
    let amount = |name: &str, default: i32| match body.get(name) {
        Some(value) => i32::try_from(value.integer()).unwrap_or(i32::MAX),
        None => default,
    };
    Inventory {
        total: amount("total", 0),
        reserved: amount("reserved", 0),
        min_unit: amount("min_unit", 1),
        max_unit: amount("max_unit", i32::MAX),
        step_size: amount("step_size", 1),
        allocation_ratio: body.get("allocation_ratio").and_then(Json::float).unwrap_or(1.0),
    }
}

/// An inventory's numbers, in the order of [`NAMES`].
type Numbers = [Number; 6];

const NAMES: [&str; 6] = [
    "total",
    "reserved",
    "min_unit",
    "max_unit",
    "step_size",
    "allocation_ratio",
];

fn numbers(inventory: &Inventory) -> Numbers {
    let whole = |number: i32| Number::Whole(i128::from(number));
    [
        whole(inventory.total),
        whole(inventory.reserved),
        whole(inventory.min_unit),
        whole(inventory.max_unit),
        whole(inventory.step_size),
        Number::Float(inventory.allocation_ratio),
    ]
}

/// The numbers of a request in the spelling of the client, by class. The answer to the request repeats the spelling
/// (`8.0`); later answers show the stored numbers (`8`).
#[derive(Debug)]
pub struct RawNumbers(IndexMap<String, Numbers>);

impl RawNumbers {
    fn one(class: &str, body: &Json) -> RawNumbers {
        RawNumbers(IndexMap::from([(class.to_owned(), raw_numbers(body))]))
    }
}

fn raw_numbers(body: &Json) -> Numbers {
    let mut numbers = numbers(&inventory(body));
    for (number, name) in numbers.iter_mut().zip(NAMES) {
        if let Some(number_in_body) = body.get(name).and_then(Number::from_value) {
            *number = number_in_body;
        }
    }
    numbers
}

#[derive(Serialize)]
struct All<'a> {
    resource_provider_generation: i64,
    inventories: Pairs<&'a str, Pairs<&'static str, Number>>,
}

/// The numbers of an inventory by name, and the provider's generation.
fn one(
    class: &str,
    inventory: &Inventory,
    raw: Option<&RawNumbers>,
    generation: Option<i64>,
) -> Pairs<&'static str, Number> {
    let raw = raw.and_then(|RawNumbers(classes)| classes.get(class).copied());
    let numbers = raw.unwrap_or_else(|| numbers(inventory));
    let generation = generation.map(|number| ("resource_provider_generation", Number::Whole(number.into())));
    NAMES.into_iter().zip(numbers).chain(generation).collect()
}

/// Writes a single inventory. As in OpenStack Placement, a generation of 0 is omitted.
pub fn write_one(view: &Inventories, raw: Option<&RawNumbers>) -> Option<Vec<u8>> {
    let (class, inventory) = view.inventories.first()?;
    Some(json(&one(
        class,
        inventory,
        raw,
        Some(view.generation).filter(|generation| *generation != 0),
    )))
}

/// Writes the inventories of a provider.
pub fn write_all(view: &Inventories, raw: Option<&RawNumbers>) -> Vec<u8> {
    let inventories = view.inventories.iter();
    json(&All {
        resource_provider_generation: view.generation,
        inventories: inventories
            .map(|(class, inventory)| (&**class, one(class, inventory, raw, None)))
            .collect(),
    })
}

#[cfg(test)]
mod tests;
