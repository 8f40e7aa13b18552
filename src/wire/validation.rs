//! Validates a value against a schema, and composes the error sentence.
//!
//! The sentences are the sentences of Python's `jsonschema`. The report has a single violation:
//!
//! - the violation nearest to the root;
//! - of siblings, the last violation;
//! - of the alternatives of `anyOf`, the violation of the alternative with the best fit.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::python::{cut, pretty, repr, repr_all, repr_str};
use super::schema::{Assertion, Schema, SchemaRule};
use super::value::{Json, Object};

/// The error sentence if `value` does not fit the schema.
pub fn refusal(schema: &Schema, value: &Json) -> Option<String> {
    let best = violations(schema, value, Vec::new(), true).pop();
    best.map(|violation| violation.most_relevant().sentence())
}

/// A step of the path to a value or to a schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

/// A rule, and the value in violation of the rule.
struct SchemaViolation<'a> {
    rule: &'a SchemaRule,
    schema: &'a Schema,
    value: &'a Json,
    /// The name of the missing property.
    missing: &'a str,
    path: Vec<Segment<'a>>,
    schema_path: Vec<Segment<'a>>,
    /// The violations of all alternatives of an `anyOf`.
    alternatives: Vec<SchemaViolation<'a>>,
}

struct SchemaWalk<'a> {
    path: Vec<Segment<'a>>,
    schema_path: Vec<Segment<'a>>,
    found: Vec<SchemaViolation<'a>>,
    /// Whether only the most relevant violation is kept.
    keeps_best: bool,
}

/// The violations of a schema, or the most relevant violation alone.
fn violations<'a>(
    schema: &'a Schema,
    value: &'a Json,
    schema_path: Vec<Segment<'a>>,
    keeps_best: bool,
) -> Vec<SchemaViolation<'a>> {
    let mut walk = SchemaWalk {
        path: Vec::new(),
        schema_path,
        found: Vec::new(),
        keeps_best,
    };
    walk.visit(schema, value);
    walk.found
}

impl<'a> SchemaWalk<'a> {
    fn visit(&mut self, schema: &'a Schema, value: &'a Json) {
        for rule in &schema.rules {
            self.schema_path.push(Segment::Key(&rule.keyword));
            self.apply(schema, rule, value);
            self.schema_path.pop();
        }
    }

    fn apply(&mut self, schema: &'a Schema, rule: &'a SchemaRule, value: &'a Json) {
        match (&rule.check, value) {
            (Assertion::Properties(properties), Json::Object(object)) => {
                for (name, inner) in properties {
                    if let Some(value) = object.get(name) {
                        self.descend(Some(Segment::Key(name)), Segment::Key(name), inner, value);
                    }
                }
            }
            (Assertion::PatternProperties(patterns), Json::Object(object)) => {
                for (pattern, regex, inner) in patterns {
                    for (key, value) in object.iter().filter(|(key, _)| regex.is_match(key)) {
                        self.descend(Some(Segment::Key(pattern)), Segment::Key(key), inner, value);
                    }
                }
            }
            (Assertion::Items(inner), Json::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.descend(None, Segment::Index(index), inner, item);
                }
            }
            (Assertion::Required(names), Json::Object(object)) => {
                for name in names.iter().filter(|name| object.get(name).is_none()) {
                    self.fail(schema, rule, value, name, Vec::new());
                }
            }
            (Assertion::AnyOf(alternatives), _) => {
                if let Some(violations) = violations_of_all(alternatives, value) {
                    self.fail(schema, rule, value, "", violations);
                }
            }
            (check, value) if violates(check, schema, value) => self.fail(schema, rule, value, "", Vec::new()),
            _ => {}
        }
    }

    fn descend(&mut self, schema_step: Option<Segment<'a>>, step: Segment<'a>, schema: &'a Schema, value: &'a Json) {
        self.path.push(step);
        self.schema_path.extend(schema_step);
        self.visit(schema, value);
        if schema_step.is_some() {
            self.schema_path.pop();
        }
        self.path.pop();
    }

    fn fail(
        &mut self,
        schema: &'a Schema,
        rule: &'a SchemaRule,
        value: &'a Json,
        missing: &'a str,
        alternatives: Vec<SchemaViolation<'a>>,
    ) {
        // A body may have millions of violations. A violation deeper than the best is not stored.
        let best = self.found.first().filter(|_| self.keeps_best);
        if best.is_some_and(|best| best.path.len() < self.path.len()) {
            return;
        }
        let (path, schema_path) = (self.path.clone(), self.schema_path.clone());
        let violation = SchemaViolation {
            rule,
            schema,
            value,
            missing,
            path,
            schema_path,
            alternatives,
        };
        match best {
            Some(best) if best.relevance() >= violation.relevance() => {}
            Some(_) => self.found = vec![violation],
            None => self.found.push(violation),
        }
    }
}

