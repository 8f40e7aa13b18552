//! JSON Schemas of requests, compiled from the data in `schemas/*.json`.
//!
//! An unsupported keyword in these files is a panic, which a test finds. The order of keywords matters: of two equally
//! relevant errors the first is reported, and the message shows the schema as written.

use regex::Regex;

use super::json;
use super::value::Json;

/// Files to which the schemas of other nouns refer.
const SHARED: [(&str, &str); 2] = [
    ("allocations.json", include_str!("schemas/allocations.json")),
    ("inventories.json", include_str!("schemas/inventories.json")),
];

/// The schemas of a request in the document `file`, each with the version that begins the schema. `is_uuid` checks the
/// format of a uuid.
pub fn load(file: &str, name: &str, is_uuid: fn(&Json) -> bool) -> Vec<(String, Schema)> {
    let document = requests(file);
    let loader = Loader {
        document: &document,
        is_uuid,
    };
    let compile = |(since, schema): (&str, &Json)| (since.to_owned(), loader.compile(loader.inline(schema)));
    document.field(name).members().map(compile).collect()
}

/// The part of a noun's document with the schemas of requests.
fn requests(file: &str) -> Json {
    let document = json::read(file.as_bytes(), |_| Ok(())).expect("the schemas are JSON");
    document.into_field("requests")
}

/// A compiled schema.
pub struct Schema {
    /// The schema as written, for error messages.
    pub source: Json,
    pub rules: Vec<SchemaRule>,
}

/// A keyword of a schema.
pub struct SchemaRule {
    pub keyword: String,
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
    UniqueItems,
    Minimum(f64),
    Maximum(f64),
    MinLength(usize),
    MaxLength(usize),
    Pattern(Regex),
    Enum(Vec<Json>),
    Uuid(fn(&Json) -> bool),
    AnyOf(Vec<Schema>),
}

struct Loader<'a> {
    document: &'a Json,
    is_uuid: fn(&Json) -> bool,
}

impl Loader<'_> {
    /// Replaces each `{"$ref": "#/…"}` by the target, and `{"$ref": "FILE#/…"}` by a target in a different noun's file.
    fn inline(&self, value: &Json) -> Json {
        match value {
            Json::Object(object) => match object.get("$ref") {
                Some(reference) => self.referred(reference.text()),
                None => Json::Object(
                    object
                        .iter()
                        .map(|(key, item)| (key.to_owned(), self.inline(item)))
                        .collect(),
                ),
            },
            Json::Array(items) => Json::Array(items.iter().map(|item| self.inline(item)).collect()),
            other => other.clone(),
        }
    }

    fn referred(&self, reference: &str) -> Json {
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
        assert!(!matches!(target, Json::Null), "there is no {reference}");
        self.inline(target)
    }

    fn compile(&self, source: Json) -> Schema {
        let rule = |(keyword, value): (&str, &Json)| SchemaRule {
            keyword: keyword.to_owned(),
            check: self.check(keyword, value),
        };
        let rules = source.members().map(rule).collect();
        Schema { source, rules }
    }

    fn check(&self, keyword: &str, value: &Json) -> Assertion {
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

    fn members(&self, value: &Json) -> Vec<(String, Schema)> {
        value
            .members()
            .map(|(name, schema)| (name.to_owned(), self.compile(schema.clone())))
            .collect()
    }
}

/// The string of a value, or the strings of an array.
fn strings(value: &Json) -> Vec<String> {
    match value {
        Json::String(text) => vec![text.to_string()],
        array => array.items().iter().map(|item| item.text().to_owned()).collect(),
    }
}

/// Compiles a pattern with Python's meaning of `$`: the end of the text, or the place before a final line feed.
fn regex(pattern: &str) -> Regex {
    Regex::new(&pattern.replace('$', r"(?:\n?\z)")).expect("a pattern of a schema is a regular expression")
}
