//! Requests of the native API as structs: serde reads a body or a query string into a struct. A refusal names the wrong
//! member by the path, with the given value and the allowed values. schemars derives the description from the
//! same structs (`noun.rs`).

mod input;
mod lists;
mod merge;
mod noun;
mod object;
mod parameters;
mod problem;
mod texts;
mod types;

use serde::de::DeserializeOwned;

use input::Input;
pub use lists::{ListForm, ListItem, NameList, WrittenPage, write_page};
pub use merge::{Null, Patch, Patched, ShownMember};
pub use noun::{Noun, NounOperation};
pub use object::{Ignored, NonEmpty};
pub use parameters::UnreadParameters;
use problem::{InputKind, Problem, check_no_nul};
pub use texts::{ClassName, SpelledUuid, Suffix, is_suffix};
pub use types::{
    AnyDomain, Bounded, InDomain, Name, Named, NoParameters, Nullable, PageLimit, Repeatable, Text, Uuid, Whole,
    read_text,
};

use super::json;
use super::query::Query;
use super::value::Json;
use crate::error::Result;

/// Reads a body.
///
/// # Errors
/// [`crate::error::Error::MalformedJson`], or the first wrong member, by path.
pub fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    read_value(&json::read_native(body)?)
}

/// Reads the body of a `PATCH` as the body of a `PUT`. `shown` is the answer to `GET`.
///
/// # Errors
/// As of [`read_body`].
pub fn read_merge_patch<T: DeserializeOwned + Patched>(shown: &[u8], patch: &[u8]) -> Result<Patch<T>> {
    let (patch, shown) = (json::read_native(patch)?, json::read_native(shown)?);
    read_value(&merge::merged(T::MERGED, shown, patch)).map(Patch)
}

/// Reads a parsed body. A NUL in a text is refused here. PostgreSQL refuses a NUL too, but only in the writer, and then
/// the whole batch is decided again.
///
/// # Errors
/// The first wrong member, by path.
pub fn read_value<T: DeserializeOwned>(body: &Json) -> Result<T> {
    let read = T::deserialize(Input::of_body(body)).map_err(|problem| problem.refusal(InputKind::Body))?;
    check_no_nul(body)?;
    Ok(read)
}

/// Reads an item of a list of a parsed body, in which [`read_value`] has found no NUL.
///
/// # Errors
/// The first wrong member, by path.
pub fn read_item<T: DeserializeOwned>(list: &str, at: usize, item: &Json) -> Result<T> {
    let refusal = |problem: Problem| problem.in_item(at).in_member(list).refusal(InputKind::Body);
    T::deserialize(Input::of_body(item)).map_err(refusal)
}

/// Reads a query string. A parameter of a single value occurs once.
///
/// # Errors
/// [`crate::error::Error::DuplicateQueryKey`], or the first wrong parameter.
pub fn read_query<T: DeserializeOwned>(raw: &str) -> Result<T> {
    UnreadParameters::of(&Query::parse(raw)?)?.into_struct()
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
