//! One check of oslo.policy, and how it is decided.

use std::collections::HashMap;

use super::{Caller, Target, parse};

/// A check, as read from a text such as `role:admin or (role:reader and project_id:%(project_id)s)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    Always,
    Never,
    Not(Box<Check>),
    All(Vec<Check>),
    Any(Vec<Check>),
    /// `role:name`, without regard to case.
    Role(String),
    /// `rule:name`: what that rule says. An unknown rule says no.
    Rule(String),
    /// `kind:template`: an attribute of the caller, or a literal, is what the template comes to.
    Attribute {
        kind: String,
        template: String,
    },
}

/// How many rules may refer to one another before a circle is assumed.
const DEEPEST: usize = 32;

impl Check {
    /// Reads a check. A text that is none never holds, as in oslo.policy: a mistake locks out, it never lets in.
    pub fn parse(text: &str) -> Check {
        parse::check(text).unwrap_or_else(|| {
            log::error!("the policy check {text:?} cannot be read; it will never hold");
            Check::Never
        })
    }

    /// Whether the check holds for `caller` and `target`; `rules` are what `rule:` refers to.
    pub fn holds(&self, caller: &Caller, target: &Target, rules: &HashMap<String, Check>) -> bool {
        self.decide(caller, target, rules, 0)
    }

    fn decide(&self, caller: &Caller, target: &Target, rules: &HashMap<String, Check>, depth: usize) -> bool {
        let inner = |check: &Check| check.decide(caller, target, rules, depth);
        match self {
            Check::Always => true,
            Check::Never => false,
            Check::Not(check) => !inner(check),
            Check::All(checks) => checks.iter().all(inner),
            Check::Any(checks) => checks.iter().any(inner),
            Check::Role(template) => fill(template, target).is_some_and(|wanted| {
                caller
                    .roles
                    .iter()
                    .any(|has| has.to_lowercase() == wanted.to_lowercase())
            }),
            Check::Rule(name) => {
                depth < DEEPEST
                    && rules
                        .get(name)
                        .is_some_and(|rule| rule.decide(caller, target, rules, depth + 1))
            }
            Check::Attribute { kind, template } => {
                fill(template, target).is_some_and(|wanted| attribute(kind, caller) == Some(wanted))
            }
        }
    }
}

/// `template` with `%(name)s` replaced by the target's values; `None` where the target has no such value.
fn fill(template: &str, target: &Target) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("%(") {
        let (name, after) = after.split_once(")s")?;
        text.push_str(before);
        text.push_str(match name {
            "project_id" => target.project_id.as_deref()?,
            "user_id" => target.user_id.as_deref()?,
            _ => return None,
        });
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// What `kind` stands for on the left of a colon: an attribute of the caller, or a literal in quotes.
fn attribute(kind: &str, caller: &Caller) -> Option<String> {
    for quote in ['\'', '"'] {
        if let Some(literal) = kind.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(literal.to_owned());
        }
    }
    match kind {
        "user_id" | "user" => caller.user_id.clone(),
        "project_id" | "tenant" => caller.project_id.clone(),
        "domain_id" => caller.domain_id.clone(),
        "system" | "system_scope" => caller.system_scope.clone(),
        _ => None,
    }
}
