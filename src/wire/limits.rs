//! `/v1/limits`.

use serde::Serialize;

use super::output::json;
use super::query::Query;
use super::schema::NativeSchema;
use super::value::Value;
use crate::error::{Error, Result};
use crate::model::limits::{Limit, Page, Set};
use crate::search::NormalLimit;

const SCHEMAS: &str = include_str!("schemas/limits.json");
static SET: NativeSchema = NativeSchema::of_body(SCHEMAS, "set");
static SET_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "set_parameters");
static LIST_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "list_parameters");
static NO_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "no_parameters");

/// The most limits of a page.
const MAX_LIMITS: usize = 1_000;

/// Reads the query string of `GET /v1/limits`.
///
/// # Errors
/// `InvalidQuery` for other parameters and values.
pub fn read_list(query: &str) -> Result<Page> {
    let query = Query::read_native(&LIST_PARAMETERS, query)?;
    Ok(Page {
        limit: query.page_limit(MAX_LIMITS, "limits")?,
        after: query.last("after").map(str::to_owned),
    })
}

/// Reads the query string of `GET /v1/limits/{class}`, which has no parameters.
///
/// # Errors
/// `InvalidQuery` if there is one.
pub fn read_show(query: &str) -> Result<()> {
    Query::read_native(&NO_PARAMETERS, query).map(drop)
}

/// Reads `PUT /v1/limits/{class}`, and whether it is a dry run.
///
/// # Errors
/// The first member that is wrong, by its path.
pub fn read_set(class: &str, query: &str, body: &[u8]) -> Result<(Set, bool)> {
    let parameters = Query::read_native(&SET_PARAMETERS, query)?;
    let body = SET.read(body)?;
    let set = Set {
        class: class.to_owned(),
        generation: match body.field("generation") {
            Value::Null => None,
            generation => Some(generation.integer()),
        },
        normal: normal(body.field("normal"))?,
    };
    Ok((set, parameters.last("dry_run") == Some("true")))
}

fn normal(value: &Value) -> Result<Option<NormalLimit>> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) if &**text == "physical" => return Ok(Some(NormalLimit::Physical)),
        Value::String(text) => {
            return Err(Error::BadRequest {
                detail: format!("normal: '{text}' is no limit. Write \"physical\", an object with a buffer, or null."),
            });
        }
        buffer => buffer.field("buffer").text(),
    };
    match text.parse() {
        Ok(buffer @ NormalLimit::Buffer(_)) => Ok(Some(buffer)),
        _ => Err(Error::BadRequest {
            detail: format!(
                "normal.buffer: '{text}' is no share. Write a decimal from \"0\" to \"1\" with at most six decimals, such \
                 as \"0.15\"."
            ),
        }),
    }
}

#[derive(Serialize)]
struct One<'a> {
    resource_class: &'a str,
    generation: Option<i64>,
    normal: Normal,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Normal {
    Buffer { buffer: String },
    Physical(&'static str),
    None(()),
}

#[derive(Serialize)]
struct List<'a> {
    limits: Vec<One<'a>>,
    next: Option<&'a str>,
}

fn one(limit: &Limit) -> One<'_> {
    One {
        resource_class: &limit.class,
        generation: limit.generation,
        normal: match limit.normal {
            Some(buffer @ NormalLimit::Buffer(_)) => Normal::Buffer {
                buffer: buffer.to_string(),
            },
            Some(NormalLimit::Physical) => Normal::Physical("physical"),
            None => Normal::None(()),
        },
    }
}

/// Writes one limit.
pub fn write_one(limit: &Limit) -> Vec<u8> {
    json(&one(limit))
}

/// Writes a page of limits. `next` is the class after which the next page begins.
pub fn write_list(limits: &[Limit], next: Option<&str>) -> Vec<u8> {
    json(&List {
        limits: limits.iter().map(one).collect(),
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Set> {
        read_set("VCPU", "", body.as_bytes()).map(|(set, _)| set)
    }

    #[test]
    fn a_limit_is_a_buffer_or_physical_or_none() {
        let normal = |text: &str| {
            read(&format!(r#"{{"generation": null, "normal": {text}}}"#))
                .unwrap()
                .normal
        };
        assert_eq!(normal(r#"{"buffer": "0.15"}"#), Some(NormalLimit::Buffer(150_000)));
        assert_eq!(normal(r#""physical""#), Some(NormalLimit::Physical));
        assert_eq!(normal("null"), None);
    }

    #[test]
    fn both_at_once_and_what_is_no_share_are_refused() {
        for wrong in [
            r#"{"buffer": "0.15", "physical": true}"#,
            r#"{"buffer": "0.15", "overbooking": "0.2"}"#,
            r#"{"buffer": "1.2"}"#,
            r#"{"buffer": "-0.1"}"#,
            r#"{"buffer": 0.15}"#,
            r#"{"buffer": "physical"}"#,
            r#"{"overbooking": "-1.0"}"#,
            "{}",
            "0.15",
            r#""all""#,
        ] {
            let refused = read(&format!(r#"{{"generation": 1, "normal": {wrong}}}"#));
            assert!(refused.is_err(), "{wrong}: {refused:?}");
        }
        assert!(read(r#"{"normal": null}"#).is_err());
        assert!(read(r#"{"generation": 1}"#).is_err());
    }

    #[test]
    fn writes_what_can_be_read_again() {
        for normal in [Some(NormalLimit::Buffer(150_000)), Some(NormalLimit::Physical), None] {
            let limit = Limit {
                class: "VCPU".to_owned(),
                generation: Some(3),
                normal,
            };
            let written = String::from_utf8(write_one(&limit)).unwrap();
            let body = written.replace(r#""resource_class":"VCPU","#, "");
            assert_eq!(read(&body).unwrap().normal, normal, "{written}");
        }
    }
}
