//! How policy files decide native rules that no file sets.

use std::collections::BTreeSet;

use super::Policy;
use super::check::Check;
use super::rules;

impl Policy {
    /// Notes on the native rules outside of all files: a note for each rule that follows a rule of a file, and a note
    /// with the names of all remaining rules. Empty if no file sets any rule.
    pub fn native_notes(&self) -> Vec<String> {
        if self.overrides.is_empty() {
            return Vec::new();
        }
        let (mut notes, mut left) = (Vec::new(), Vec::new());
        let native = rules::ALL.iter().filter(|rule| rule.is_native());
        for rule in native.filter(|rule| !self.overrides.contains_key(rule.name)) {
            let followed = self.followed(rule.name);
            if followed.is_empty() {
                left.push(rule.name);
            } else {
                let followed: Vec<String> = followed.into_iter().collect();
                notes.push(format!("policy: {} follows {}", rule.name, followed.join(", ")));
            }
        }
        if !left.is_empty() {
            notes.push(format!(
                "policy: no file sets {}, or a rule that they follow, so their defaults hold (`placet policy list`)",
                left.join(", ")
            ));
        }
        notes
    }

    /// The rules of files to which the check of this rule refers.
    fn followed(&self, name: &str) -> BTreeSet<String> {
        let (mut found, mut visited, mut pending) = (BTreeSet::new(), BTreeSet::new(), vec![name]);
        while let Some(next) = pending.pop() {
            for other in self.checks.get(next).map(Check::refers_to).unwrap_or_default() {
                if let Some(rule_override) = self.overrides.get(other) {
                    found.insert(format!("{other} ({})", rule_override.place));
                }
                if visited.insert(other) {
                    pending.push(other);
                }
            }
        }
        found
    }
}
