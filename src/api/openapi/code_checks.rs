//! Checks that code makes after the schema of a request: keywords for the description alone.
//!
//! The schemas of `wire` cannot contain them, because a schema determines the sentence of its refusal.

use serde_json::Value;

use super::span::{Span, steps};

/// The inlined schema of a request with these checks, for each part of `span` in which the checks are the same.
///
/// The checks have the names of parameters or members, and steps with keywords.
pub fn add(checks: &Value, span: Span, schema: Value) -> Vec<(Span, Value)> {
    let mut parts = vec![(span, schema)];
    for (member, check) in checks.as_object().into_iter().flatten() {
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
