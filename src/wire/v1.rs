//! `/v1/`: the operations of the native API.

use serde::Serialize;

use super::documents::NATIVE_STEP;
use super::output::{Link, json};
use super::query::Query;
use super::schema::NativeSchema;
use crate::error::Result;

static SHOW: NativeSchema = NativeSchema::of_query(include_str!("schemas/v1.json"), "show");

/// One operation of the native API.
#[derive(Debug, Serialize)]
pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub summary: String,
    /// The policy rule that authorizes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
}

#[derive(Serialize)]
struct Api<'a> {
    api: &'static str,
    /// The version of placet.
    placet: &'static str,
    operations: &'a [Operation],
    links: [Link<'a>; 1],
}

/// Reads the query string of `GET /v1/`, which has no parameters.
///
/// # Errors
/// `InvalidQuery` if there is one.
pub fn read(query: &str) -> Result<()> {
    Query::read_native(&SHOW, query).map(drop)
}

/// Writes the answer. `description` is the URL of the OpenAPI document.
pub fn write(operations: &[Operation], description: &str) -> Vec<u8> {
    json(&Api {
        api: NATIVE_STEP,
        placet: env!("CARGO_PKG_VERSION"),
        operations,
        links: [Link {
            rel: "describedby",
            href: description.to_owned(),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_parameter_is_refused_by_name() {
        assert!(read("").is_ok());
        let refused = read("limit=1").unwrap_err().to_string();
        assert!(refused.contains("'limit'"), "{refused}");
    }
}
