//! JSON Schemas, kept as data in `schemas/*.json`, one step for each version that changed one.
//!
//! Only the keywords that the API's schemas use exist. Their order matters: where two refusals are equally good, the
//! first is told, and refusals show the schema as it is written.

use std::sync::OnceLock;

use regex::Regex;

use super::value::Value;
use super::{json, uuid, validation};
use crate::error::{Error, Result};
use crate::version::Version;

/// Files whose schemas those of another noun refer to.
const SHARED: [(&str, &str); 2] = [
    ("allocations.json", include_str!("schemas/allocations.json")),
    ("inventories.json", include_str!("schemas/inventories.json")),
];

/// The forms that one request's schema took from version to version.
pub struct Steps {
    file: &'static str,
    name: &'static str,
    is_uuid: fn(&Value) -> bool,
    schemas: OnceLock<Vec<(Version, Schema)>>,
}

impl Steps {
    /// Schemas of a body; `name` is their member of the JSON document `file`.
    pub const fn of_body(file: &'static str, name: &'static str) -> Self {
        let is_uuid = |value: &Value| matches!(value, Value::String(text) if uuid::canonical(text).is_some());
        Steps {
            file,
            name,
            is_uuid,
            schemas: OnceLock::new(),
        }
    }

    /// Schemas of a query string, whose UUIDs need their dashes.
    pub const fn of_query(file: &'static str, name: &'static str) -> Self {
        let is_uuid = |value: &Value| !matches!(value, Value::String(text) if !uuid::is_dashed(text));
        Steps {
            file,
            name,
            is_uuid,
            schemas: OnceLock::new(),
        }
    }

    /// The schema that holds at `version`.
    pub fn at(&self, version: Version) -> &Schema {
        let schemas = self.schemas.get_or_init(|| self.load());
        let newer = schemas
            .iter()
            .position(|(since, _)| *since > version)
            .unwrap_or(schemas.len());
        &schemas[newer.saturating_sub(1)].1
    }

    /// Reads a body and judges it.
    pub fn read(&self, version: Version, body: &[u8]) -> Result<Value> {
        json::read(body, |value| self.judge(version, value))
    }

    /// Judges a value as if it were a body.
    pub fn judge(&self, version: Version, value: &Value) -> Result<()> {
        validation::refusal(self.at(version), value).map_or(Ok(()), |sentence| Err(Error::InvalidBody(sentence)))
    }

    fn load(&self) -> Vec<(Version, Schema)> {
        let document = json::read(self.file.as_bytes(), |_| Ok(())).expect("the schemas are JSON");
        let loader = Loader {
            document: &document,
            is_uuid: self.is_uuid,
        };
        let schemas = document.field(self.name).members();
        let schemas: Vec<_> = schemas
            .map(|(since, schema)| {
                (
                    since.parse().expect("a step is a version"),
                    loader.compile(loader.inline(schema)),
                )
            })
            .collect();
        assert!(!schemas.is_empty(), "there are no schemas of the name {}", self.name);
        schemas
    }
}

/// One schema, ready to judge.
pub struct Schema {
    /// As it is written, for refusals to show.
    pub source: Value,
    pub rules: Vec<Rule>,
}

/// One keyword of a schema.
pub struct Rule {
    pub keyword: String,
    pub value: Value,
    pub check: Check,
}

/// What a keyword asks for.
pub enum Check {
    Type(Vec<String>),
    Properties(Vec<(String, Schema)>),
    PatternProperties(Vec<(String, Regex, Schema)>),
    NoOtherProperties,
    Required(Vec<String>),
    MinProperties(usize),
    Items(Box<Schema>),
    MinItems(usize),
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
    /// Puts what is meant in the place of each `{"$ref": "#/…"}`, or `{"$ref": "FILE#/…"}` for another noun's.
    fn inline(&self, value: &Value) -> Value {
        match value {
            Value::Object(object) => match object.get("$ref") {
                Some(reference) => self.referred(reference.text()),
                None => Value::Object(
                    object
                        .iter()
                        .map(|(key, item)| (key.clone(), self.inline(item)))
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
            let document = &json::read(text.as_bytes(), |_| Ok(())).expect("the schemas are JSON");
            return Loader { document, ..*self }.referred(&reference[file.len()..]);
        }
        let found = path
            .split('/')
            .skip(1)
            .fold(self.document, |value, name| value.field(name));
        // The schemas are part of the binary, and a test compiles each.
        assert!(!matches!(found, Value::Null), "there is no {reference}");
        self.inline(found)
    }

    fn compile(&self, source: Value) -> Schema {
        let rules = source.members().map(|(keyword, value)| Rule {
            keyword: keyword.to_owned(),
            value: value.clone(),
            check: self.check(keyword, value),
        });
        let rules = rules.collect();
        Schema { source, rules }
    }

    fn check(&self, keyword: &str, value: &Value) -> Check {
        let size = || usize::try_from(value.integer()).expect("a schema of ours has a size here");
        let bound = || value.float().expect("a schema of ours has a bound here");
        match keyword {
            "type" => Check::Type(texts(value)),
            "properties" => Check::Properties(self.members(value)),
            "patternProperties" => {
                let members = self.members(value).into_iter();
                Check::PatternProperties(
                    members
                        .map(|(name, schema)| (name.clone(), regex(&name), schema))
                        .collect(),
                )
            }
            "additionalProperties" => Check::NoOtherProperties,
            "required" => Check::Required(texts(value)),
            "minProperties" => Check::MinProperties(size()),
            "items" => Check::Items(Box::new(self.compile(value.clone()))),
            "minItems" => Check::MinItems(size()),
            "uniqueItems" => Check::UniqueItems,
            "minimum" => Check::Minimum(bound()),
            "maximum" => Check::Maximum(bound()),
            "minLength" => Check::MinLength(size()),
            "maxLength" => Check::MaxLength(size()),
            "pattern" => Check::Pattern(regex(value.text())),
            "enum" => Check::Enum(value.items().to_vec()),
            "format" => Check::Uuid(self.is_uuid),
            "anyOf" => Check::AnyOf(
                value
                    .items()
                    .iter()
                    .map(|schema| self.compile(schema.clone()))
                    .collect(),
            ),
            // The schemas are part of the binary, and a test compiles each.
            other => panic!("no keyword {other} is known"),
        }
    }

    fn members(&self, value: &Value) -> Vec<(String, Schema)> {
        value
            .members()
            .map(|(name, schema)| (name.to_owned(), self.compile(schema.clone())))
            .collect()
    }
}

/// One text, or each of several.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        several => several.items().iter().map(|item| item.text().to_owned()).collect(),
    }
}

/// A pattern as Python reads it: `$` is the end, or the place before a line feed that ends the text.
fn regex(pattern: &str) -> Regex {
    Regex::new(&pattern.replace('$', r"(?:\n?\z)")).expect("a pattern of a schema is a regular expression")
}
