//! Requests of the native API as structs: serde reads a body or a query string into a struct. A refusal names the wrong
//! member by the path, with the value that was given and the allowed values. schemars derives the description from the
//! same structs (`noun.rs`).

mod input;
mod merge;
mod noun;
mod object;
mod problem;
mod texts;
mod types;

use serde::de::DeserializeOwned;

use input::Input;
pub use merge::{Null, Patch, Patched, ShownMember};
pub use noun::{Noun, NounOperation};
pub use object::{Ignored, NonEmpty};
use problem::Problem;
pub use texts::{ClassName, SpelledUuid, Suffix};
pub use types::{Bounded, InDomain, Name, Named, NoParameters, Nullable, PageLimit, Text, Uuid, Whole};

use super::bad_request;
use super::json;
use super::query::Query;
use super::value::Json;
use crate::error::Result;

/// Reads a body.
///
/// # Errors
/// [`crate::error::Error::MalformedJson`], or the first wrong member, by path.
pub fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    read_value(&json::read(body, |_| Ok(()))?)
}

/// Reads the body of a `PATCH` as the body of a `PUT`. `shown` is the answer to `GET`.
///
/// # Errors
/// As of [`read_body`].
pub fn read_merge_patch<T: DeserializeOwned + Patched>(shown: &[u8], patch: &[u8]) -> Result<Patch<T>> {
    let (patch, shown) = (json::read(patch, |_| Ok(()))?, json::read(shown, |_| Ok(()))?);
    read_value(&merge::merged(T::MERGED, shown, patch)).map(Patch)
}

/// Reads a parsed body. A NUL in a text is refused here. PostgreSQL refuses a NUL too, but only in the writer, and then
/// the whole batch is decided again.
///
/// # Errors
/// The first wrong member, by path.
pub fn read_value<T: DeserializeOwned>(body: &Json) -> Result<T> {
    let read = T::deserialize(Input::of_body(body)).or_else(|problem| bad_request(problem.sentence("members")))?;
    match body.path_to_text(|text| text.contains('\0')) {
        Some(path) => bad_request(format!(
            "{}: a text has no NUL character.",
            path.trim_start_matches('.')
        )),
        None => Ok(read),
    }
}

/// Reads an item of a list of a parsed body, in which [`read_value`] has found no NUL.
///
/// # Errors
/// The first wrong member, by path.
pub fn read_item<T: DeserializeOwned>(list: &str, at: usize, item: &Json) -> Result<T> {
    let of_body = |problem: Problem| bad_request(problem.in_item(at).in_member(list).sentence("members"));
    T::deserialize(Input::of_body(item)).or_else(of_body)
}

/// Reads a query string in which each parameter occurs once.
///
/// # Errors
/// [`crate::error::Error::DuplicateQueryKey`], or the first wrong parameter.
pub fn read_query<T: DeserializeOwned>(raw: &str) -> Result<T> {
    let query = Query::parse(raw)?;
    query.check_all_single()?;
    query.check_no_nul()?;
    let members = query
        .pairs()
        .map(|(name, text)| (name.to_owned(), Json::String(text.into())));
    let object = Json::Object(members.collect());
    T::deserialize(Input::of_query(&object)).or_else(|problem| bad_request(problem.sentence("parameters")))
}

/// Reads the query string of an operation without parameters.
///
/// # Errors
/// The first parameter.
pub fn read_no_parameters(query: &str) -> Result<()> {
    read_query::<NoParameters>(query).map(drop)
}

#[cfg(test)]
mod tests;
