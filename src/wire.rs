//! JSON bodies and query strings, by microversion. Reading turns every version's form of a request into the newest
//! domain type; writing gives an answer the form of the request's version. Does no I/O, and knows no HTTP.
//!
//! Each noun has a file. They share:
//!
//! - `native`: requests of the native API as structs, and the description of its nouns;
//! - `json`, `query`: parsers of bodies and query strings; `value`: the parsed form; `path`: the path to a member;
//! - `schema`, `steps`, `validation`: the schemas in `schemas/*.json`, and the validation of requests against them;
//! - `filters`, `native_keys`, `integer`, `uuid`: the syntax of parameter values;
//! - `text_form`: the form of names and of property texts;
//! - `python`: Python's formatting of values, for error sentences; `cut`: the greatest length of texts in sentences;
//! - `output`: helpers for answers; `reasons`: why something is refused; `quoted`, `provider_texts`: caches of JSON
//!   texts;
//! - `documents`: the list of schemas, for the description of the API.

use crate::error::{Error, Result};

pub mod aggregates;
pub mod allocation_candidates;
pub mod allocations;
pub mod candidates;
pub mod capacity;
pub mod claims;
pub mod consumers;
pub mod defaults;
pub mod documents;
pub mod domains;
pub mod explain;
pub mod hosts;
pub mod inventories;
pub mod limits;
pub mod providers;
pub mod refusals;
pub mod reshaper;
pub mod resource_classes;
pub mod resource_providers;
pub mod root;
pub mod traits;
pub mod types;
pub mod usages;
pub mod v1;
pub mod violations;
pub mod workloads;

pub mod cut;
mod filters;
pub mod integer;
mod json;
mod native;
mod native_keys;
mod output;
mod path;
mod provider_texts;
pub mod python;
mod query;
mod quoted;
pub mod reasons;
mod schema;
mod steps;
#[cfg(test)]
mod tests;
mod text_form;
pub mod uuid;
mod validation;
mod value;

pub use native::{ListForm, WrittenPage, read_no_parameters};

/// The nouns of the native API, in reading order for the API's description.
static NOUNS: [&native::Noun; 15] = [
    &v1::NOUN,
    &candidates::NOUN,
    &explain::NOUN,
    &capacity::NOUN,
    &claims::NOUN,
    &domains::NOUN,
    &providers::NOUN,
    &types::NOUN,
    &hosts::NOUN,
    &consumers::NOUN,
    &usages::sums::NOUN,
    &limits::NOUN,
    &workloads::NOUN,
    &violations::NOUN,
    &refusals::NOUN,
];

/// The refusal with this sentence.
fn bad_request<T>(detail: impl Into<String>) -> Result<T> {
    Err(Error::BadRequest { detail: detail.into() })
}