/// The violations of all alternatives; `None` if an alternative fits.
fn violations_of_all<'a>(alternatives: &'a [Schema], value: &'a Json) -> Option<Vec<SchemaViolation<'a>>> {
    let mut all = Vec::new();
    for (index, schema) in alternatives.iter().enumerate() {
        let found = violations(schema, value, vec![Segment::Index(index)], false);
        if found.is_empty() {
            return None;
        }
        all.extend(found);
    }
    Some(all)
}

/// Whether a value violates an assertion about the value as a whole, not about the members.
fn violates(check: &Assertion, schema: &Schema, value: &Json) -> bool {
    match (check, value) {
        (Assertion::Type(types), value) => !types.iter().any(|name| is_type(value, name)),
        (Assertion::NoOtherProperties, Json::Object(object)) => unknown_members(schema, object).next().is_some(),
        (Assertion::MinProperties(min), Json::Object(object)) => object.len() < *min,
        (Assertion::MinItems(min), Json::Array(items)) => items.len() < *min,
        (Assertion::UniqueItems, Json::Array(items)) => {
            let mut seen = HashSet::new();
            !items.iter().all(|item| seen.insert(identity(item)))
        }
        (Assertion::Minimum(min), value) => value.float().is_some_and(|number| number < *min),
        (Assertion::Maximum(max), value) => value.float().is_some_and(|number| number > *max),
        (Assertion::MinLength(min), Json::String(text)) => text.chars().count() < *min,
        (Assertion::MaxLength(max), Json::String(text)) => text.chars().count() > *max,
        (Assertion::Pattern(regex), Json::String(text)) => !regex.is_match(text),
        (Assertion::Enum(values), value) => !values.contains(value),
        (Assertion::Uuid(is_uuid), value) => !is_uuid(value),
        _ => false,
    }
}

fn is_type(value: &Json, name: &str) -> bool {
    match value {
        Json::Null => name == "null",
        Json::Bool(_) => name == "boolean",
        Json::Int(_) | Json::BigInt(_) => name == "integer" || name == "number",
        // 1.0 is an integer, because JSON does not distinguish integers from floats.
        Json::Float(number) => name == "number" || (name == "integer" && number.fract() == 0.0),
        Json::String(_) => name == "string",
        Json::Array(_) => name == "array",
        Json::Object(_) => name == "object",
    }
}

/// The members unknown to the schema.
fn unknown_members<'a>(schema: &'a Schema, object: &'a Object) -> impl Iterator<Item = &'a str> {
    let known = |key: &str| {
        schema.rules.iter().any(|rule| match &rule.check {
            Assertion::Properties(properties) => properties.iter().any(|(name, _)| name == key),
            Assertion::PatternProperties(patterns) => patterns.iter().any(|(_, regex, _)| regex.is_match(key)),
            _ => false,
        })
    };
    object.iter().map(|(key, _)| key).filter(move |key| !known(key))
}

/// Equal values have equal texts: `1` equals `1.0`, but not `true`. A float from 1e15 on differs from the integer.
fn identity(value: &Json) -> String {
    match value {
        Json::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => (*number as i64).to_string(),
        Json::Array(items) => format!("[{}]", items.iter().map(identity).collect::<Vec<_>>().join(", ")),
        Json::Object(object) => {
            let mut members: Vec<_> = object.iter().map(|(key, item)| (key, identity(item))).collect();
            members.sort();
            format!("{members:?}")
        }
        // Not `repr`, which cuts off.
        Json::String(text) => format!("{text:?}"),
        other => repr(other),
    }
}

