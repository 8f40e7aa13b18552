//! The parameters of an operation: the fields of its path, and its query by version.

use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use super::span::{Span, merged, one_of_steps};
use super::texts::Texts;

/// The fields of a path.
pub fn of_path(path: &str, said: &Value, schemas: &Schemas<'_>, texts: &Texts) -> Vec<Value> {
    let names = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters = names.map(|name| {
        let schema = match &said["path"][name] {
            Value::Null if name.ends_with("uuid") => json!({"type": "string", "format": "uuid"}),
            Value::Null => json!({"type": "string", "minLength": 1, "maxLength": 255}),
            // A name that is validated with a schema of a body.
            Value::String(named) => schemas.newest(named),
            own => own.clone(),
        };
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": texts.word("path", name).unwrap_or(name),
            "schema": schema,
        })
    });
    parameters.collect()
}

/// One parameter at one step of the query's schema.
#[derive(PartialEq)]
struct Form {
    required: bool,
    schema: Value,
}

/// The parameters of the query, from the schema that validates it; `whole` is where the operation is served.
pub fn of_query(named: &str, whole: Span, schemas: &Schemas<'_>, texts: &Texts) -> Vec<Value> {
    let mut parameters: Vec<(String, Vec<(Span, Form)>)> = Vec::new();
    for (span, query) in schemas.queries(named, whole) {
        for (name, form) in forms(&query) {
            match parameters.iter_mut().find(|(known, _)| *known == name) {
                Some((_, steps)) => steps.push((span, form)),
                None => parameters.push((name, vec![(span, form)])),
            }
        }
    }
    let parameters = parameters
        .into_iter()
        .map(|(name, steps)| parameter(&name, steps, whole, texts));
    parameters.collect()
}

fn parameter(name: &str, steps: Vec<(Span, Form)>, whole: Span, texts: &Texts) -> Value {
    let holds = steps.iter().map(|(span, _)| *span).reduce(Span::join).unwrap_or(whole);
    let required = holds == whole && steps.iter().all(|(_, form)| form.required);
    let schemas = merged(steps.into_iter().map(|(span, form)| (span, form.schema)));
    let mut parameter = json!({
        "name": name,
        "in": "query",
        "required": required,
        "description": texts.word("query", name).unwrap_or(name),
        "schema": one_of_steps(schemas),
    });
    if name == GROUPS {
        parameter["style"] = "form".into();
        parameter["explode"] = true.into();
    }
    if holds != whole {
        parameter["x-openstack"] = holds.json();
    }
    parameter
}

/// The one parameter that stands for all with a suffix: an object whose members are parameters.
const GROUPS: &str = "groups";

/// The parameters of one step.
fn forms(query: &Value) -> Vec<(String, Form)> {
    let required = |name: &str| {
        query["required"]
            .as_array()
            .is_some_and(|names| names.contains(&name.into()))
    };
    let members = |keyword: &str| query[keyword].as_object().into_iter().flatten();
    let mut forms = Vec::new();
    let mut groups = Map::new();
    // A name whose suffix is optional is a parameter of its own; with a suffix it is a member of the groups.
    for (pattern, schema) in members("patternProperties") {
        let split = pattern
            .strip_prefix('^')
            .and_then(|rest| rest.strip_suffix(")?$")?.split_once('('));
        let Some((name, suffix)) = split else { continue };
        forms.push((
            name.to_owned(),
            Form {
                required: required(name),
                schema: plain(schema),
            },
        ));
        groups.insert(format!("^{name}({suffix})$"), plain(schema));
    }
    for (name, schema) in members("properties") {
        forms.push((
            name.clone(),
            Form {
                required: required(name),
                schema: plain(schema),
            },
        ));
    }
    if !groups.is_empty() {
        let schema = json!({"type": "object", "patternProperties": groups, "additionalProperties": false});
        forms.push((
            GROUPS.to_owned(),
            Form {
                required: false,
                schema,
            },
        ));
    }
    forms
}

/// A schema with a list of one type, written as that type: they mean the same.
fn plain(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some([only]) = schema["type"].as_array().map(Vec::as_slice) {
        schema["type"] = only.clone();
    }
    schema
}
