//! The two sides of `left:right` in a check, and their comparison.

use super::caller::{Caller, Credential, MISSING_VALUE, Target};

/// The right side: a text with placeholders `%(name)s` for values of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub text: String,
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Value(String),
    /// A `%` outside of a known placeholder.
    Unreadable,
}

impl Template {
    pub fn read(text: &str) -> Template {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('%') {
            if !before.is_empty() {
                parts.push(TemplatePart::Text(before.to_owned()));
            }
            let value = after.strip_prefix('(').and_then(|after| after.split_once(")s"));
            rest = match (after.strip_prefix('%'), value) {
                (Some(after), _) => {
                    parts.push(TemplatePart::Text("%".to_owned()));
                    after
                }
                (None, Some((name, after))) if !name.contains(['(', ')']) => {
                    parts.push(TemplatePart::Value(name.to_owned()));
                    after
                }
                _ => {
                    parts.push(TemplatePart::Unreadable);
                    ""
                }
            };
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Template {
            text: text.to_owned(),
            parts,
        }
    }

    /// Whether [`Template::fill`] can fail.
    pub fn is_unreadable(&self) -> bool {
        self.parts.contains(&TemplatePart::Unreadable)
    }

    /// The text with the target's values; `Ok(None)` if the target lacks a value.
    ///
    /// # Errors
    /// A `%` outside of a known placeholder.
    pub fn fill(&self, target: &Target) -> Result<Option<String>, String> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Value(name) => match target.value(name) {
                    Some(value) => filled.push_str(value),
                    None => return Ok(None),
                },
                TemplatePart::Unreadable => return Err(format!("{:?} has a % that is not %(name)s or %%", self.text)),
            }
        }
        Ok(Some(filled))
    }
}

/// The left side of a check, except for `role:` and `rule:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// `'text'`, `20`, `True` or `None`.
    Literal(String),
    /// A credential of the caller. Members of a credential, as in `user_id.name`, cannot be compared.
    Credential {
        name: String,
        has_members: bool,
    },
    Unreadable,
}

impl Left {
    pub fn read(text: &str) -> Left {
        if let Some(literal) = quoted(text).or_else(|| number(text)) {
            return Left::Literal(literal);
        }
        if ["True", "False", MISSING_VALUE].contains(&text) {
            return Left::Literal(text.to_owned());
        }
        if !text.split('.').all(is_name) {
            return Left::Unreadable;
        }
        let (name, has_members) = text.split_once('.').map_or((text, false), |(name, _)| (name, true));
        Left::Credential {
            name: name.to_owned(),
            has_members,
        }
    }

    /// Whether the left side, with the caller's credentials, equals `right`. A list equals `right` if an item does.
    ///
    /// # Errors
    /// A left side that cannot be parsed, or a path into a value without members.
    pub fn equals(&self, text: &str, right: &str, caller: &Caller) -> Result<bool, String> {
        let (name, has_members) = match self {
            Left::Literal(literal) => return Ok(literal == right),
            Left::Unreadable => return Err(unreadable(text)),
            Left::Credential { name, has_members } => (name, *has_members),
        };
        Ok(match caller.credential(name) {
            None | Some(Credential::List([])) => false,
            Some(_) if has_members => return Err(format!("{text}: {name} has no members; write {name} alone")),
            Some(Credential::Text(value)) => value.unwrap_or(MISSING_VALUE) == right,
            Some(Credential::Flag(flag)) => right == if flag { "True" } else { "False" },
            Some(Credential::List(items)) => items.iter().any(|item| item == right),
        })
    }
}

/// The message for a left side that cannot be parsed.
pub fn unreadable(text: &str) -> String {
    format!("{text:?} must be a name, a text in quotes, a whole number, True, False or None")
}

fn quoted(text: &str) -> Option<String> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains([quote, '\\'])).then(|| inside.to_owned())
    })
}

/// A decimal number in its canonical form.
fn number(text: &str) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (is_decimal && (digits == "0" && digits == text || !digits.starts_with('0'))).then(|| text.to_owned())
}

/// Whether `text` is a name. Dashes may join words: `user-id` is a name (of no known credential), `user-` cannot be
/// parsed.
fn is_name(text: &str) -> bool {
    let is_word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    text.split('-').all(is_word) && !text.starts_with(|c: char| c.is_numeric())
}
