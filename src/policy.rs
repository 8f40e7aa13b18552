//! Authorization as in oslo.policy: its language of checks, policy files, and placet's default rules. Does no I/O.

mod caller;
mod check;
mod inherited;
mod list;
pub mod live;
mod load;
mod parse;
pub mod rules;
mod template;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::{BTreeSet, HashMap};

pub use caller::{Caller, ServiceCredentials, Target};
use check::Check;
pub use list::{table, yaml};
pub use load::{Loaded, PolicyFile, load};
use rules::PolicyRule;

/// The options of `[oslo_policy]`, except for the names of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// If false, a caller whom the older defaults allow is allowed too.
    pub enforce_new_defaults: bool,
    /// The rule in place of a missing rule.
    pub default_rule: String,
}

/// The decision of the policy about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyDecision {
    Allowed,
    Denied,
    /// The token has system or domain scope, and the rule requires project scope.
    WrongScope,
    /// The rule cannot be evaluated, for this reason. Access is denied.
    Undecided(String),
}

/// A rule of a file.
#[derive(Debug, Clone)]
struct Override {
    /// `FILE:LINE`.
    place: String,
    /// The check as in the file. Lists of lists are converted to the current language.
    text: String,
}

/// The checks in force, by the name of their rule.
#[derive(Debug, Clone)]
pub struct Policy {
    checks: HashMap<String, Check>,
    default_rule: String,
    /// The rules in files.
    overrides: HashMap<String, Override>,
    /// The names of the files.
    files: Vec<String>,
}

impl Policy {
    /// Whether `rule` allows `caller` to act on `target`.
    pub fn authorize(&self, rule: &PolicyRule, caller: &Caller, target: &Target) -> PolicyDecision {
        if rule.project_scope_only && (caller.has_system_scope() || caller.has_domain_scope()) {
            return PolicyDecision::WrongScope;
        }
        let Some(check) = self.checks.get(rule.name) else {
            return PolicyDecision::Denied;
        };
        match self.holds(check, caller, target, 0) {
            Ok(true) => PolicyDecision::Allowed,
            Ok(false) => PolicyDecision::Denied,
            Err(reason) => PolicyDecision::Undecided(reason),
        }
    }

    /// Whether a check holds for `caller` and `target`. Evaluates from left to right, and stops as soon as the result
    /// is known. `depth` is the number of references to rules so far.
    ///
    /// # Errors
    /// The reason why the check cannot be evaluated. Access is denied, even if the check is inside a `not`.
    fn holds(&self, check: &Check, caller: &Caller, target: &Target, depth: usize) -> Result<bool, String> {
        let inner = |check: &Check| self.holds(check, caller, target, depth);
        // The first check with the decisive result decides.
        let joined = |checks: &[Check], decisive: bool| -> Result<bool, String> {
            for check in checks {
                if inner(check)? == decisive {
                    return Ok(decisive);
                }
            }
            Ok(!decisive)
        };
        match check {
            Check::Always => Ok(true),
            Check::Never => Ok(false),
            Check::Not(check) => inner(check).map(|holds| !holds),
            Check::All(checks) => joined(checks, false),
            Check::Any(checks) => joined(checks, true),
            Check::Role(template) => {
                let required = template.fill(target)?.map(|role| role.to_lowercase());
                Ok(required.is_some_and(|required| caller.roles.iter().any(|role| role.to_lowercase() == required)))
            }
            Check::Rule(name) => {
                let rule = self.checks.get(name).or_else(|| self.checks.get(&self.default_rule));
                match rule {
                    // A chain of more references than rules is a cycle.
                    Some(_) if depth > self.checks.len() => {
                        Err(format!("rule:{name} refers to itself; remove one of the references"))
                    }
                    Some(check) => self.holds(check, caller, target, depth + 1),
                    None => Ok(false),
                }
            }
            Check::Equal { text, left, right } => match right.fill(target)? {
                Some(right) => left.equals(text, &right, caller),
                None => Ok(false),
            },
        }
    }

    /// The rules to which the check of a rule refers, directly or through further rules.
    fn followed<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let (mut followed, mut pending) = (BTreeSet::new(), vec![name]);
        while let Some(next) = pending.pop() {
            let references = self.checks.get(next).map(Check::refers_to).unwrap_or_default();
            pending.extend(references.into_iter().filter(|other| followed.insert(*other)));
        }
        followed
    }
}
