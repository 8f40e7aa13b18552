//! Converts the schemas of `wire` to components of the document: one for each step, and one for each definition.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::code_checks::CodeChecks;
use super::span::Span;
use super::texts::Texts;
use crate::version::NATIVE_STEP;
use crate::version::Version;
use crate::wire::documents::documents;

/// The part of a document that contains a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Requests,
    Answers,
}

/// The schemas of `wire`, and the components made from them so far.
pub struct Schemas<'a> {
    texts: &'a Texts,
    requests: BTreeMap<&'static str, Value>,
    answers: BTreeMap<&'static str, Value>,
    checks: CodeChecks,
    pub components: BTreeMap<String, Value>,
}

/// The document that contains a schema: a reference without a file is to this document.
#[derive(Clone, Copy)]
struct Source<'a> {
    part: Part,
    noun: &'a str,
}

impl Source<'_> {
    fn component(self, name: &str) -> String {
        match self.part {
            Part::Requests => format!("{}.request.{name}", self.noun),
            Part::Answers => format!("{}.answer.{name}", self.noun),
        }
    }
}

impl<'a> Schemas<'a> {
    pub fn new(texts: &'a Texts) -> Schemas<'a> {
        let documents = documents();
        let part = |part: &str| {
            let parts = documents.iter().map(|(noun, document)| (*noun, document[part].clone()));
            parts.collect()
        };
        Schemas {
            texts,
            requests: part("requests"),
            answers: part("answers"),
            checks: CodeChecks::read(),
            components: BTreeMap::new(),
        }
    }

    /// Whether there is a schema of this name, `noun/name`.
    pub fn has(&self, part: Part, schema_name: &str) -> bool {
        self.find(part, schema_name).is_some()
    }

    /// The steps of `noun/name` within `span`, each as a reference to its component.
    pub fn references(&mut self, part: Part, schema_name: &str, span: Span) -> Vec<(Span, Value)> {
        let Some((noun, name, document)) = self.find(part, schema_name) else {
            return Vec::new();
        };
        let source = Source { part, noun };
        let found = steps(&document[name], span).into_iter();
        let found: Vec<_> = found
            .flat_map(|(since, span, schema)| match part {
                Part::Requests if self.checks.has(noun, name) => {
                    let parts = self
                        .checks
                        .add(noun, name, span, self.inline(source, &schema))
                        .into_iter();
                    parts
                        .map(|(part, schema)| (part.key(&since, span), part, schema))
                        .collect()
                }
                _ => vec![(since, span, schema)],
            })
            .collect();
        let references = found.into_iter().map(|(key, span, schema)| {
            let schema = self.schema(source, &schema);
            if span == Span::Native && schema.get("$ref").is_some() {
                return (span, schema);
            }
            let component = source.component(&format!("{name}-{key}"));
            self.components.insert(component.clone(), schema);
            (span, reference(&component))
        });
        references.collect()
    }

    /// The steps of the query's schema `noun/name` within `span`, with definitions inlined, and with the checks of
    /// code.
    pub fn queries(&self, schema_name: &str, span: Span) -> Vec<(Span, Value)> {
        let Some((noun, name, document)) = self.find(Part::Requests, schema_name) else {
            return Vec::new();
        };
        let source = Source {
            part: Part::Requests,
            noun,
        };
        let steps = steps(&document[name], span).into_iter();
        steps
            .flat_map(|(_, span, schema)| self.checks.add(noun, name, span, self.inline(source, &schema)))
            .collect()
    }

    /// The newest step of `noun/name`, or the part of it at `noun/name/…`; `null` if there is none.
    pub fn newest(&self, schema_name: &str) -> Value {
        let mut parts = schema_name.splitn(3, '/');
        let [noun, name, pointer] = std::array::from_fn(|_| parts.next().unwrap_or_default());
        let steps = self.queries(&format!("{noun}/{name}"), Span::ALL);
        let newest = steps.last().map(|(_, schema)| schema);
        let pointer = if pointer.is_empty() {
            String::new()
        } else {
            format!("/{pointer}")
        };
        newest
            .and_then(|schema| schema.pointer(&pointer))
            .cloned()
            .unwrap_or_default()
    }

    fn find<'n>(&self, part: Part, schema_name: &'n str) -> Option<(&'n str, &'n str, &Value)> {
        let (noun, name) = schema_name.split_once('/')?;
        let document = self.documents(part).get(noun)?;
        document.get(name)?;
        Some((noun, name, document))
    }