impl<'a> SchemaViolation<'a> {
    /// The order of Python's `best_match`; the most relevant violation is the greatest.
    fn relevance(&self) -> (Reverse<usize>, &[Segment<'a>], bool, bool) {
        let types = self.schema.rules.iter().find_map(|rule| match &rule.check {
            Assertion::Type(types) => Some(types),
            _ => None,
        });
        let has_right_type = types.is_some_and(|types| types.iter().any(|name| is_type(self.value, name)));
        let is_any_of = matches!(self.rule.check, Assertion::AnyOf(_));
        (Reverse(self.path.len()), &self.path, !is_any_of, !has_right_type)
    }

    /// The violation to report: the alternatives' violation of least `relevance`, if unique, else `self`.
    fn most_relevant(mut self) -> Self {
        self.alternatives.sort_by(|a, b| a.relevance().cmp(&b.relevance()));
        let is_distinct = match self.alternatives.as_slice() {
            [] => false,
            [_] => true,
            [first, second, ..] => first.relevance() != second.relevance(),
        };
        if is_distinct {
            self.alternatives.swap_remove(0).most_relevant()
        } else {
            self
        }
    }

    fn sentence(&self) -> String {
        let (_, parents) = self.schema_path.split_last().unwrap_or((&Segment::Index(0), &[]));
        format!(
            "{}\n\nFailed validating {} in schema{}:\n    {}\n\nOn instance{}:\n    {}",
            cut(self.message()),
            repr_str(&self.rule.keyword),
            subscripts(parents),
            pretty(&self.schema.source),
            subscripts(&self.path),
            pretty(self.value),
        )
    }

    fn message(&self) -> String {
        let (value, expected) = (self.value, self.schema.source.field(&self.rule.keyword));
        match &self.rule.check {
            Assertion::Required(_) => format!("{} is a required property", repr_str(self.missing)),
            Assertion::NoOtherProperties => self.unknown_properties(),
            Assertion::Type(types) => {
                let types: Vec<_> = types.iter().map(|name| repr_str(name)).collect();
                format!("{} is not of type {}", repr(value), types.join(", "))
            }
            Assertion::MinProperties(1) | Assertion::MinItems(1) | Assertion::MinLength(1) => {
                format!("{} should be non-empty", repr(value))
            }
            Assertion::MinProperties(_) => format!("{} does not have enough properties", repr(value)),
            Assertion::MinItems(_) | Assertion::MinLength(_) => format!("{} is too short", repr(value)),
            Assertion::MaxLength(_) => format!("{} is too long", repr(value)),
            Assertion::UniqueItems => format!("{} has non-unique elements", repr(value)),
            Assertion::Minimum(_) => format!("{} is less than the minimum of {}", repr(value), repr(expected)),
            Assertion::Maximum(_) => format!("{} is greater than the maximum of {}", repr(value), repr(expected)),
            Assertion::Pattern(_) => format!("{} does not match {}", repr(value), repr(expected)),
            Assertion::Enum(_) => format!("{} is not one of {}", repr(value), repr(expected)),
            Assertion::Uuid(_) => format!("{} is not a {}", repr(value), repr(expected)),
            Assertion::AnyOf(_) => format!("{} is not valid under any of the given schemas", repr(value)),
            Assertion::Properties(_) | Assertion::PatternProperties(_) | Assertion::Items(_) => String::new(),
        }
    }

    fn unknown_properties(&self) -> String {
        let Json::Object(object) = self.value else {
            return String::new();
        };
        let mut names: Vec<_> = unknown_members(self.schema, object).collect();
        names.sort_unstable();
        let single = names.len() == 1;
        let names = repr_all(names);
        let patterns = self.schema.source.field("patternProperties").members();
        let mut patterns: Vec<&str> = patterns.map(|(key, _)| key).collect();
        if patterns.is_empty() {
            let verb = if single { "was" } else { "were" };
            return format!("Additional properties are not allowed ({names} {verb} unexpected)");
        }
        patterns.sort_unstable();
        let patterns = patterns.into_iter().map(repr_str).collect::<Vec<_>>().join(", ");
        let verb = if single { "does" } else { "do" };
        format!("{names} {verb} not match any of the regexes: {patterns}")
    }
}

/// The path as Python subscripts: `['properties']['name'][0]`.
fn subscripts(path: &[Segment<'_>]) -> String {
    let steps = path.iter().map(|step| match step {
        Segment::Key(key) => format!("[{}]", repr_str(key)),
        Segment::Index(index) => format!("[{index}]"),
    });
    cut(steps.collect())
}

#[cfg(test)]
mod tests;
