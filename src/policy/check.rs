//! A check of oslo.policy as a syntax tree.

use std::fmt::{self, Display, Formatter};

use super::template::{Left, Template};

/// A check, parsed from a text such as `role:admin or (role:reader and project_id:%(project_id)s)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    Always,
    Never,
    Not(Box<Check>),
    All(Vec<Check>),
    Any(Vec<Check>),
    /// `role:name`, without regard to case.
    Role(Template),
    /// `rule:name`: holds if the rule holds. An unknown rule does not hold.
    Rule(String),
    /// `left:right`: an attribute of the caller, or a literal, equals the right side after substitution.
    Equal {
        text: String,
        left: Left,
        right: Template,
    },
}

impl Check {
    /// The names of all rules that the check refers to.
    pub fn refers_to(&self) -> Vec<&str> {
        match self {
            Check::Rule(name) => vec![name],
            Check::Not(check) => check.refers_to(),
            Check::All(checks) | Check::Any(checks) => checks.iter().flat_map(Check::refers_to).collect(),
            _ => Vec::new(),
        }
    }
}

impl Display for Check {
    /// Writes the check in oslo.policy's language, with all parentheses.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let joined = |checks: &[Check], word: &str| {
            let texts: Vec<String> = checks.iter().map(ToString::to_string).collect();
            format!("({})", texts.join(word))
        };
        match self {
            Check::Always => f.write_str("@"),
            Check::Never => f.write_str("!"),
            Check::Not(check) => write!(f, "not {check}"),
            Check::All(checks) => f.write_str(&joined(checks, " and ")),
            Check::Any(checks) => f.write_str(&joined(checks, " or ")),
            Check::Role(template) => write!(f, "role:{}", template.text),
            Check::Rule(name) => write!(f, "rule:{name}"),
            Check::Equal { text, right, .. } => write!(f, "{text}:{}", right.text),
        }
    }
}
