//! JSON Schemas of requests: data in `schemas/*.json`, with a step for each version with a changed schema.
//!
//! An unsupported keyword in these files is a panic, which a test finds. The order of keywords matters: of two equally
//! relevant errors the first is reported, and the message shows the schema as written.

use std::sync::OnceLock;

use regex::Regex;

use super::value::Value;
use super::{json, uuid, validation};
use crate::error::{Error, Result};
use crate::version::{NATIVE_STEP, Version};

/// Files to which the schemas of other nouns refer.
const SHARED: [(&str, &str); 2] = [
    ("allocations.json", include_str!("schemas/allocations.json")),
    ("inventories.json", include_str!("schemas/inventories.json")),
];

/// The schemas of a request, each with the first version of the schema.
pub struct Steps {
    file: &'static str,
    name: &'static str,
    is_uuid: fn(&Value) -> bool,
    schemas: OnceLock<Vec<(Version, Schema)>>,
}

impl Steps {
    /// The schemas of a body. `name` is their member in the JSON document `file`.
    pub const fn of_body(file: &'static str, name: &'static str) -> Self {
        Steps {
            file,
            name,
            is_uuid: is_uuid_of_body,
            schemas: OnceLock::new(),
        }
    }

    /// The schemas of a query string, whose UUIDs must have dashes.
    pub const fn of_query(file: &'static str, name: &'static str) -> Self {
        Steps {
            file,
            name,
            is_uuid: is_uuid_of_query,
            schemas: OnceLock::new(),
        }
    }

    /// The schema in force at `version`.
    pub fn at(&self, version: Version) -> &Schema {
        let schemas = self.schemas.get_or_init(|| self.load());
        let newer = schemas
            .iter()
            .position(|(since, _)| *since > version)
            .unwrap_or(schemas.len());
        &schemas[newer.saturating_sub(1)].1
    }

    /// Parses a body and validates the value.
    pub fn read(&self, version: Version, body: &[u8]) -> Result<Value> {
        json::read(body, |value| self.validate(version, value))
    }

    /// Validates a value as a body.
    pub fn validate(&self, version: Version, value: &Value) -> Result<()> {
        validate(self.at(version), value)
    }

    fn load(&self) -> Vec<(Version, Schema)> {
        let microversions = steps(self.file, self.name, self.is_uuid)
            .into_iter()
            .filter(|(since, _)| since != NATIVE_STEP)
            .map(|(since, schema)| (since.parse().expect("the name of a step is a version"), schema));
        let schemas: Vec<(Version, Schema)> = microversions.collect();
        assert!(!schemas.is_empty(), "no schemas are named {}", self.name);
        schemas
    }
}

/// The schema of a query string of the native API, which has no microversions.
pub struct NativeSchema {
    file: &'static str,
    name: &'static str,
    schema: OnceLock<Schema>,
}

impl NativeSchema {
    /// `name` is a member of `requests` in the JSON document `file`.
    pub const fn new(file: &'static str, name: &'static str) -> Self {
        NativeSchema {
            file,
            name,
            schema: OnceLock::new(),
        }
    }

    /// The schema, compiled at the first call.
    pub fn get(&self) -> &Schema {
        self.schema.get_or_init(|| {
            let mut steps = steps(self.file, self.name, is_uuid_of_query).into_iter();
            let native = steps.find(|(since, _)| since == NATIVE_STEP);
            // The schemas are part of the binary, and a test compiles each.
            native.expect("a native request has a step v1").1
        })
    }
}

/// Validates a body.
fn validate(schema: &Schema, value: &Value) -> Result<()> {
    validation::refusal(schema, value).map_or(Ok(()), |sentence| Err(Error::InvalidBody(sentence)))
}

/// The compiled steps of a schema of a document.
fn steps(file: &str, name: &str, is_uuid: fn(&Value) -> bool) -> Vec<(String, Schema)> {
    let document = requests(file);
    let loader = Loader {
        document: &document,
        is_uuid,
    };
    let compile = |(since, schema): (&str, &Value)| (since.to_owned(), loader.compile(loader.inline(schema)));
    document.field(name).members().map(compile).collect()
}

/// The part of a noun's document with the schemas of requests.
fn requests(file: &str) -> Value {
    let document = json::read(file.as_bytes(), |_| Ok(())).expect("the schemas are JSON");
    document.field("requests").clone()
}

fn is_uuid_of_body(value: &Value) -> bool {
    matches!(value, Value::String(text) if uuid::canonical(text).is_some())
}

/// UUIDs in a query string must have dashes.
fn is_uuid_of_query(value: &Value) -> bool {
    !matches!(value, Value::String(text) if !uuid::is_dashed(text))
}

/// A compiled schema.
pub struct Schema {
    /// The schema as written, for error messages.
    pub source: Value,
    pub rules: Vec<SchemaRule>,
}

