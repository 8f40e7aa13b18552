//! Parses the requests to `/traits` and `/resource_providers/{uuid}/traits`, and serializes their answers.

use indexmap::IndexSet;
use serde::Serialize;

use super::bad_request;
use super::output::json;
use super::query::Query;
use super::steps::Steps;
use super::value::Json;
use crate::error::Result;
use crate::model::traits::{Ensure, Filter, ProviderTraits, Replace, Trait};
use crate::version::Version;

const SCHEMAS: &str = include_str!("schemas/traits.json");
static CUSTOM: Steps = Steps::of_body(SCHEMAS, "custom");
static LIST: Steps = Steps::of_query(SCHEMAS, "list");
static PUT: Steps = Steps::of_body(SCHEMAS, "put");

/// Validates the name in `PUT /traits/{name}`: the name must be the name of a custom trait.
pub fn read_ensure(version: Version, name: &str) -> Result<Ensure> {
    if CUSTOM.validate(version, &Json::String(name.into())).is_err() {
        return bad_request(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \"CUSTOM_\" \
             and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"",
        );
    }
    Ok(Ensure { name: name.to_owned() })
}

/// Reads the query string of `GET /traits`.
pub fn read_list(version: Version, query: &str) -> Result<Filter> {
    let query = Query::read(&LIST, version, query)?;
    let mut filter = Filter::default();
    match query.last("name").map(|name| name.split_once(':').ok_or(name)) {
        None => {}
        Some(Ok(("in", names))) => filter.names = Some(names.split(',').map(str::to_owned).collect()),
        Some(Ok(("startswith", prefix))) => filter.prefix = Some(prefix.to_owned()),
        // An unknown operator is ignored, as in OpenStack Placement.
        Some(Ok(_)) => {}
        // No colon.
        Some(Err(name)) => {
            return bad_request(format!(
                "Badly formatted name parameter. Expected name query string parameter in form: \
                 ?name=[in|startswith]:[name1,name2|prefix]. Got: \"{name}\""
            ));
        }
    }
    filter.associated = query.last("associated").map(associated).transpose()?;
    Ok(filter)
}

fn associated(text: &str) -> Result<bool> {
    let given = text.to_lowercase().parse::<bool>();
    given.or_else(|_| bad_request("The query parameter \"associated\" only accepts \"true\" or \"false\""))
}

/// Parses the body of `PUT /resource_providers/{uuid}/traits`. A repeated trait counts once.
pub fn read_replace(version: Version, provider: &str, body: &[u8]) -> Result<Replace> {
    let body = PUT.read(version, body)?;
    let traits: IndexSet<&str> = body.field("traits").items().iter().map(Json::text).collect();
    Ok(Replace {
        provider: provider.to_owned(),
        generation: body.field("resource_provider_generation").integer(),
        traits: traits.into_iter().map(str::to_owned).collect(),
    })
}

#[derive(Serialize)]
struct TraitsBody<'a> {
    traits: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider_generation: Option<i64>,
}

fn names(traits: &[Trait]) -> Vec<&str> {
    traits.iter().map(|each| &*each.name).collect()
}

/// Serializes the answer to `GET /traits`.
pub fn write_list(traits: &[Trait]) -> Vec<u8> {
    json(&TraitsBody {
        traits: names(traits),
        resource_provider_generation: None,
    })
}

/// Serializes the answer to `GET` and `PUT /resource_providers/{uuid}/traits`.
pub fn write_provider(provider: &ProviderTraits) -> Vec<u8> {
    json(&TraitsBody {
        traits: names(&provider.traits),
        resource_provider_generation: Some(provider.generation),
    })
}

#[cfg(test)]
mod tests;
