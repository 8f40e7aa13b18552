//! JSON bodies and query strings, by version: the one room in which a request's old form becomes the newest domain
//! type, and an answer the form that its version knows. Pure: knows no database and no HTTP.

mod json;
mod python;
pub mod query;
mod schema;
mod uuid;
mod validation;
mod value;
