//! A wrong member of a request: the path, the given value, and the allowed values.

use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};

use crate::error::{Error, Result};
use crate::spelling::nearest;
use crate::wire::bad_request;
use crate::wire::cut::cut_at;
use crate::wire::path::{MAX_GIVEN_BYTES, MemberPath};
use crate::wire::value::Json;

/// The first wrong member of a body, or the first wrong parameter.
#[derive(Debug)]
pub struct Problem {
    path: MemberPath,
    kind: ProblemKind,
}

#[derive(Debug)]
enum ProblemKind {
    /// No member has the name. `known` are the members of the struct, and `meant` is the nearest name.
    Unknown {
        known: Vec<&'static str>,
        meant: Option<String>,
    },
    Missing,
    /// The parameter occurs more than once.
    Repeated,
    /// The value is wrong, as the sentence says.
    Value(String),
}

/// The part of the request with the problem.
#[derive(Clone, Copy, PartialEq)]
pub enum InputKind {
    Body,
    Query,
}

impl Problem {
    fn new(path: MemberPath, kind: ProblemKind) -> Problem {
        Problem { path, kind }
    }

    /// A value outside of the allowed values: `"5" is not a whole number`.
    pub fn value(given: impl Display, allowed: impl Display) -> Problem {
        Problem::of_value(format!("{given} is {allowed}"))
    }

    fn of_value(sentence: String) -> Problem {
        Problem::new(MemberPath::default(), ProblemKind::Value(sentence))
    }

    /// A parameter given more than once, although a single value is allowed.
    pub fn repeated() -> Problem {
        Problem::new(MemberPath::default(), ProblemKind::Repeated)
    }

    /// An unknown name, with the known names and the nearest.
    pub fn unknown(name: &str, known: Vec<&'static str>, meant: Option<String>) -> Problem {
        Problem::new(MemberPath::of(name), ProblemKind::Unknown { known, meant })
    }

    /// The problem in a member of an object.
    pub fn in_member(mut self, name: &str) -> Problem {
        self.path = self.path.in_member(name);
        self
    }

    /// The problem in an item of a list.
    pub fn in_item(mut self, at: usize) -> Problem {
        self.path = self.path.in_item(at);
        self
    }

    /// The problem of a parameter of a group, whose name ends with the suffix.
    pub fn with_suffix(mut self, suffix: &str) -> Problem {
        self.path = self.path.with_suffix(suffix);
        self
    }

    /// The problem of the name of a member. A struct names an unknown member itself.
    pub fn in_name(self, name: &str) -> Problem {
        match self.kind {
            ProblemKind::Unknown { .. } => self,
            ProblemKind::Missing | ProblemKind::Repeated | ProblemKind::Value(_) => self.in_member(name),
        }
    }

    /// The problem of a member for which null is allowed too.
    pub fn or_null(mut self) -> Problem {
        if let (true, ProblemKind::Value(sentence)) = (self.path.is_root(), &mut self.kind) {
            sentence.push_str(" or null");
        }
        self
    }

    /// The refusal of the request.
    pub fn refusal(self, part: InputKind) -> Error {
        let path = &self.path;
        let detail = match self.kind {
            ProblemKind::Unknown { known, meant } => unknown(path, &known, meant, part),
            ProblemKind::Missing => format!("{path} is required."),
            ProblemKind::Repeated => {
                let detail = path.occurs_again();
                return Error::DuplicateQueryKey { detail };
            }
            ProblemKind::Value(sentence) if path.is_root() => format!("The body: {sentence}."),
            ProblemKind::Value(sentence) => format!("{path}: {sentence}."),
        };
        Error::BadRequest { detail }
    }
}

/// The refusal of an unknown name.
fn unknown(path: &MemberPath, known: &[&str], meant: Option<String>, part: InputKind) -> String {
    let members = match part {
        InputKind::Body => "members",
        InputKind::Query => "parameters",
    };
    let names = known.join(", ");
    match meant {
        _ if known.is_empty() => format!("{path} is unknown; there are no {members}."),
        None => format!("{path} is unknown; the {members} are {names}."),
        Some(meant) => format!("{path} is unknown; did you mean {meant}? The {members} are {names}."),
    }
}

/// Refuses a text or a name with a NUL.
pub fn check_no_nul(value: &Json) -> Result<()> {
    match value.path_to_text(|text| text.contains('\0')) {
        Some(path) => bad_request(format!("{path}: a text has no NUL character.")),
        None => Ok(()),
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
        Problem::of_value(sentence.to_string())
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
        let meant = nearest(name, names.iter().copied()).map(str::to_owned);
        Problem::unknown(name, names.to_vec(), meant)
    }

    fn missing_field(name: &'static str) -> Problem {
        Problem::new(MemberPath::of(name), ProblemKind::Missing)
    }
}

impl Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {:?}", self.path, self.kind)
    }
}

impl std::error::Error for Problem {}
