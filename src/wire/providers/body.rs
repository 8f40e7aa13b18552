//! Descriptions of providers in bodies, and the checks of their values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::providers::Describe;
use crate::search::{
    BUILT_IN_PROPERTIES, Description, HOST_DIMENSION, Properties, PropertyValue, ProviderState, domain_path,
};
use crate::wire::native::{Bounded, Ignored, Name, Named, Nullable, Text, Uuid};
use crate::wire::text_form::{mistake, mistake_of_path};

/// The most properties that a provider sets or hides.
const MAX_PROPERTIES: usize = 64;
/// The most domains of a provider, each in a dimension of its own.
const MAX_DOMAINS: usize = 16;
/// The most characters of a name, a text or a type.
pub const MAX_TEXT: usize = 255;
/// The most characters of a provider's name.
const MAX_NAME: usize = 200;
/// The most characters of a domain.
const MAX_PATH: usize = 1_024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeAllBody {
    /// The providers, each once.
    #[schemars(schema_with = "items")]
    pub providers: Bounded<DescribeBody, 1, 1_000>,
    /// Without effect: a page of the list can be sent back.
    #[serde(rename = "next")]
    _next: Option<Ignored>,
}

/// The state of all hosts in a domain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateBody {
    /// `up`, `draining`, `off` or `lost`. A host that is not up gets nothing new.
    pub state: Name<ProviderState>,
}

/// In a list each description names the provider.
fn items(generator: &mut SchemaGenerator) -> Schema {
    let mut list = Bounded::<DescribeBody, 1, 1_000>::json_schema(generator);
    let item = list.remove("items");
    list.insert(
        "items".to_owned(),
        serde_json::json!({"allOf": [item, {"required": ["uuid"]}]}),
    );
    list
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeBody {
    /// The provider's uuid. If the path has a uuid, the same, or absent.
    pub uuid: Option<Uuid>,
    /// The provider's name. If given, the name that the provider has: `PUT /resource_providers/{uuid}` renames.
    name: Option<Text<0, MAX_NAME>>,
    /// The generation that the client has read, or `null` for a provider that was never described. If the description
    /// has a newer generation, the request is refused with 409.
    generation: Nullable<i64>,
    /// The type of the provider: any text.
    #[serde(rename = "type")]
    kind: Option<Text<1, MAX_TEXT>>,
    /// The properties by name: texts, booleans or whole numbers of 64 bits. `null` hides an inherited property.
    #[serde(default)]
    properties: PropertiesBody,
    /// The domains by dimension, each a path such as `fd:/dc1/r0`.
    #[serde(default)]
    domains: BTreeMap<String, String>,
    /// `up`, `draining`, `off` or `lost`. A host that is not up gets nothing new.
    #[serde(default)]
    state: Name<ProviderState>,
    /// Without effect, as of the answer.
    #[serde(rename = "note")]
    _note: Option<Ignored>,
}

/// Properties by name.
pub type PropertiesBody = BTreeMap<String, Option<PropertyBody>>;

/// The value of a property.
#[derive(JsonSchema)]
#[schemars(inline, with = "serde_json::Value", description = "", extend("type" = ["string", "boolean", "integer"]))]
pub struct PropertyBody(pub PropertyValue);

impl<'de> Deserialize<'de> for PropertyBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<PropertyBody, D::Error> {
        deserializer.deserialize_any(PropertyVisitor).map(PropertyBody)
    }
}

struct PropertyVisitor;

impl Visitor<'_> for PropertyVisitor {
    type Value = PropertyValue;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text, a boolean, a whole number of 64 bits or null")
    }

    fn visit_bool<E>(self, boolean: bool) -> std::result::Result<PropertyValue, E> {
        Ok(PropertyValue::Boolean(boolean))
    }

    fn visit_i64<E>(self, integer: i64) -> std::result::Result<PropertyValue, E> {
        Ok(PropertyValue::Integer(integer))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<PropertyValue, E> {
        Ok(PropertyValue::Text(text.into()))
    }
}

impl Serialize for PropertyBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match &self.0 {
            PropertyValue::Boolean(boolean) => serializer.serialize_bool(*boolean),
            PropertyValue::Integer(integer) => serializer.serialize_i64(*integer),
            PropertyValue::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl Named for ProviderState {
    const NAMES: &'static [(&'static str, ProviderState)] = ProviderState::GIVEN;
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