    fn documents(&self, part: Part) -> &BTreeMap<&'static str, Value> {
        match part {
            Part::Requests => &self.requests,
            Part::Answers => &self.answers,
        }
    }

    /// The target of `{"$ref": "noun.json#/a/b"}`: its document, its name, its value.
    fn referred<'v>(&'v self, source: Source<'v>, value: &'v Value) -> Option<(Source<'v>, String, &'v Value)> {
        let (file, pointer) = value.get("$ref")?.as_str()?.split_once('#')?;
        let noun = file.strip_suffix(".json").unwrap_or(source.noun);
        let source = Source { noun, ..source };
        let name = pointer
            .trim_start_matches("/definitions")
            .trim_start_matches('/')
            .replace('/', "-");
        let referred = self.documents(source.part).get(noun)?.pointer(pointer)?;
        Some((source, name, referred))
    }

    /// A schema for the description: definitions become components, properties get descriptions.
    fn schema(&mut self, source: Source<'_>, schema: &Value) -> Value {
        if let Some((source, name, referred)) = self.referred(source, schema) {
            let (component, referred, noun) = (source.component(&name), referred.clone(), source.noun.to_owned());
            if !self.components.contains_key(&component) {
                let source = Source { noun: &noun, ..source };
                let referred = self.schema(source, &referred);
                self.components.insert(component.clone(), referred);
            }
            let mut reference = reference(&component);
            if let Some(text) = schema.get("description") {
                reference["description"] = text.clone();
            }
            return reference;
        }
        let Some(keywords) = schema.as_object() else {
            return schema.clone();
        };
        let keywords = keywords.iter().map(|(keyword, value)| {
            let value = match keyword.as_str() {
                "properties" => self.members(source, value, true),
                "patternProperties" => self.members(source, value, false),
                "items" => self.schema(source, value),
                "additionalProperties" if value.is_object() => self.schema(source, value),
                "allOf" | "anyOf" | "oneOf" => {
                    let options = value.as_array().into_iter().flatten();
                    options.map(|option| self.schema(source, option)).collect()
                }
                _ => value.clone(),
            };
            (keyword.clone(), value)
        });
        keywords.collect::<Map<_, _>>().into()
    }

    /// Schemas by name. The whole object may be a reference to a definition, which is not a schema itself.
    fn members(&mut self, source: Source<'_>, members: &Value, described: bool) -> Value {
        let members = self
            .referred(source, members)
            .map_or(members, |(_, _, members)| members)
            .clone();
        let members = members.as_object().into_iter().flatten().map(|(name, schema)| {
            let mut schema = self.schema(source, schema);
            if let (true, None, Some(words)) = (
                described,
                schema.get("description"),
                self.texts.word("properties", name),
            ) {
                schema["description"] = words.into();
            }
            (name.clone(), schema)
        });
        members.collect::<Map<_, _>>().into()
    }

    /// The value with references replaced by their targets.
    fn inline(&self, source: Source<'_>, value: &Value) -> Value {
        if let Some((source, _, referred)) = self.referred(source, value) {
            return self.inline(source, referred);
        }
        match value {
            Value::Object(members) => {
                let members = members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.inline(source, value)));
                members.collect::<Map<_, _>>().into()
            }
            Value::Array(items) => items.iter().map(|item| self.inline(source, item)).collect(),
            other => other.clone(),
        }
    }
}

/// The steps that overlap `span`: the key of each, the overlap, and its schema.
pub fn steps(steps: &Value, span: Span) -> Vec<(String, Span, Value)> {
    let steps = steps.as_object().into_iter().flatten();
    let (native, steps): (Vec<_>, Vec<_>) = steps.partition(|(since, _)| *since == NATIVE_STEP);
    let steps: Vec<(Version, &Value)> = steps
        .into_iter()
        .map(|(since, schema)| (since.parse().expect("a step is a version"), schema))
        .collect();
    let lasts = steps
        .iter()
        .skip(1)
        .map(|(next, _)| next.before())
        .chain([Version::MAX]);
    let microversions = steps
        .iter()
        .zip(lasts)
        .map(|((first, schema), last)| (first.to_string(), Span::Microversions { first: *first, last }, *schema));
    let native = native
        .into_iter()
        .map(|(key, schema)| (key.clone(), Span::Native, schema));
    microversions
        .chain(native)
        .filter_map(|(key, step, schema)| Some((key, step.intersection(span)?, schema.clone())))
        .collect()
}

fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{component}")})
}
