//! The errors of the JSON parser: Python's messages with their positions, and the paths of repeated members.

use crate::error::{Error, Result};
use crate::wire::bad_request;
use crate::wire::path::MemberPath;

/// An error of the parser.
pub enum JsonError {
    /// Python's message, without the position.
    Unplaced(String),
    /// Python's message, and the offset in bytes.
    At(String, usize),
    /// The path of a repeated member of an object.
    Repeated(MemberPath),
}

/// An error at an offset in bytes.
pub fn fail<T>(what: &str, at: usize) -> Parsed<T> {
    Err(JsonError::At(what.to_owned(), at))
}

impl JsonError {
    pub fn refusal<T>(self, text: &str) -> Result<T> {
        match self {
            JsonError::Unplaced(what) => Err(Error::MalformedJson(what)),
            JsonError::At(what, at) => Err(Error::MalformedJson(with_position(&what, text, at))),
            JsonError::Repeated(path) => bad_request(path.occurs_again()),
        }
    }

    /// The error with the path that `below` returns.
    pub fn in_path(self, below: impl FnOnce(MemberPath) -> MemberPath) -> JsonError {
        match self {
            JsonError::Repeated(path) => JsonError::Repeated(below(path)),
            other => other,
        }
    }
}

/// Python's message, whose positions count characters, not bytes.
fn with_position(what: &str, text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    let count = before.chars().count();
    format!("{what}: line {line} column {column} (char {count})")
}

pub type Parsed<T> = std::result::Result<T, JsonError>;