/// Checks a description. `path` is empty, or leads to the description and ends with a full stop. `before` is the
/// description that a patch changes. The form of its texts is not checked again.
pub fn describe(
    provider: String,
    path: &str,
    body: DescribeBody,
    before: &Description,
    mistakes: &mut Vec<String>,
) -> Describe {
    let kind = body.kind.map(|kind| kind.0);
    let is_known = kind.as_deref() == before.kind.as_deref();
    if let Some(mistake) = kind.as_deref().and_then(mistake).filter(|_| !is_known) {
        mistakes.push(format!("{path}type {mistake}"));
    }
    Describe {
        provider,
        name: body.name.map(|name| name.0),
        generation: body.generation.0,
        description: Description {
            kind: kind.map(Into::into),
            properties: properties(path, body.properties, &before.properties, mistakes),
            domains: domains(path, body.domains, before, mistakes),
            state: body.state.0,
            is_unknown: false,
        },
    }
}

/// The type, the properties and the domains of a report.
type ReportedParts = (Option<Text<1, MAX_TEXT>>, PropertiesBody, BTreeMap<String, String>);

/// Checks the description of a provider in a report, as [`describe`]. `state` is that of a new provider.
pub fn describe_reported(
    provider: &str,
    path: &str,
    (kind, properties, domains): ReportedParts,
    state: ProviderState,
    mistakes: &mut Vec<String>,
) -> Describe {
    let body = DescribeBody {
        uuid: None,
        name: None,
        generation: Nullable(None),
        kind,
        properties,
        domains,
        state: Name(state),
        _note: None,
    };
    describe(provider.to_owned(), path, body, &Description::default(), mistakes)
}

/// Checks properties. `before` are the properties before a patch.
pub fn properties(path: &str, given: PropertiesBody, before: &Properties, mistakes: &mut Vec<String>) -> Properties {
    check_count(&format!("{path}properties"), given.len(), MAX_PROPERTIES, mistakes);
    let mut properties = BTreeMap::new();
    for (name, value) in given {
        let path = format!("{path}properties.{name}");
        if BUILT_IN_PROPERTIES.contains(&name.as_str()) {
            mistakes.push(format!("{path} is built in and cannot be set"));
        } else if !is_property_name(&name) {
            mistakes.push(format!(
                "{path}: a name begins with a letter or _, and has at most {MAX_TEXT} letters, digits, _, . and -"
            ));
        }
        let value = value.map(|property| property.0);
        let is_known = before.get(name.as_str()) == Some(&value);
        if let Some(PropertyValue::Text(text)) = &value {
            if text.chars().count() > MAX_TEXT {
                mistakes.push(format!("{path} is a text of more than {MAX_TEXT} characters"));
            }
            if let Some(mistake) = mistake(text).filter(|_| !is_known) {
                mistakes.push(format!("{path} {mistake}"));
            }
        }
        properties.insert(name.into(), value);
    }
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

/// Checks the length and the levels of the path of a domain.
pub fn check_levels(path: &str, domain: &str, max: usize, mistakes: &mut Vec<String>) {
    if domain.contains("//") {
        mistakes.push(format!("{path}: a level of the path is empty, because of //"));
    }
    check_length(path, domain, max, mistakes);
}

/// Checks the name of a dimension.
pub fn check_dimension(path: &str, dimension: &str, mistakes: &mut Vec<String>) {
    if !is_property_name(dimension) {
        mistakes.push(format!(
            "{path}: a dimension begins with a letter or _, and has at most {MAX_TEXT} letters, digits, _, . and -"
        ));
    } else if dimension == HOST_DIMENSION {
        mistakes.push(format!("{path} is built in: each host is a domain of its own"));
    }
}

fn domains(
    path: &str,
    given: BTreeMap<String, String>,
    before: &Description,
    mistakes: &mut Vec<String>,
) -> BTreeMap<Arc<str>, Arc<str>> {
    check_count(&format!("{path}domains"), given.len(), MAX_DOMAINS, mistakes);
    let mut domains = BTreeMap::new();
    for (dimension, value) in given {
        let path = format!("{path}domains.{dimension}");
        check_dimension(&path, &dimension, mistakes);
        let domain = domain_path(&value);
        check_levels(&path, domain, MAX_PATH, mistakes);
        let is_known = before.domains.get(dimension.as_str()).map(|known| &**known) == Some(domain);
        if let Some(mistake) = mistake_of_path(domain).filter(|_| !is_known) {
            mistakes.push(format!("{path}: a level of the path {mistake}"));
        }
        domains.insert(dimension.into(), domain.into());
    }
    domains
}
