//! Where values come from, one layer over the other: command line, environment, files (later ones over earlier
//! ones), default. The order is oslo.config's.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::error::{ConfigError, Result};
use super::ini::Entry;
use super::known::{self, Known};
use super::mask;

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    File {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The name of the variable.
    Environment(String),
    CommandLine,
    Default,
    /// The default of a process for which nothing at all is configured.
    Unconfigured,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "from {}:{line}", path.display()),
            Self::Environment(variable) => write!(f, "from environment {variable}"),
            Self::CommandLine => f.write_str("from command line"),
            Self::Default => f.write_str("default"),
            Self::Unconfigured => f.write_str("default where nothing is configured"),
        }
    }
}

/// What was set for one option, not yet substituted. `values` has more than one item only for a repeatable option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub values: Vec<String>,
    /// Of the value that wins; of the last one where they add up.
    pub origin: Origin,
    /// The older (section, name) under which a file had it.
    pub older_name: Option<(&'static str, &'static str)>,
}

/// Everything that was set, before anything is looked up.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// In the order in which they were read: the last one wins.
    pub files: Vec<(PathBuf, Vec<Entry>)>,
    /// Only variables that look like options.
    pub environment: BTreeMap<String, String>,
    /// From the command line: (section, name, value).
    pub arguments: Vec<(&'static str, &'static str, String)>,
    /// Where files that the configuration names by relative paths are looked for, the best place first.
    pub search_dirs: Vec<PathBuf>,
}

/// What holds where nothing at all is configured: (section, name, value). Anything configured, and upstream's
/// defaults hold instead.
const UNCONFIGURED: [(&str, &str, &str); 2] = [
    ("api", "auth_strategy", "noauth2"),
    ("placement_database", "connection", "sqlite:///placet.sqlite"),
];

impl Layers {
    /// What was set for `known`, or `None` where its default holds.
    pub fn set(&self, known: &Known) -> Option<Set> {
        let argument = self
            .arguments
            .iter()
            .rfind(|(section, name, _)| (*section, *name) == (known.section, known.name));
        if let Some((_, _, value)) = argument {
            return Some(Set {
                values: vec![value.clone()],
                origin: Origin::CommandLine,
                older_name: None,
            });
        }
        // oslo.config takes a repeatable option's variable apart into letters; here it is one value.
        let variable = known.variable();
        if let Some(value) = self.environment.get(&variable) {
            return Some(Set {
                values: vec![value.clone()],
                origin: Origin::Environment(variable),
                older_name: None,
            });
        }
        if self.unconfigured() {
            let value = UNCONFIGURED
                .iter()
                .find(|(section, name, _)| (*section, *name) == (known.section, known.name));
            return value.map(|(_, _, value)| Set {
                values: vec![(*value).to_owned()],
                origin: Origin::Unconfigured,
                older_name: None,
            });
        }
        self.set_in_files(known)
    }

    /// Whether there is no file and no variable at all. Arguments are no configuration.
    pub fn unconfigured(&self) -> bool {
        self.files.is_empty() && self.environment.is_empty()
    }

    fn set_in_files(&self, known: &Known) -> Option<Set> {
        let names: Vec<_> = [(known.section, known.name)]
            .into_iter()
            .chain(known.deprecated.iter().copied())
            .collect();
        let mut found: Option<Set> = None;
        // The last file wins, even with an older name over a newer one; inside a file the newest name wins.
        for (path, entries) in self.files.iter().rev() {
            for (index, (section, name)) in names.iter().enumerate() {
                let hits = entries
                    .iter()
                    .filter(|entry| entry.section == *section && entry.key == *name);
                let Some(last) = hits.clone().next_back() else { continue };
                let mut values: Vec<String> = if known.multi {
                    hits.map(|entry| entry.value.clone()).collect()
                } else {
                    vec![last.value.clone()]
                };
                match &mut found {
                    None => {
                        let origin = Origin::File {
                            path: path.clone(),
                            line: last.line,
                        };
                        found = Some(Set {
                            values,
                            origin,
                            older_name: (index > 0).then_some((section, name)),
                        });
                    }
                    Some(set) => {
                        values.append(&mut set.values);
                        set.values = values;
                    }
                }
                if !known.multi {
                    return found;
                }
            }
        }
        found
    }

    /// The values of `known` with `$name` substituted, and where they were set. Empty where there is none.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] for a `$name` that names no option, or that leads back to itself.
    pub fn resolve(&self, known: &Known) -> Result<(Vec<String>, Origin)> {
        self.resolve_inside(known, &mut Vec::new())
    }

    fn resolve_inside(&self, known: &Known, outer: &mut Vec<(&str, &str)>) -> Result<(Vec<String>, Origin)> {
        let (values, origin) = match self.set(known) {
            Some(set) => (set.values, set.origin),
            None => (known.default.map(str::to_owned).into_iter().collect(), Origin::Default),
        };
        let bad = |value: &str, reason: String| ConfigError::BadValue {
            section: known.section.to_owned(),
            name: known.name.to_owned(),
            shown: mask::value(known, value),
            reason,
            origin: origin.clone(),
        };
        if outer.contains(&(known.section, known.name)) {
            return Err(bad(
                values.first().map_or("", String::as_str),
                "its value leads back to itself".to_owned(),
            ));
        }
        outer.push((known.section, known.name));
        let mut substituted = Vec::with_capacity(values.len());
        for value in &values {
            substituted.push(super::template::substitute(value, &mut |name| {
                let Some(other) = named(known.section, name) else {
                    // The name may be a piece of a password.
                    let what = if known.secret {
                        "a $name in it"
                    } else {
                        &format!("${name}")
                    };
                    return Err(bad(value, format!("{what} names no option; write $$ for a plain $")));
                };
                Ok(self.resolve_inside(other, outer)?.0.join(","))
            })?);
        }
        outer.pop();
        Ok((substituted, origin))
    }
}

/// The option that `$name` or `$section.name` means inside a value of `section`.
fn named(section: &str, name: &str) -> Option<&'static Known> {
    match name.split_once('.') {
        // oslo.config has no group of the name DEFAULT.
        Some(("DEFAULT", _)) => None,
        Some((section, name)) => known::find(section, name),
        None => known::find(section, name).or_else(|| known::find("DEFAULT", name)),
    }
}