/// A keyword of a schema.
pub struct SchemaRule {
    pub keyword: String,
    pub value: Value,
    pub check: Assertion,
}

/// The requirement of a keyword.
pub enum Assertion {
    Type(Vec<String>),
    Properties(Vec<(String, Schema)>),
    PatternProperties(Vec<(String, Regex, Schema)>),
    NoOtherProperties,
    Required(Vec<String>),
    MinProperties(usize),
    Items(Box<Schema>),
    MinItems(usize),
    MaxItems(usize),
    UniqueItems,
    Minimum(f64),
    Maximum(f64),
    MinLength(usize),
    MaxLength(usize),
    Pattern(Regex),
    Enum(Vec<Value>),
    Uuid(fn(&Value) -> bool),
    AnyOf(Vec<Schema>),
}

struct Loader<'a> {
    document: &'a Value,
    is_uuid: fn(&Value) -> bool,
}

impl Loader<'_> {
    /// Replaces each `{"$ref": "#/…"}` by the target, and `{"$ref": "FILE#/…"}` by a target in a different noun's file.
    fn inline(&self, value: &Value) -> Value {
        match value {
            Value::Object(object) => match object.get("$ref") {
                Some(reference) => self.referred(reference.text()),
                None => Value::Object(
                    object
                        .iter()
                        .map(|(key, item)| (key.to_owned(), self.inline(item)))
                        .collect(),
                ),
            },
            Value::Array(items) => Value::Array(items.iter().map(|item| self.inline(item)).collect()),
            other => other.clone(),
        }
    }

    fn referred(&self, reference: &str) -> Value {
        let (file, path) = reference.split_once('#').expect("a reference has a path");
        if let Some((_, text)) = SHARED.iter().find(|(name, _)| *name == file) {
            let document = &requests(text);
            return Loader { document, ..*self }.referred(&reference[file.len()..]);
        }
        let target = path
            .split('/')
            .skip(1)
            .fold(self.document, |value, name| value.field(name));
        // The schemas are part of the binary, and a test compiles each.
        assert!(!matches!(target, Value::Null), "there is no {reference}");
        self.inline(target)
    }

    fn compile(&self, source: Value) -> Schema {
        let rules = source.members().map(|(keyword, value)| SchemaRule {
            keyword: keyword.to_owned(),
            value: value.clone(),
            check: self.check(keyword, value),
        });
        let rules = rules.collect();
        Schema { source, rules }
    }

    fn check(&self, keyword: &str, value: &Value) -> Assertion {
        let size = || usize::try_from(value.integer()).expect("the value of this keyword is a size");
        let bound = || value.float().expect("the value of this keyword is a number");
        match keyword {
            "type" => Assertion::Type(strings(value)),
            "properties" => Assertion::Properties(self.members(value)),
            "patternProperties" => {
                let members = self.members(value).into_iter();
                Assertion::PatternProperties(
                    members
                        .map(|(name, schema)| (name.clone(), regex(&name), schema))
                        .collect(),
                )
            }
            "additionalProperties" => Assertion::NoOtherProperties,
            "required" => Assertion::Required(strings(value)),
            "minProperties" => Assertion::MinProperties(size()),
            "items" => Assertion::Items(Box::new(self.compile(value.clone()))),
            "minItems" => Assertion::MinItems(size()),
            "maxItems" => Assertion::MaxItems(size()),
            "uniqueItems" => Assertion::UniqueItems,
            "minimum" => Assertion::Minimum(bound()),
            "maximum" => Assertion::Maximum(bound()),
            "minLength" => Assertion::MinLength(size()),
            "maxLength" => Assertion::MaxLength(size()),
            "pattern" => Assertion::Pattern(regex(value.text())),
            "enum" => Assertion::Enum(value.items().to_vec()),
            "format" => Assertion::Uuid(self.is_uuid),
            "anyOf" => Assertion::AnyOf(
                value
                    .items()
                    .iter()
                    .map(|schema| self.compile(schema.clone()))
                    .collect(),
            ),
            // The schemas are part of the binary, and a test compiles each.
            other => panic!("the keyword {other} is not supported"),
        }
    }

    fn members(&self, value: &Value) -> Vec<(String, Schema)> {
        value
            .members()
            .map(|(name, schema)| (name.to_owned(), self.compile(schema.clone())))
            .collect()
    }
}

/// The string of a value, or the strings of an array.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.to_string()],
        array => array.items().iter().map(|item| item.text().to_owned()).collect(),
    }
}

/// Compiles a pattern with Python's meaning of `$`: the end of the text, or the place before a final line feed.
fn regex(pattern: &str) -> Regex {
    Regex::new(&pattern.replace('$', r"(?:\n?\z)")).expect("a pattern of a schema is a regular expression")
}
