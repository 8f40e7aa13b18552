//! Prints the policy as a table, or as a policy file to start from.

use std::collections::HashSet;
use std::fmt::Write;

use super::Policy;
use super::check::Check;
use super::rules::{self, PolicyRule};

/// A rule with its check, for a list.
struct RuleRow<'a> {
    name: &'a str,
    rule: Option<&'static PolicyRule>,
    /// The check in force: as in the policy file, or combined from the new and the older default.
    check: String,
    /// The file and line of the check.
    place: Option<&'a str>,
}

impl Policy {
    /// placet's rules in their order, and after these the added rules of files.
    fn rows(&self) -> Vec<RuleRow<'_>> {
        let known = rules::ALL.iter().map(|rule| rule.name);
        let mut added: Vec<&str> = self.overrides.keys().map(String::as_str).collect();
        added.retain(|name| rules::find(name).is_none());
        added.sort_unstable();
        known.chain(added).map(|name| self.row(name)).collect()
    }

    fn row<'a>(&'a self, name: &'a str) -> RuleRow<'a> {
        let rule_override = self.overrides.get(name);
        let rule = rules::find(name);
        let is_default = |text: &str| {
            let default = super::parse::text(text, &mut super::parse::Diagnostics::default());
            self.checks.get(name) == Some(&default)
        };
        let check = match (rule_override, rule) {
            (Some(rule_override), _) => rule_override.text.clone(),
            (None, Some(rule)) if is_default(rule.check) => rule.check.to_owned(),
            _ => self.checks.get(name).map(Check::to_string).unwrap_or_default(),
        };
        RuleRow {
            name,
            rule,
            check,
            place: rule_override.map(|rule_override| rule_override.place.as_str()),
        }
    }
}

/// A table with one rule a line: the check in force, the default if different, and the authorized routes. `routes_of`
/// returns the routes of a rule.
pub fn table(policy: &Policy, routes_of: impl Fn(&str) -> Vec<String>) -> String {
    let mut lines = vec![["RULE", "CHECK IN FORCE", "DEFAULT", "ROUTES"].map(str::to_owned)];
    let referred: HashSet<&str> = policy.checks.values().flat_map(Check::refers_to).collect();
    for row in policy.rows() {
        let check = match row.place {
            Some(place) => format!("{}  ({place})", visible(&row.check)),
            None => visible(&row.check).to_owned(),
        };
        let default = match row.rule {
            Some(rule) if rule.check == row.check => "same".to_owned(),
            Some(rule) => rule.check.to_owned(),
            None => "none".to_owned(),
        };
        let mut routes = routes_of(row.name).into_iter();
        let is_referred_to = referred.contains(row.name);
        let first = routes
            .next()
            .unwrap_or_else(|| if is_referred_to { "other rules" } else { "nothing" }.to_owned());
        lines.push([row.name.to_owned(), check, default, first]);
        lines.extend(routes.map(|route| [String::new(), String::new(), String::new(), route]));
    }
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2)];
    let mut out = String::new();
    for [name, check, default, routes] in &lines {
        let line = format!(
            "{name:0$}  {check:1$}  {default:2$}  {routes}",
            widths[0], widths[1], widths[2]
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The check for a table. An empty check, which allows all callers, is shown as `""`.
fn visible(check: &str) -> &str {
    if check.is_empty() { "\"\"" } else { check }
}

/// A policy file with the rules in force. Rules at their default are commented out.
pub fn yaml(policy: &Policy, routes_of: impl Fn(&str) -> Vec<String>) -> String {
    let mut out = String::new();
    for row in policy.rows() {
        // Writing to a String cannot fail.
        let mut line = |text: String| {
            let _ = writeln!(out, "{text}");
        };
        if let Some(rule) = row.rule {
            line(format!("# {}", rule.about));
        }
        for route in routes_of(row.name) {
            line(format!("# {route}"));
        }
        let entry = |check: &str| format!("{}: {}", quoted(row.name), quoted(check));
        match row.rule {
            Some(rule) if rule.check == row.check => line(format!("#{}", entry(rule.check))),
            Some(rule) => {
                line(format!("# Default: {}", entry(rule.check)));
                line(entry(&row.check));
            }
            None => line(entry(&row.check)),
        }
        line(String::new());
    }
    out
}

/// A text in double quotes, escaped for YAML and JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
