//! A check of oslo.policy as a syntax tree, and its evaluation.

use std::fmt::{self, Display, Formatter};

use super::caller::{Caller, Target};
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

/// Looks up the checks that `rule:` refers to.
pub trait RuleLookup {
    fn check(&self, name: &str) -> Option<&Check>;
    /// The number of rules. A longer chain of references is a cycle.
    fn count(&self) -> usize;
}

impl Check {
    /// Whether the check holds for `caller` and `target`. Evaluates from left to right, and stops as soon as the result
    /// is known.
    ///
    /// # Errors
    /// The reason why the check cannot be evaluated. Access is denied, even if the check is inside a `not`.
    pub fn holds(&self, caller: &Caller, target: &Target, rules: &impl RuleLookup) -> Result<bool, String> {
        self.evaluate(caller, target, rules, 0)
    }

    fn evaluate(
        &self,
        caller: &Caller,
        target: &Target,
        rules: &impl RuleLookup,
        depth: usize,
    ) -> Result<bool, String> {
        let inner = |check: &Check| check.evaluate(caller, target, rules, depth);
        match self {
            Check::Always => Ok(true),
            Check::Never => Ok(false),
            Check::Not(check) => inner(check).map(|holds| !holds),
            Check::All(checks) => {
                for check in checks {
                    if !inner(check)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Check::Any(checks) => {
                for check in checks {
                    if inner(check)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Check::Role(template) => {
                let required = template.fill(target)?;
                Ok(required.is_some_and(|required| caller.roles.iter().any(|role| same_role(role, &required))))
            }
            Check::Rule(name) => match rules.check(name) {
                Some(_) if depth > rules.count() => {
                    Err(format!("rule:{name} refers to itself; remove one of the references"))
                }
                Some(check) => check.evaluate(caller, target, rules, depth + 1),
                None => Ok(false),
            },
            Check::Equal { text, left, right } => match right.fill(target)? {
                Some(right) => left.equals(text, &right, caller),
                None => Ok(false),
            },
        }
    }

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

fn same_role(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    one.to_lowercase() == other.to_lowercase()
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
            Check::Role(template) => write!(f, "role:{}", template.text()),
            Check::Rule(name) => write!(f, "rule:{name}"),
            Check::Equal { text, right, .. } => write!(f, "{text}:{}", right.text()),
        }
    }
}
