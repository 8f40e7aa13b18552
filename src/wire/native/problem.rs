//! A wrong member of a request: the path, the value that was given, and the allowed values.

use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};

use crate::wire::python::cut_at;
use crate::wire::value::Json;

/// The maximum length of a name or of a value in a refusal: a request of megabytes is not sent back.
const MAX_GIVEN_BYTES: usize = 256;

/// The first wrong member. The path grows from the member to the root.
#[derive(Debug)]
pub struct Problem {
    path: String,
    kind: ProblemKind,
}

#[derive(Debug)]
enum ProblemKind {
    /// The struct lacks the member. The names are the members of the struct.
    Unknown(&'static [&'static str]),
    Missing,
    /// The value is wrong, as the sentence says.
    Value(String),
}

impl Problem {
    fn new(path: &str, kind: ProblemKind) -> Problem {
        let path = cut_at(path.to_owned(), MAX_GIVEN_BYTES);
        Problem { path, kind }
    }

    /// A value outside of the allowed values: `"5" is not a whole number`.
    pub fn value(given: impl Display, allowed: impl Display) -> Problem {
        Problem::new("", ProblemKind::Value(format!("{given} is {allowed}")))
    }

    /// The problem in a member of an object.
    pub fn in_member(mut self, name: &str) -> Problem {
        let name = match name {
            "" => "\"\"".to_owned(),
            name => cut_at(name.to_owned(), MAX_GIVEN_BYTES),
        };
        let separator = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{name}{separator}{}", self.path);
        self
    }

    /// The problem in an item of a list.
    pub fn in_item(self, at: usize) -> Problem {
        self.in_member(&format!("[{at}]"))
    }

    /// The problem of the name of a member. A struct names an unknown member itself.
    pub fn in_name(self, name: &str) -> Problem {
        match self.kind {
            ProblemKind::Unknown(_) => self,
            ProblemKind::Missing | ProblemKind::Value(_) => self.in_member(name),
        }
    }

    /// The problem of a member for which null is allowed too.
    pub fn or_null(mut self) -> Problem {
        if let (true, ProblemKind::Value(sentence)) = (self.path.is_empty(), &mut self.kind) {
            sentence.push_str(" or null");
        }
        self
    }

    /// The refusal. `members` is the word for the members of the request.
    pub fn sentence(self, members: &str) -> String {
        let path = self.path;
        match self.kind {
            ProblemKind::Unknown([]) => format!("{path} is unknown; there are no {members}."),
            ProblemKind::Unknown(names) => format!("{path} is unknown; the {members} are {}.", names.join(", ")),
            ProblemKind::Missing => format!("{path} is required."),
            ProblemKind::Value(sentence) if path.is_empty() => format!("The body: {sentence}."),
            ProblemKind::Value(sentence) => format!("{path}: {sentence}."),
        }
    }
}

/// A value in a refusal.
pub fn given(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(boolean) => boolean.to_string(),
        Json::Int(number) => number.to_string(),
        Json::BigInt(digits) => cut_at(digits.to_string(), MAX_GIVEN_BYTES),
        Json::Float(number) => number.to_string(),
        Json::String(text) => quoted(text),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}

/// A text in a refusal.
pub fn quoted(text: &str) -> String {
    format!("{:?}", cut_at(text.to_owned(), MAX_GIVEN_BYTES))
}

/// `none of a, b, c`.
pub fn none_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    format!("none of {}", names.join(", "))
}

impl de::Error for Problem {
    fn custom<T: Display>(sentence: T) -> Problem {
        Problem::new("", ProblemKind::Value(sentence.to_string()))
    }

    fn invalid_type(given: Unexpected<'_>, allowed: &dyn Expected) -> Problem {
        let given = match given {
            Unexpected::Bool(boolean) => boolean.to_string(),
            Unexpected::Signed(number) => number.to_string(),
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Float(number) => number.to_string(),
            Unexpected::Str(text) => quoted(text),
            Unexpected::Unit => "null".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "an object".to_owned(),
            other => other.to_string(),
        };
        Problem::value(given, format_args!("not {allowed}"))
    }

    fn invalid_value(given: Unexpected<'_>, allowed: &dyn Expected) -> Problem {
        Problem::invalid_type(given, allowed)
    }

    fn unknown_field(name: &str, names: &'static [&'static str]) -> Problem {
        Problem::new(name, ProblemKind::Unknown(names))
    }

    fn missing_field(name: &'static str) -> Problem {
        Problem::new(name, ProblemKind::Missing)
    }
}

impl Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {:?}", self.path, self.kind)
    }
}

impl std::error::Error for Problem {}
