//! JSON bodies and query strings, by version: the one room in which a request's old form becomes the newest domain
//! type, and an answer takes the form that its version knows. Pure: knows no database and no HTTP.
//!
//! `json` and `query` take a request apart, `schema` and `validation` judge it by `schemas/*.json`, `filters` reads the
//! small languages inside of query parameters, `integer` numbers in texts, `python` prints values for refusals, `output`
//! is what answers share, `quoted` names as they stand in answers, `texts` what they
//! say of providers, `documents` shows the schemas of requests and of
//! `answers/*.json` to whoever describes the API; the nouns put them to use.

pub mod aggregates;
pub mod allocation_candidates;
pub mod allocations;
pub mod documents;
pub mod inventories;
pub mod reshaper;
pub mod resource_classes;
pub mod resource_providers;
pub mod root;
pub mod traits;
pub mod usages;

mod filters;
pub mod integer;
mod json;
mod output;
mod python;
mod query;
mod quoted;
mod schema;
#[cfg(test)]
mod searched;
mod texts;
mod uuid;
mod validation;
mod value;
