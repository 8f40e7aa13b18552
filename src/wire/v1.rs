//! `/v1/`: the operations of the native API.

use schemars::JsonSchema;
use serde::Serialize;

use super::native::{self, NoParameters, Noun};
use super::output::{Link, json};
use crate::version::NATIVE_STEP;

/// The description of the API and the root.
pub static NOUN: Noun = Noun {
    name: NATIVE_STEP,
    about: "placet's native API, below `/v1`. It has no microversions, because changes only add to it. Its errors always \
        have a `code`.",
    fields: &[],
    operations: &[native::NounOperation::new::<NoParameters>(
        "GET /v1/",
        "List the operations of the native API",
        "Each operation has the policy rule that authorizes it. So a client can check whether this version of \
            placet has an operation.",
    )
    .answer::<Api>()],
};

/// An operation of the native API.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operation {
    /// The HTTP method.
    #[schemars(extend("enum" = ["DELETE", "GET", "PATCH", "POST", "PUT"]))]
    pub method: &'static str,
    /// The path, with the names of fields in braces.
    #[schemars(regex(pattern = "^/v1/"))]
    pub path: &'static str,
    /// The operation in a line.
    pub summary: String,
    /// The policy rule that authorizes the operation.
    #[schemars(regex(pattern = "^placet:"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct Api<'a> {
    /// The version of the native API.
    #[schemars(extend("enum" = ["v1"]))]
    api: &'static str,
    /// The version of placet.
    placet: &'static str,
    /// The operations of the native API.
    operations: &'a [Operation],
    /// The URLs of related resources.
    links: Vec<Link<'a>>,
}

/// Writes the answer. `description` is the URL of the OpenAPI document.
pub fn write(operations: &[Operation], description: &str) -> Vec<u8> {
    json(&Api {
        api: NATIVE_STEP,
        placet: env!("CARGO_PKG_VERSION"),
        operations,
        links: vec![Link {
            rel: "describedby",
            href: description.to_owned(),
        }],
    })
}
