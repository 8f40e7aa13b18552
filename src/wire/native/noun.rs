//! The description of a noun of the native API: the operations, with the structs of requests and answers.
//!
//! schemars derives the schemas from the structs, and their texts from the doc comments of the members.

use std::borrow::Cow;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::lists::{ListItem, PageOf};
use crate::version::NATIVE_STEP;

/// A noun with the operations.
pub struct Noun {
    pub name: &'static str,
    /// A paragraph of introduction.
    pub about: &'static str,
    /// The fields of paths, each with a text.
    pub fields: &'static [(&'static str, &'static str)],
    pub operations: &'static [NounOperation],
}

/// A method of a path.
#[derive(Clone, Copy)]
pub struct NounOperation {
    route: &'static str,
    summary: &'static str,
    about: &'static str,
    parameters: NamedSchema,
    body: Option<NamedSchema>,
    answer: Option<NamedSchema>,
    /// Whether the answer is a page of a list, as an object or as lines, or 304.
    is_page: bool,
    refusals: &'static [&'static str],
    /// A refusal that similar operations do not have.
    own_refusal: Option<&'static str>,
}

/// The name and the schema of a type.
type NamedSchema = fn(&mut SchemaGenerator) -> (Cow<'static, str>, Schema);

fn named_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> (Cow<'static, str>, Schema) {
    (T::schema_name(), generator.subschema_for::<T>())
}

impl NounOperation {
    /// An operation as `METHOD path`, in a line, and in full, with the struct of the query string. The answer is 204
    /// unless `answer` follows, and wrong parameters are refused unless `refusals` follows.
    pub const fn new<T: JsonSchema>(route: &'static str, summary: &'static str, about: &'static str) -> NounOperation {
        NounOperation {
            route,
            summary,
            about,
            parameters: named_schema::<T>,
            body: None,
            answer: None,
            is_page: false,
            refusals: &["BadRequest", "DuplicateQueryKey"],
            own_refusal: None,
        }
    }

    /// The struct of the body.
    pub const fn body<T: JsonSchema>(self) -> NounOperation {
        NounOperation {
            body: Some(named_schema::<T>),
            ..self
        }
    }

    /// The struct of the answer, whose status is 200.
    pub const fn answer<T: JsonSchema>(self) -> NounOperation {
        NounOperation {
            answer: Some(named_schema::<T>),
            ..self
        }
    }

    /// The struct of an item of a list.
    pub const fn page<T: ListItem>(self) -> NounOperation {
        NounOperation {
            is_page: true,
            ..self.answer::<PageOf<T>>()
        }
    }

    /// The variants of `Error` with which a request is refused.
    pub const fn refusals(self, refusals: &'static [&'static str]) -> NounOperation {
        NounOperation { refusals, ..self }
    }

    /// A variant of `Error` beside `refusals`.
    pub const fn own_refusal(self, refusal: &'static str) -> NounOperation {
        NounOperation {
            own_refusal: Some(refusal),
            ..self
        }
    }
}

impl Noun {
    /// The description, in the form of the files `schemas/*.json`.
    pub fn document(&self) -> Value {
        let mut requests = NounSchemas::new(self.name, SchemaSettings::draft2020_12().for_deserialize());
        let mut answers = NounSchemas::new(self.name, SchemaSettings::draft2020_12().for_serialize());
        let operations = self.operations.iter().map(|operation| {
            let status = operation.answer.map_or("204", |_| "200");
            let refusals = operation.refusals.iter().chain(&operation.own_refusal);
            let mut text = json!({
                "summary": operation.summary,
                "about": operation.about,
                "answers": {status: {}},
                "refusals": refusals.collect::<Vec<_>>(),
            });
            let fields = self.fields.iter();
            for (name, about) in fields.filter(|(name, _)| operation.route.contains(&format!("{{{name}}}"))) {
                text["fields"][name] = (*about).into();
            }
            text["query"] = requests.add(operation.parameters);
            if let Some(schema) = operation.body {
                text["body"] = requests.add(schema);
            }
            if let Some(schema) = operation.answer {
                text["answers"][status]["body"] = answers.add(schema);
            }
            if operation.is_page {
                text["answers"][status]["page"] = true.into();
                text["answers"]["304"] = json!({"page": true});
            }
            (operation.route.to_owned(), text)
        });
        let operations: Map<String, Value> = operations.collect();
        json!({
            "noun": self.about,
            "operations": operations,
            "requests": requests.document(),
            "answers": answers.document(),
        })
    }
}

/// The schemas of requests or of answers.
struct NounSchemas {
    noun: &'static str,
    generator: SchemaGenerator,
    schemas: Map<String, Value>,
}

impl NounSchemas {
    fn new(noun: &'static str, settings: SchemaSettings) -> NounSchemas {
        let is_answer = settings.contract.is_serialize();
        let settings = settings.with(|settings| settings.definitions_path = "/definitions".into());
        NounSchemas {
            noun,
            generator: settings.with_transform(Plain { is_answer }).into_generator(),
            schemas: Map::new(),
        }
    }

    /// Adds a schema, and returns the name in the form `noun/name`.
    fn add(&mut self, schema: NamedSchema) -> Value {
        let (name, schema) = schema(&mut self.generator);
        self.schemas.insert(name.to_string(), json!({NATIVE_STEP: schema}));
        format!("{}/{name}", self.noun).into()
    }

    fn document(mut self) -> Value {
        let definitions = self.generator.take_definitions(true);
        self.schemas.insert("definitions".to_owned(), definitions.into());
        self.schemas.into()
    }
}

/// Writes each text in a line, and drops the names of Rust's numbers. An object of an answer has no more members.
#[derive(Clone)]
struct Plain {
    is_answer: bool,
}

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        let format = schema.get("format").and_then(Value::as_str);
        if format.is_some_and(|format| NUMBERS.contains(&format)) {
            schema.remove("format");
        }
        if self.is_answer && schema.get("properties").is_some() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        transform_subschemas(self, schema);
    }
}

/// The formats that schemars derives from Rust's numbers.
const NUMBERS: [&str; 5] = ["double", "int64", "uint", "uint32", "uint64"];
