//! Combines the default rules and the policy files into the checks in force.

use std::collections::{HashMap, HashSet};

use super::check::Check;
use super::parse::{self, Diagnostics};
use super::rules::{self, OLDER_NAME, Rule};
use super::yaml::{self, CheckSource};
use super::{Policy, PolicySettings};

/// The name and the text of a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// The file's name in messages.
    pub name: String,
    pub text: String,
}

/// A rule of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// `FILE:LINE`.
    pub place: String,
    /// The check as in the file. Lists of lists are converted to the current language.
    pub text: String,
    pub check: Check,
}

/// The loaded policy, and warnings about mistakes in the files.
pub struct Loaded {
    pub policy: Policy,
    pub warnings: Vec<String>,
}

/// Builds the policy: the defaults, overridden by the files. Later files override earlier ones.
///
/// # Errors
/// A message with the file and line that cannot be used.
pub fn load(settings: &PolicySettings, files: &[PolicyFile]) -> Result<Loaded, String> {
    let mut warnings = Vec::new();
    let mut overrides: HashMap<String, Override> = HashMap::new();
    for file in files {
        read(file, &mut overrides, &mut warnings)?;
    }
    let mut checks: HashMap<String, Check> = HashMap::new();
    for (name, rule_override) in &overrides {
        checks.insert(name.clone(), rule_override.check.clone());
    }
    for rule in rules::ALL {
        if !checks.contains_key(rule.name) {
            checks.insert(rule.name.to_owned(), default_check(settings, rule, &overrides));
        }
    }
    let policy = Policy {
        checks,
        default_rule: settings.default_rule.clone(),
        overrides,
        files: files.iter().map(|file| file.name.clone()).collect(),
    };
    warnings.extend(policy.warnings());
    Ok(Loaded { policy, warnings })
}

fn read(
    file: &PolicyFile,
    overrides: &mut HashMap<String, Override>,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
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
        warnings.extend(
            diagnostics
                .warnings
                .iter()
                .map(|warning| format!("{place}: {name}: {warning}")),
        );
        if !names.insert(name.clone()) {
            warnings.push(format!(
                "{place}: {name} occurs twice in this file; the last one is used"
            ));
        }
        overrides.insert(name, Override { place, text, check });
    }
    Ok(())
}

/// The check of a rule outside of all files.
fn default_check(settings: &PolicySettings, rule: &Rule, overrides: &HashMap<String, Override>) -> Check {
    let default = parse::text(rule.check, &mut Diagnostics::default());
    let Some(older) = rule.older_check else { return default };
    let older = parse::text(older, &mut Diagnostics::default());
    if let Some(rule_override) = overrides.get(OLDER_NAME) {
        // A file that sets the rule by its older name means this rule, unless the file only repeats the default.
        if rule_override.check != older && rule_override.check != Check::Rule(rule.name.to_owned()) {
            return rule_override.check.clone();
        }
    }
    if settings.enforce_new_defaults {
        default
    } else {
        Check::Any(vec![default, older])
    }
}

impl Policy {
    /// Warnings about usable rules that look like mistakes.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut referred: HashSet<&str> = [OLDER_NAME, self.default_rule.as_str()].into();
        let mut names: Vec<&String> = self.overrides.keys().collect();
        names.sort();
        for name in &names {
            let rule_override = &self.overrides[*name];
            for other in rule_override.check.refers_to() {
                referred.insert(other);
                if !self.checks.contains_key(other) {
                    let nearest = rules::nearest(other);
                    warnings.push(format!(
                        "{}: {name}: there is no rule {other:?}, so rule:{other} never holds; the nearest is {nearest:?}",
                        rule_override.place
                    ));
                }
            }
            if self.refers_to_itself(name) {
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

    fn refers_to_itself(&self, name: &str) -> bool {
        let (mut visited, mut pending) = (HashSet::new(), vec![name]);
        while let Some(next) = pending.pop() {
            let references = self.checks.get(next).map(Check::refers_to).unwrap_or_default();
            if references.contains(&name) {
                return true;
            }
            pending.extend(references.into_iter().filter(|other| visited.insert(*other)));
        }
        false
    }
}
