//! Checks that code makes after the schema of a request: keywords for the description alone.
//!
//! The schemas of `wire` cannot contain them, because a schema determines the sentence of its refusal.

use std::collections::BTreeMap;

use serde_json::Value;

use super::schemas::steps;
use super::span::Span;
use crate::wire::documents::documents;

/// The checks by noun. Each has the names of requests, of their parameters or members, and steps with keywords.
pub struct CodeChecks {
    nouns: BTreeMap<&'static str, Value>,
}

impl CodeChecks {
    pub fn read() -> CodeChecks {
        let nouns = documents().into_iter();
        let nouns = nouns.map(|(noun, mut document)| (noun, document["code_checks"].take()));
        CodeChecks { nouns: nouns.collect() }
    }

    pub fn has(&self, noun: &str, name: &str) -> bool {
        self.nouns[noun][name].is_object()
    }

    /// The inlined schema of the request `noun/name` with its checks, for each part of `span` in which they are the
    /// same.
    pub fn add(&self, noun: &str, name: &str, span: Span, schema: Value) -> Vec<(Span, Value)> {
        let mut parts = vec![(span, schema)];
        for (member, check) in self.nouns[noun][name].as_object().into_iter().flatten() {
            let with_check = |(span, schema): (Span, Value)| -> Vec<(Span, Value)> {
                let found = steps(check, span).into_iter();
                let found: Vec<_> = found
                    .map(|(_, span, keywords)| (span, with_keywords(schema.clone(), member, &keywords)))
                    .collect();
                if found.is_empty() { vec![(span, schema)] } else { found }
            };
            parts = parts.into_iter().flat_map(with_check).collect();
        }
        parts
    }

    /// Each request with checks, as `noun/name`, and the checks of its parameters or members.
    #[cfg(test)]
    pub fn requests(&self) -> impl Iterator<Item = (String, &Value)> {
        let nouns = self.nouns.iter();
        nouns.flat_map(|(noun, requests)| {
            let requests = requests.as_object().into_iter().flatten();
            requests.map(move |(name, checks)| (format!("{noun}/{name}"), checks))
        })
    }
}

/// The schema with more keywords for a member, and for the parameters of groups that have this name and a suffix. A
/// member of the items of a list is `list[].member`.
fn with_keywords(mut schema: Value, member: &str, keywords: &Value) -> Value {
    if let Some((list, of_items)) = member.split_once("[].") {
        let items = &mut schema["properties"][list]["items"];
        *items = with_keywords(items.take(), of_items, keywords);
        return schema;
    }
    let with_suffix = format!("^{member}(");
    for part in ["properties", "patternProperties"] {
        let members = schema.get_mut(part).and_then(Value::as_object_mut);
        for (name, schema) in members.into_iter().flatten() {
            if name == member || name.starts_with(&with_suffix) {
                for (keyword, value) in keywords.as_object().into_iter().flatten() {
                    schema[keyword] = value.clone();
                }
            }
        }
    }
    schema
}
