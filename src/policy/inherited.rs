//! How policy files decide native rules that no file sets.

use super::Policy;
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
            let of_file = |name: &str| Some(format!("{name} ({})", self.overrides.get(name)?.place));
            let followed: Vec<String> = self.followed(rule.name).into_iter().filter_map(of_file).collect();
            if followed.is_empty() {
                left.push(rule.name);
            } else {
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
}
