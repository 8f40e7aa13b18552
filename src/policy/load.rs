//! Combines the default rules and the policy files into the checks in force.

use std::collections::{HashMap, HashSet};

use super::check::Check;
use super::parse::{self, Diagnostics};
use super::rules::{self, OLDER_NAME, PolicyRule};
use super::yaml::{self, CheckSource};
use super::{Override, Policy, PolicySettings};

/// The name and the text of a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// The file's name in messages.
    pub name: String,
    pub text: String,
}

/// The loaded policy, and warnings about mistakes in the files.
pub struct Loaded {
    pub policy: Policy,
    pub warnings: Vec<String>,
}

/// Builds the policy: the defaults, overridden by the files. Later files override earlier files.
///
/// # Errors
/// A message with the file and the line of the error.
pub fn load(settings: &PolicySettings, files: &[PolicyFile]) -> Result<Loaded, String> {
    let mut warnings = Vec::new();
    let mut policy = Policy {
        checks: HashMap::new(),
        default_rule: settings.default_rule.clone(),
        overrides: HashMap::new(),
        files: files.iter().map(|file| file.name.clone()).collect(),
    };
    for file in files {
        read(file, &mut policy, &mut warnings)?;
    }
    for rule in rules::ALL
        .iter()
        .filter(|rule| !policy.overrides.contains_key(rule.name))
    {
        let check = default_check(settings, rule, policy.checks.get(OLDER_NAME));
        policy.checks.insert(rule.name.to_owned(), check);
    }
    warnings.extend(policy.warnings());
    Ok(Loaded { policy, warnings })
}

/// Adds the rules of a file.
fn read(file: &PolicyFile, policy: &mut Policy, warnings: &mut Vec<String>) -> Result<(), String> {
    let entries = yaml::read(&file.text).map_err(|reason| format!("{}:{reason}", file.name))?;
    let mut names = HashSet::new();
    for entry in entries {
        let (name, place) = (entry.name, format!("{}:{}", file.name, entry.line));
        let mut diagnostics = Diagnostics::default();
        let (text, check) = match entry.check {
            CheckSource::Text(text) => {
                let check = parse::text(&text, &mut diagnostics);
                (text, check)
            }
            CheckSource::Lists(lists) => {
                let check = parse::lists(&lists, &mut diagnostics);
                (check.to_string(), check)
            }
        };
        if let Some(reason) = diagnostics.error {
            return Err(format!("{place}: {name}: {reason}"));
        }
        let found = diagnostics.warnings.iter();
        warnings.extend(found.map(|warning| format!("{place}: {name}: {warning}")));
        if !names.insert(name.clone()) {
            warnings.push(format!(
                "{place}: {name} occurs twice in this file; the last one is used"
            ));
        }
        policy.checks.insert(name.clone(), check);
        policy.overrides.insert(name, Override { place, text });
    }
    Ok(())
}

/// The check of a rule outside of all files. `of_older_name` is the check of [`OLDER_NAME`] in a file.
fn default_check(settings: &PolicySettings, rule: &PolicyRule, of_older_name: Option<&Check>) -> Check {
    let default = parse::text(rule.check, &mut Diagnostics::default());
    let Some(older) = rule.older_check else { return default };
    let older = parse::text(older, &mut Diagnostics::default());
    // A file with the rule's older name means this rule, unless the file only repeats the default.
    if let Some(check) = of_older_name
        && *check != older
        && *check != Check::Rule(rule.name.to_owned())
    {
        return check.clone();
    }
    if settings.enforce_new_defaults {
        default
    } else {
        Check::Any(vec![default, older])
    }
}

impl Policy {
    /// Warnings about usable rules with likely mistakes.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut referred: HashSet<&str> = [OLDER_NAME, self.default_rule.as_str()].into();
        let mut names: Vec<&String> = self.overrides.keys().collect();
        names.sort();
        for name in &names {
            let rule_override = &self.overrides[*name];
            for other in self.checks[*name].refers_to() {
                referred.insert(other);
                if !self.checks.contains_key(other) {
                    let nearest = rules::nearest(other);
                    warnings.push(format!(
                        "{}: {name}: there is no rule {other:?}, so rule:{other} never holds; the nearest is {nearest:?}",
                        rule_override.place
                    ));
                }
            }
            if self.followed(name).contains(name.as_str()) {
                warnings.push(format!(
                    "{}: {name} refers to itself, so requests to its routes get a 500; remove one of the references",
                    rule_override.place
                ));
            }
        }
        for name in names {
            if rules::find(name).is_none() && !referred.contains(name.as_str()) {
                let (place, nearest) = (&self.overrides[name].place, rules::nearest(name));
                warnings.push(format!(
                    "{place}: {name:?} authorizes no route and no rule refers to it; the nearest is {nearest:?}"
                ));
            }
        }
        if let Some(rule_override) = self.overrides.get(OLDER_NAME) {
            warnings.push(format!(
                "{}: {OLDER_NAME:?} is an older name; it was replaced by service_api, admin_or_service_api, \
                 project_reader_api and admin_or_project_reader_or_service_api. Use the new names",
                rule_override.place
            ));
        }
        warnings
    }
}
