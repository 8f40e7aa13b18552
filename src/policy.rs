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

use std::collections::HashMap;

pub use caller::{Caller, Service, Target};
use check::{Check, RuleLookup};
pub use list::{table, yaml};
use load::Override;
pub use load::{PolicyFile, load};
use rules::Rule;

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
pub enum Verdict {
    Allowed,
    Denied,
    /// The token has system or domain scope, and the rule requires project scope.
    WrongScope,
    /// The rule cannot be evaluated, for this reason. Access is denied.
    Undecided(String),
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
    pub fn authorize(&self, rule: &Rule, caller: &Caller, target: &Target) -> Verdict {
        if rule.project_scope_only && (caller.has_system_scope() || caller.has_domain_scope()) {
            return Verdict::WrongScope;
        }
        let Some(check) = self.checks.get(rule.name) else {
            return Verdict::Denied;
        };
        match check.holds(caller, target, self) {
            Ok(true) => Verdict::Allowed,
            Ok(false) => Verdict::Denied,
            Err(reason) => Verdict::Undecided(reason),
        }
    }
}

impl RuleLookup for Policy {
    fn check(&self, name: &str) -> Option<&Check> {
        self.checks.get(name).or_else(|| self.checks.get(&self.default_rule))
    }

    fn count(&self) -> usize {
        self.checks.len()
    }
}
