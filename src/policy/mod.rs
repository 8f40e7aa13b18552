//! oslo.policy: the language of its checks, its files, and the rules that guard placet by default. Pure.

mod caller;
mod check;
mod list;
pub mod live;
mod load;
mod parse;
pub mod rules;
mod template;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::HashMap;

pub use caller::{Caller, Service, Target};
use check::{Check, Rules};
pub use list::{table, yaml};
use load::Override;
pub use load::{Loaded, PolicyFile, load};
use rules::Rule;

/// `[oslo_policy]`, as far as it is not about files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Without it, whoever the older defaults let in is let in too.
    pub enforce_new_defaults: bool,
    /// The rule that stands in for one that is referred to and not there.
    pub default_rule: String,
}

/// What the policy says to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Denied,
    /// The token is one of the whole system or of a domain, and the rule asks for one of a project.
    WrongScope,
    /// The rule cannot be decided; says why. Nobody is let in.
    Undecided(String),
}

/// The checks in force, by the name of their rule.
#[derive(Debug, Clone)]
pub struct Policy {
    checks: HashMap<String, Check>,
    default_rule: String,
    overrides: HashMap<String, Override>,
}

impl Policy {
    /// Whether `caller` may do what `rule` guards to `target`.
    pub fn judge(&self, rule: &Rule, caller: &Caller, target: &Target) -> Verdict {
        if rule.project_scope_only && (caller.is_of_system() || caller.is_of_domain()) {
            return Verdict::WrongScope;
        }
        let Some(check) = self.checks.get(rule.name) else {
            return Verdict::Denied;
        };
        match check.holds(caller, target, self) {
            Ok(true) => Verdict::Allowed,
            Ok(false) => Verdict::Denied,
            Err(why) => Verdict::Undecided(why),
        }
    }
}

impl Rules for Policy {
    fn check(&self, name: &str) -> Option<&Check> {
        self.checks.get(name).or_else(|| self.checks.get(&self.default_rule))
    }

    fn count(&self) -> usize {
        self.checks.len()
    }
}
