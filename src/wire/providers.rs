//! `/v1/providers`: what providers are.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::output::json;
use super::query::Query;
use super::schema::NativeSchema;
use super::uuid;
use super::value::Value;
use super::workloads::read_stored;
use crate::error::{Error, Result};
use crate::model::providers::{Describe, DescribeAll, Described};
use crate::search::{BUILT_IN_PROPERTIES, Description, PropertyValue, ProviderState, domain_path};

const SCHEMAS: &str = include_str!("schemas/providers.json");
static ONE: NativeSchema = NativeSchema::of_body(SCHEMAS, "describe");
static ALL: NativeSchema = NativeSchema::of_body(SCHEMAS, "describe_all");
static WRITE_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "write_parameters");
static LIST_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "list_parameters");
static NO_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "no_parameters");

/// The most providers of a call, and of a page.
const MAX_PROVIDERS: usize = 1_000;
/// The most properties that a provider sets or hides.
const MAX_PROPERTIES: usize = 64;
/// The most domains of a provider, one a dimension.
const MAX_DOMAINS: usize = 16;
/// The most characters of a name, a text or a type.
const MAX_TEXT: usize = 255;
/// The most characters of a domain.
const MAX_PATH: usize = 1_024;

/// A page of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: usize,
    /// Uuid.
    pub after: Option<String>,
}

/// Reads the query string of `GET /v1/providers`.
///
/// # Errors
/// `InvalidQuery` for other parameters and values.
pub fn read_list(query: &str) -> Result<Page> {
    let query = Query::read_native(&LIST_PARAMETERS, query)?;
    let limit = query.page_limit(MAX_PROVIDERS, "providers")?;
    let after = query.last("after").and_then(uuid::canonical);
    Ok(Page { limit, after })
}

/// Reads the query string of `GET /v1/providers/{uuid}`, which has no parameters.
///
/// # Errors
/// `InvalidQuery` if there is one.
pub fn read_show(query: &str) -> Result<()> {
    Query::read_native(&NO_PARAMETERS, query).map(drop)
}

/// Reads `PUT /v1/providers/{uuid}`, and whether it is a dry run.
///
/// # Errors
/// Every member that is wrong, by its path.
pub fn read_describe(provider: &str, query: &str, body: &[u8]) -> Result<(DescribeAll, bool)> {
    let parameters = Query::read_native(&WRITE_PARAMETERS, query)?;
    let body = ONE.read(body)?;
    let mut mistakes = Vec::new();
    let command = DescribeAll {
        providers: vec![one(provider.to_owned(), "", &body, &mut mistakes)],
        is_list: false,
        is_forced: parameters.last("force") == Some("true"),
        read: read_stored,
    };
    refuse(mistakes)?;
    Ok((command, parameters.last("dry_run") == Some("true")))
}

/// Reads `PUT /v1/providers`, and whether it is a dry run.
///
/// # Errors
/// Every member that is wrong, by its path.
pub fn read_describe_all(query: &str, body: &[u8]) -> Result<(DescribeAll, bool)> {
    let parameters = Query::read_native(&WRITE_PARAMETERS, query)?;
    let body = ALL.read(body)?;
    let items = body.field("providers").items();
    let mut mistakes = Vec::new();
    check_count("providers", items.len(), MAX_PROVIDERS, &mut mistakes);
    refuse(std::mem::take(&mut mistakes))?;
    let (mut providers, mut uuids) = (Vec::new(), HashSet::new());
    for (at, item) in items.iter().enumerate() {
        let provider = uuid::canonical(item.field("uuid").text()).unwrap_or_default();
        if !uuids.insert(provider.clone()) {
            mistakes.push(format!("providers[{at}].uuid: {provider} occurs twice"));
        }
        providers.push(one(provider, &format!("providers[{at}]."), item, &mut mistakes));
    }
    refuse(mistakes)?;
    let command = DescribeAll {
        providers,
        is_list: true,
        is_forced: parameters.last("force") == Some("true"),
        read: read_stored,
    };
    Ok((command, parameters.last("dry_run") == Some("true")))
}

fn refuse(mistakes: Vec<String>) -> Result<()> {
    if mistakes.is_empty() {
        return Ok(());
    }
    Err(Error::BadRequest {
        detail: format!("{}.", mistakes.join("; ")),
    })
}

fn check_count(path: &str, count: usize, max: usize, mistakes: &mut Vec<String>) {
    if count > max {
        mistakes.push(format!("{path} has {count} items; at most {max} are allowed"));
    }
}

fn check_length(path: &str, text: &str, max: usize, mistakes: &mut Vec<String>) {
    let count = text.chars().count();
    if count == 0 || count > max {
        mistakes.push(format!("{path} has {count} characters; from 1 to {max} are allowed"));
    }
}

/// Reads one description. `path` is empty, or leads to it and ends with a full stop.
fn one(provider: String, path: &str, body: &Value, mistakes: &mut Vec<String>) -> Describe {
    let generation = match body.field("generation") {
        Value::Null => None,
        generation => Some(generation.integer()),
    };
    let kind = match body.field("type") {
        Value::String(text) => {
            check_length(&format!("{path}type"), text, MAX_TEXT, mistakes);
            Some((&**text).into())
        }
        _ => None,
    };
    Describe {
        provider,
        generation,
        description: Description {
            kind,
            properties: properties(path, body.field("properties"), mistakes),
            domains: domains(path, body.field("domains"), mistakes),
            // The schema has checked the name.
            state: ProviderState::by_name(body.field("state").text()).unwrap_or_default(),
        },
    }
}

