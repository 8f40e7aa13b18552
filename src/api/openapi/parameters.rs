//! The parameters of an operation: the fields of the path, and the query by version.

use serde_json::{Map, Value, json};

use super::super::route::Route;
use super::schemas::Schemas;
use super::span::{Span, merged, one_of_steps};
use super::texts::ApiTexts;

/// The fields of a path. A field with the rest of a path has the keyword `x-may-have-slashes`: OpenAPI lacks a keyword
/// for slashes.
pub fn of_path(route: &Route, description: &Value, schemas: &Schemas<'_>, texts: &ApiTexts) -> Vec<Value> {
    let takes_rest = |name: &str| route.takes_rest && route.path.ends_with(&format!("{{{name}}}"));
    let names = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters = names.map(|name| {
        let schema = match &description["path"][name] {
            Value::Null if name.ends_with("uuid") => json!({"type": "string", "format": "uuid"}),
            Value::Null => json!({"type": "string", "minLength": 1, "maxLength": 255}),
            // The name of a schema: the field is validated like a member of a body.
            Value::String(schema_name) => schemas.newest(schema_name),
            inline => inline.clone(),
        };
        let mut parameter = json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": description["fields"][name].as_str().or(texts.word("path", "", name)).unwrap_or(name),
            "schema": schema,
        });
        if takes_rest(name) {
            parameter["x-may-have-slashes"] = true.into();
        }
        parameter
    });
    parameters.collect()
}

/// A parameter at a step of the query's schema.
#[derive(PartialEq)]
struct ParameterForm {
    required: bool,
    schema: Value,
}

/// The parameters of the query, from the schema `schema_name`. `served` has the versions of the operation.
pub fn of_query(schema_name: &str, served: Span, schemas: &Schemas<'_>, texts: &ApiTexts) -> Vec<Value> {
    let noun = schema_name.split('/').next().unwrap_or_default();
    let mut parameters: Vec<(String, Vec<(Span, ParameterForm)>)> = Vec::new();
    for (span, query) in schemas.queries(schema_name, served) {
        for (name, form) in forms(&query) {
            match parameters.iter_mut().find(|(known, _)| *known == name) {
                Some((_, steps)) => steps.push((span, form)),
                None => parameters.push((name, vec![(span, form)])),
            }
        }
    }
    let parameters = parameters
        .into_iter()
        .map(|(name, steps)| parameter((noun, &name), steps, served, texts));
    parameters.collect()
}

fn parameter((noun, name): (&str, &str), steps: Vec<(Span, ParameterForm)>, served: Span, texts: &ApiTexts) -> Value {
    let span = steps.iter().map(|(step, _)| *step).reduce(Span::join).unwrap_or(served);
    let required = span == served && steps.iter().all(|(_, form)| form.required);
    let schemas = merged(steps.into_iter().map(|(span, form)| (span, form.schema)));
    let mut schema = one_of_steps(schemas);
    let own_text = schema
        .as_object_mut()
        .and_then(|schema| schema.shift_remove("description"));
    let text = texts.word("query", noun, name).unwrap_or(name);
    let mut parameter = json!({
        "name": name,
        "in": "query",
        "required": required,
        "description": own_text.unwrap_or_else(|| text.into()),
        "schema": schema,
    });
    if name == GROUPS {
        parameter["style"] = "form".into();
        parameter["explode"] = true.into();
    }
    if span != served {
        parameter["x-openstack"] = span.json();
    }
    parameter
}

/// The parameter for all parameters with a suffix: an object with the parameters as members.
const GROUPS: &str = "groups";

/// The parameters at a step of the query's schema.
fn forms(query: &Value) -> Vec<(String, ParameterForm)> {
    let required = |name: &str| {
        query["required"]
            .as_array()
            .is_some_and(|names| names.contains(&name.into()))
    };
    let form = |name: &str, schema: &Value| ParameterForm {
        required: required(name),
        schema: without_type_list(schema),
    };
    let members = |keyword: &str| query[keyword].as_object().into_iter().flatten();
    let mut forms = Vec::new();
    let mut groups = Map::new();
    // A name with a suffix is a member of the groups. If the suffix is optional, the name is a parameter by itself too.
    for (pattern, schema) in members("patternProperties") {
        let split = pattern
            .strip_prefix('^')
            .and_then(|rest| rest.strip_suffix('$')?.split_once('('));
        let Some((name, suffix)) = split else { continue };
        let (suffix, is_optional) = match suffix.strip_suffix('?') {
            Some(optional) => (optional, true),
            None => (suffix, false),
        };
        forms.extend(is_optional.then(|| (name.to_owned(), form(name, schema))));
        groups.insert(format!("^{name}({suffix}$"), without_type_list(schema));
    }
    forms.extend(members("properties").map(|(name, schema)| (name.clone(), form(name, schema))));
    if !groups.is_empty() {
        let schema = json!({"type": "object", "patternProperties": groups, "additionalProperties": false});
        forms.push((GROUPS.to_owned(), form(GROUPS, &schema)));
    }
    forms
}

/// Removes `null`, which no parameter can be, and replaces a list of a single type by the type.
fn without_type_list(schema: &Value) -> Value {
    let mut schema = schema.clone();
    for keyword in ["type", "enum"] {
        if let Some(Value::Array(alternatives)) = schema.get_mut(keyword) {
            alternatives.retain(|alternative| *alternative != "null" && !alternative.is_null());
        }
    }
    if let Some([only]) = schema["type"].as_array().map(Vec::as_slice) {
        schema["type"] = only.clone();
    }
    schema
}
