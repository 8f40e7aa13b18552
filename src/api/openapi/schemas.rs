//! Converts the schemas of `wire` to components of the document: a component for each step and each definition.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::code_checks;
use super::span::{Span, steps};
use super::texts::ApiTexts;

/// The side of an exchange: a schema describes requests or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Requests,
    Answers,
}

/// The schemas of `wire`, and the components made so far.
pub struct Schemas<'a> {
    texts: &'a ApiTexts,
    pub components: BTreeMap<String, Value>,
}

/// The document of a schema. A reference without a file points into this document.
#[derive(Clone, Copy)]
struct Source {
    side: Side,
    noun: &'static str,
}

impl Source {
    fn schemas(self, document: &Value) -> &Value {
        match self.side {
            Side::Requests => &document["requests"],
            Side::Answers => &document["answers"],
        }
    }

    fn component(self, name: &str) -> String {
        match self.side {
            Side::Requests => format!("{}.request.{name}", self.noun),
            Side::Answers => format!("{}.answer.{name}", self.noun),
        }
    }
}

/// The steps and checks of the schema `noun/name`.
#[derive(Clone, Copy)]
struct SchemaSteps<'a> {
    source: Source,
    /// By version, the schema since the version.
    steps: &'a Value,
    /// The checks of code, of requests alone.
    checks: &'a Value,
}

impl<'a> Schemas<'a> {
    pub fn new(texts: &'a ApiTexts) -> Schemas<'a> {
        Schemas {
            texts,
            components: BTreeMap::new(),
        }
    }

    /// Whether there is a schema of this name, `noun/name`.
    #[cfg(test)]
    pub fn has(&self, side: Side, schema_name: &str) -> bool {
        self.find(side, schema_name).is_some()
    }

    /// The steps of `noun/name` within `span`, each as a reference to a component. Empty for an unknown schema.
    pub fn references(&mut self, side: Side, schema_name: &str, span: Span) -> Vec<(Span, Value)> {
        let (Some(found), Some((_, name))) = (self.find(side, schema_name), schema_name.split_once('/')) else {
            return Vec::new();
        };
        let mut references = Vec::new();
        for (since, step, schema) in steps(found.steps, span) {
            let parts = match found.checks {
                Value::Null => vec![(step, schema)],
                _ => self.checked(found, step, &schema),
            };
            for (part, schema) in parts {
                let mut schema = self.schema(found.source, &schema);
                if part != Span::Native || schema.get("$ref").is_none() {
                    let component = found.source.component(&format!("{name}-{}", part.key(&since, step)));
                    self.components.insert(component.clone(), schema);
                    schema = reference(&component);
                }
                references.push((part, schema));
            }
        }
        references
    }

    /// The steps of the query's schema `noun/name` within `span`, with definitions inlined, and with the checks of
    /// code.
    pub fn queries(&self, schema_name: &str, span: Span) -> Vec<(Span, Value)> {
        let Some(found) = self.find(Side::Requests, schema_name) else {
            return Vec::new();
        };
        let steps = steps(found.steps, span).into_iter();
        steps
            .flat_map(|(_, step, schema)| self.checked(found, step, &schema))
            .collect()
    }

    fn checked(&self, found: SchemaSteps<'_>, step: Span, schema: &Value) -> Vec<(Span, Value)> {
        code_checks::add(found.checks, step, self.inline(found.source, schema))
    }

    /// The newest step of `noun/name`, or the value at `noun/name/…` in the step; `null` if the schema or the value is
    /// missing.
    pub fn newest(&self, schema_name: &str) -> Value {
        let end = schema_name
            .match_indices('/')
            .nth(1)
            .map_or(schema_name.len(), |(at, _)| at);
        let (schema_name, pointer) = schema_name.split_at(end);
        let newest = self.queries(schema_name, Span::ALL).pop();
        newest
            .and_then(|(_, schema)| schema.pointer(pointer).cloned())
            .unwrap_or_default()
    }

    fn find(&self, side: Side, schema_name: &str) -> Option<SchemaSteps<'a>> {
        let (noun, name) = schema_name.split_once('/')?;
        let (noun, document) = self.texts.document(noun)?;
        let source = Source { side, noun };
        Some(SchemaSteps {
            source,
            steps: source.schemas(document).get(name)?,
            checks: match side {
                Side::Requests => &document["code_checks"][name],
                Side::Answers => &Value::Null,
            },
        })
    }

    /// The target of `{"$ref": "noun.json#/a/b"}`: the document, the name, and the value.
    fn referred(&self, source: Source, value: &Value) -> Option<(Source, String, &'a Value)> {
        let (file, pointer) = value.get("$ref")?.as_str()?.split_once('#')?;
        let (noun, document) = self.texts.document(file.strip_suffix(".json").unwrap_or(source.noun))?;
        let source = Source { noun, ..source };
        let name = pointer
            .trim_start_matches("/definitions")
            .trim_start_matches('/')
            .replace('/', "-");
        let referred = source.schemas(document).pointer(pointer)?;
        Some((source, name, referred))
    }

    /// A schema for the description: definitions become components, properties get descriptions.
    fn schema(&mut self, source: Source, schema: &Value) -> Value {
        if let Some((source, name, referred)) = self.referred(source, schema) {
            let component = source.component(&name);
            if !self.components.contains_key(&component) {
                let referred = self.schema(source, referred);
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
    fn members(&mut self, source: Source, members: &Value, described: bool) -> Value {
        let members = self.referred(source, members).map_or(members, |(.., members)| members);
        let members = members.as_object().into_iter().flatten().map(|(name, schema)| {
            let mut schema = self.schema(source, schema);
            if let (true, None, Some(words)) = (
                described,
                schema.get("description"),
                self.texts.word("properties", source.noun, name),
            ) {
                schema["description"] = words.into();
            }
            (name.clone(), schema)
        });
        members.collect::<Map<_, _>>().into()
    }

    /// The value with references replaced by their targets.
    fn inline(&self, source: Source, value: &Value) -> Value {
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

fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{component}")})
}