fn properties(path: &str, members: &Value, mistakes: &mut Vec<String>) -> BTreeMap<Arc<str>, Option<PropertyValue>> {
    let mut properties = BTreeMap::new();
    for (name, value) in members.members() {
        let path = format!("{path}properties.{name}");
        if BUILT_IN_PROPERTIES.contains(&name) {
            mistakes.push(format!("{path} is built in and cannot be set"));
        } else if !is_property_name(name) {
            mistakes.push(format!(
                "{path}: a name begins with a letter or _, and has at most {MAX_TEXT} letters, digits, _, . and -"
            ));
        }
        let value = match value {
            Value::Null => None,
            Value::Bool(boolean) => Some(PropertyValue::Boolean(*boolean)),
            Value::Int(integer) => Some(PropertyValue::Integer(*integer)),
            Value::String(text) => {
                if text.chars().count() > MAX_TEXT {
                    mistakes.push(format!("{path} is a text of more than {MAX_TEXT} characters"));
                }
                Some(PropertyValue::Text((&**text).into()))
            }
            _ => {
                mistakes.push(format!("{path} is no text, boolean, whole number of 64 bits or null"));
                None
            }
        };
        properties.insert(name.into(), value);
    }
    check_count(&format!("{path}properties"), properties.len(), MAX_PROPERTIES, mistakes);
    properties
}

fn is_property_name(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.len() <= MAX_TEXT
        && name.starts_with(is_first)
        && name
            .chars()
            .all(|c| is_first(c) || c.is_ascii_digit() || c == '.' || c == '-')
}

fn domains(path: &str, members: &Value, mistakes: &mut Vec<String>) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut domains = BTreeMap::new();
    for (dimension, value) in members.members() {
        let path = format!("{path}domains.{dimension}");
        if !is_property_name(dimension) {
            mistakes.push(format!(
                "{path}: a dimension begins with a letter or _, and has at most {MAX_TEXT} letters, digits, _, . and -"
            ));
        } else if dimension == "host" {
            mistakes.push(format!("{path} is built in: each host is a domain of its own"));
        }
        let domain = domain_path(value.text());
        if domain.contains("//") {
            mistakes.push(format!("{path}: a level of the path is empty, because of //"));
        }
        check_length(&path, domain, MAX_PATH, mistakes);
        domains.insert(dimension.into(), domain.into());
    }
    check_count(&format!("{path}domains"), domains.len(), MAX_DOMAINS, mistakes);
    domains
}

#[derive(Serialize)]
struct One<'a> {
    uuid: &'a str,
    name: &'a str,
    generation: Option<i64>,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    properties: BTreeMap<&'a str, Option<Property<'a>>>,
    domains: BTreeMap<&'a str, &'a str>,
    state: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Property<'a> {
    Text(&'a str),
    Boolean(bool),
    Integer(i64),
}

#[derive(Serialize)]
struct List<'a> {
    providers: Vec<One<'a>>,
    next: Option<&'a str>,
}

fn answer(described: &Described) -> One<'_> {
    let Description {
        kind,
        properties,
        domains,
        state,
    } = &described.description;
    let property = |value: &'_ PropertyValue| match value {
        PropertyValue::Boolean(boolean) => Property::Boolean(*boolean),
        PropertyValue::Integer(integer) => Property::Integer(*integer),
        PropertyValue::Text(_) => Property::Text(""),
    };
    let properties = properties.iter().map(|(name, value)| {
        let value = match value {
            Some(PropertyValue::Text(text)) => Some(Property::Text(text)),
            other => other.as_ref().map(property),
        };
        (&**name, value)
    });
    One {
        uuid: &described.uuid,
        name: &described.name,
        generation: described.generation,
        kind: kind.as_deref(),
        properties: properties.collect(),
        domains: domains
            .iter()
            .map(|(dimension, path)| (&**dimension, &**path))
            .collect(),
        state: state.name(),
    }
}

/// Writes one provider.
pub fn write_one(described: &Described) -> Vec<u8> {
    json(&answer(described))
}

/// Writes a page of providers. `next` is the uuid after which the next page begins.
pub fn write_list(described: &[Described], next: Option<&str>) -> Vec<u8> {
    json(&List {
        providers: described.iter().map(answer).collect(),
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(members: &str) -> String {
        let body = format!(r#"{{"generation": null, {members}}}"#);
        read_describe("p", "", body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn every_wrong_member_is_named_by_its_path() {
        let detail = refused(
            r#""properties": {"NodeName": 1, "1st": true, "Half": 0.5, "Large": 9223372036854775808},
                "domains": {"host": "a", "fault": "/", "rack": "dc1//r1"}"#,
        );
        for part in [
            "properties.NodeName is built in",
            "properties.1st: a name begins",
            "properties.Half is no text",
            "properties.Large is no text",
            "domains.host is built in",
            "domains.fault has 0 characters",
            "domains.rack: a level of the path is empty",
        ] {
            assert!(detail.contains(part), "{part}: {detail}");
        }
    }

    #[test]
    fn counts_and_lengths_are_bounded() {
        let many: Vec<String> = (0..65).map(|at| format!(r#""P{at}": {at}"#)).collect();
        let detail = refused(&format!(r#""properties": {{{}}}"#, many.join(", ")));
        assert!(detail.contains("properties has 65 items; at most 64"), "{detail}");
        let detail = refused(&format!(r#""domains": {{"fault": "{}"}}"#, "x".repeat(1_025)));
        assert!(detail.contains("domains.fault has 1025 characters"), "{detail}");
        let detail = refused(&format!(r#""type": "{}""#, "x".repeat(256)));
        assert!(detail.contains("type has 256 characters"), "{detail}");
    }
}
