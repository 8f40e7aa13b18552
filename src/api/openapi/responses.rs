//! The responses of an operation: what it gives, and how it may refuse.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};

use super::refusals::Refusal;
use super::schemas::{Of, Schemas};
use super::span::{Span, merged, one_of_steps};
use crate::version::LAST_MODIFIED;

/// Responses by status, while they are collected.
#[derive(Default)]
pub struct Responses {
    good: BTreeMap<u16, Good>,
    refusals: BTreeMap<u16, Vec<Refusal>>,
}

#[derive(Default)]
struct Good {
    bodies: Vec<(Span, Value)>,
    located: bool,
    /// Where it has the headers of an age: what is said of it.
    modified: Option<Value>,
    spans: Vec<Span>,
}

impl Responses {
    /// Adds what is said of the answers of a row that serves `span`.
    pub fn add_answers(&mut self, answers: &Value, span: Span, schemas: &mut Schemas<'_>) {
        for (status, said) in answers.as_object().into_iter().flatten() {
            let good = self
                .good
                .entry(status.parse().expect("an answer is said of its status"))
                .or_default();
            if let Some(named) = said["body"].as_str() {
                good.bodies.extend(schemas.references(Of::Answers, named, span));
            }
            good.located |= said["location"] == true;
            if !said["modified"].is_null() && span.last >= LAST_MODIFIED {
                good.modified = Some(said["modified"].clone());
            }
            good.spans.push(span);
        }
    }

    pub fn add_refusals(&mut self, refusals: Vec<Refusal>) {
        for refusal in refusals {
            let known = self.refusals.entry(refusal.status).or_default();
            if !known.contains(&refusal) {
                known.push(refusal);
            }
        }
    }

    /// As the document has them, and the list of refusals; the operation exists in `whole`.
    pub fn json(self, whole: Span) -> (Value, Value) {
        let mut responses = Map::new();
        if self.good.is_empty() {
            responses.insert("default".to_owned(), json!({"description": "Not described yet."}));
        }
        for (status, good) in self.good {
            responses.insert(status.to_string(), good.json(status, whole));
        }
        let mut refusals = Vec::new();
        for (status, of_status) in &self.refusals {
            let reference = json!({"$ref": format!("#/components/responses/{status}")});
            responses.insert(status.to_string(), reference);
            refusals.extend(of_status.iter().map(Refusal::json));
        }
        (responses.into(), refusals.into())
    }
}

impl Good {
    fn json(self, status: u16, whole: Span) -> Value {
        let mut names = vec![];
        names.extend(self.located.then_some("Location"));
        match self.modified {
            Some(Value::Bool(true)) => names.extend(["Last-Modified", "Cache-Control"]),
            Some(_) => names.extend(["Last-Modified-If-Any", "Cache-Control"]),
            None => {}
        }
        let mut response = json!({"description": title(status), "headers": headers("Vary", &names)});
        let bodies = merged(self.bodies);
        if !bodies.is_empty() {
            response["content"] = json!({"application/json": {"schema": one_of_steps(bodies)}});
        }
        let holds = self.spans.into_iter().reduce(Span::join).unwrap_or(whole);
        if holds != whole {
            response["x-openstack"] = holds.json();
        }
        response
    }
}

/// The responses by which operations refuse, by status.
pub fn refused(paths: &Value, scope: Span, schemas: &mut Schemas<'_>) -> Value {
    let operations = paths.as_object().into_iter().flatten();
    let operations = operations.flat_map(|(_, path)| path.as_object().into_iter().flatten());
    let statuses = operations.flat_map(|(_, operation)| operation["x-errors"].as_array().into_iter().flatten());
    let statuses: BTreeSet<u64> = statuses.filter_map(|refusal| refusal["status"].as_u64()).collect();
    let statuses = statuses.into_iter().filter_map(|status| u16::try_from(status).ok());
    let responses = statuses.map(|status| (status.to_string(), one_refused(status, scope, schemas)));
    responses.collect::<Map<_, _>>().into()
}

fn one_refused(status: u16, scope: Span, schemas: &mut Schemas<'_>) -> Value {
    let (named, more): (_, &[&str]) = match status {
        401 => ("errors/unauthorized", &[]),
        405 => ("errors/refused", &["Allow"]),
        503 => ("errors/refused", &["Retry-After"]),
        _ => ("errors/refused", &[]),
    };
    json!({
        "description": title(status),
        "headers": headers("Vary-If-Any", more),
        "content": {"application/json": {"schema": one_of_steps(schemas.references(Of::Answers, named, scope))}},
    })
}

fn title(status: u16) -> &'static str {
    let status = StatusCode::from_u16(status).ok();
    status
        .and_then(|status| status.canonical_reason())
        .unwrap_or("An answer")
}

/// Headers that every response has, and `more`. A refusal that is the same at every version does not vary.
fn headers(vary: &str, more: &[&str]) -> Value {
    let always = ["OpenStack-API-Version", "X-Openstack-Request-Id", vary];
    let references = always.iter().chain(more).map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        (name.trim_end_matches("-If-Any").to_owned(), reference)
    });
    references.collect::<Map<_, _>>().into()
}
