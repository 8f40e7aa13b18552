//! The two sides of `left:right` in a check: what is compared with what.

use std::borrow::Cow;

use super::caller::{Caller, Credential, NOTHING, Target};

/// The right side: a text in which `%(name)s` stands for a value of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(String),
    /// A `%` that begins nothing known.
    Unreadable,
}

impl Template {
    pub fn read(text: &str) -> Template {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('%') {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let value = after.strip_prefix('(').and_then(|after| after.split_once(")s"));
            rest = match (after.strip_prefix('%'), value) {
                (Some(after), _) => {
                    pieces.push(Piece::Text("%".to_owned()));
                    after
                }
                (None, Some((name, after))) if !name.contains(['(', ')']) => {
                    pieces.push(Piece::Value(name.to_owned()));
                    after
                }
                _ => {
                    pieces.push(Piece::Unreadable);
                    ""
                }
            };
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Template {
            text: text.to_owned(),
            pieces,
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether [`Template::fill`] can fail.
    pub fn is_unreadable(&self) -> bool {
        self.pieces.contains(&Piece::Unreadable)
    }

    /// The text with the target's values; `Ok(None)` where the target lacks one.
    ///
    /// # Errors
    /// A `%` that begins nothing known.
    pub fn fill<'a>(&'a self, target: &Target) -> Result<Option<Cow<'a, str>>, String> {
        if let [Piece::Text(text)] = self.pieces.as_slice() {
            return Ok(Some(Cow::Borrowed(text)));
        }
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Value(name) => match target.value(name) {
                    Some(value) => filled.push_str(value),
                    None => return Ok(None),
                },
                Piece::Unreadable => return Err(format!("{:?} has a % that is not %(name)s or %%", self.text)),
            }
        }
        Ok(Some(Cow::Owned(filled)))
    }
}

/// The left side of a check that is neither `role:` nor `rule:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// `'text'`, `20`, `True`, `None`: itself.
    Literal(String),
    /// A credential of the caller, and what is asked for inside of it.
    Path(Vec<String>),
    Unreadable,
}

impl Left {
    pub fn read(text: &str) -> Left {
        if let Some(literal) = quoted(text).or_else(|| number(text)) {
            return Left::Literal(literal);
        }
        if ["True", "False", NOTHING].contains(&text) {
            return Left::Literal(text.to_owned());
        }
        let path = text.split('.').map(str::to_owned).collect::<Vec<_>>();
        if path.iter().all(|name| is_name(name)) {
            Left::Path(path)
        } else {
            Left::Unreadable
        }
    }

    /// Whether the left side, as `caller` has it, is `right`. Of a list, one item has to be.
    ///
    /// # Errors
    /// What cannot be read, and a path that goes on where there is nothing inside.
    pub fn is(&self, text: &str, right: &str, caller: &Caller) -> Result<bool, String> {
        let (first, further) = match self {
            Left::Literal(literal) => return Ok(literal == right),
            Left::Unreadable => return Err(unreadable(text)),
            Left::Path(path) => match path.split_first() {
                Some(split) => split,
                None => return Ok(false),
            },
        };
        let nothing_inside = || Err(format!("{text}: there is nothing inside of {first}"));
        Ok(match caller.credential(first) {
            None | Some(Credential::List([])) => false,
            Some(_) if !further.is_empty() => return nothing_inside(),
            Some(Credential::Text(value)) => value.unwrap_or(NOTHING) == right,
            Some(Credential::Flag(flag)) => right == if flag { "True" } else { "False" },
            Some(Credential::List(items)) => items.iter().any(|item| item == right),
        })
    }
}

/// Why a left side cannot be read.
pub fn unreadable(text: &str) -> String {
    format!("{text:?} is no name, no text in quotes, no whole number and none of True, False, None")
}

fn quoted(text: &str) -> Option<String> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains([quote, '\\'])).then(|| inside.to_owned())
    })
}

/// A decimal number, as it is written back.
fn number(text: &str) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (plain && (digits == "0" && digits == text || !digits.starts_with('0'))).then(|| text.to_owned())
}

/// Names may have dashes between them: `user-id` is known to be nobody's, `user-` cannot be read.
fn is_name(text: &str) -> bool {
    let word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    text.split('-').all(word) && !text.starts_with(|c: char| c.is_numeric())
}
