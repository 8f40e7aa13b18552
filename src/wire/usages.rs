//! Parses the requests to `/usages`, and serializes the answers of `/usages` and `/resource_providers/{uuid}/usages`.

pub mod sums;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::output::{Pairs, amounts, json};
use super::query::Query;
use super::steps::Steps;
use crate::error::Result;
use crate::model::usages::{ProviderUsages, TotalQuery, TypeFilter, TypeUsages};
use crate::version::{CONSUMER_TYPES, Version};

static TOTAL: Steps = Steps::of_query(include_str!("schemas/usages.json"), "total");

/// The project in the query of `GET /usages`. Read before validation, because authorization needs the project.
pub fn read_project(query: &str) -> Result<Option<String>> {
    Ok(Query::parse(query)?.last("project_id").map(str::to_owned))
}

/// Reads the query string of `GET /usages`. From 1.38 on, usages are grouped by consumer type.
pub fn read_total(version: Version, query: &str) -> Result<(TotalQuery, Option<TypeFilter>)> {
    let query = Query::read(&TOTAL, version, query)?;
    let total = TotalQuery {
        project: Some(query.last("project_id").unwrap_or_default().to_owned()),
        user: query.last("user_id").map(str::to_owned),
    };
    let filter = match query.last("consumer_type") {
        _ if version < CONSUMER_TYPES => return Ok((total, None)),
        None => TypeFilter::Each,
        Some("all") => TypeFilter::All,
        Some(name) => TypeFilter::AnyOf([name.to_owned()].into()),
    };
    Ok((total, Some(filter)))
}

#[derive(Serialize)]
struct ProviderBody<'a> {
    resource_provider_generation: i64,
    usages: Pairs<&'a str, i64>,
}

#[derive(Serialize)]
struct TotalBody<T> {
    usages: T,
}

#[derive(Serialize)]
struct TypeBody<'a> {
    #[serde(flatten)]
    usages: BTreeMap<&'a str, i64>,
    consumer_count: i64,
}

/// Writes the usages of a provider.
pub fn write_provider(view: &ProviderUsages) -> Vec<u8> {
    json(&ProviderBody {
        resource_provider_generation: view.generation,
        usages: amounts(&view.usages),
    })
}

/// Writes the usages of a project in the form before 1.38.
pub fn write_total(usages: &[(Arc<str>, i64)]) -> Vec<u8> {
    json(&TotalBody {
        usages: amounts(usages),
    })
}

/// Writes the usages of a project by consumer type.
pub fn write_by_type(groups: &[TypeUsages]) -> Vec<u8> {
    let groups = groups.iter().map(|group| {
        let usages = group.usages.iter().map(|(class, used)| (&**class, *used)).collect();
        (
            &*group.consumer_type,
            TypeBody {
                usages,
                consumer_count: group.consumer_count,
            },
        )
    });
    json(&TotalBody {
        usages: groups.collect::<BTreeMap<_, _>>(),
    })
}

#[cfg(test)]
mod tests;
