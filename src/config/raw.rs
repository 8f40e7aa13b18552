//! The values that are set, and their origins. If an option is set more than once, the order of precedence is
//! oslo.config's: command line, environment, files (a later file before an earlier file), default.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::{ConfigError, Origin, Result};
use super::ini::IniEntry;
use super::interpolation;
use super::option_spec::OptionSpec;

/// The values of an option, before substitution.
pub struct RawOption {
    /// More than one only for a repeatable option.
    pub values: Vec<String>,
    /// The origin of the value that wins; of the last value if the values add up.
    pub origin: Origin,
    /// The older (section, name), if a file used it.
    pub older_name: Option<(&'static str, &'static str)>,
}

impl RawOption {
    fn new(value: impl Into<String>, origin: Origin) -> Self {
        Self {
            values: vec![value.into()],
            origin,
            older_name: None,
        }
    }
}

/// All values that are set. The type contains secrets, so it has no `Debug`.
#[derive(Clone, Default)]
pub struct RawConfig {
    /// Every option.
    pub specs: &'static [OptionSpec],
    /// In the order of reading: the last file wins.
    pub files: Vec<(PathBuf, Vec<IniEntry>)>,
    /// The variables whose names look like names of options.
    pub environment: BTreeMap<String, String>,
    /// The variables that look like an option's but are unknown, and the names that were probably meant.
    pub mistyped: BTreeMap<String, Option<String>>,
    /// `[placet] bind` from the command line.
    pub bind: Option<String>,
    /// The directories in which files with relative names are searched. The first match wins.
    pub search_dirs: Vec<PathBuf>,
}

/// The default of an option without any configuration. With any configuration OpenStack Placement's defaults hold
/// instead.
fn unconfigured_default(spec: &OptionSpec) -> Option<&'static str> {
    match (spec.section, spec.name) {
        ("api", "auth_strategy") => Some("noauth2"),
        ("placement_database", "connection") => Some("sqlite:///placet.sqlite"),
        _ => None,
    }
}

impl RawConfig {
    /// The values that are set for an option; `None` if the default holds.
    pub fn assignment(&self, spec: &OptionSpec) -> Option<RawOption> {
        if let Some(bind) = &self.bind
            && (spec.section, spec.name) == ("placet", "bind")
        {
            return Some(RawOption::new(bind, Origin::CommandLine));
        }
        // oslo.config splits the variable of a repeatable option into letters; here the variable is one value.
        let variable = spec.variable();
        if let Some(value) = self.environment.get(&variable) {
            return Some(RawOption::new(value, Origin::Environment(variable)));
        }
        if self.unconfigured() {
            return unconfigured_default(spec).map(|value| RawOption::new(value, Origin::Unconfigured));
        }
        self.assignment_in_files(spec)
    }

    /// Whether there is no file and no variable at all. Arguments do not count as configuration.
    pub fn unconfigured(&self) -> bool {
        self.files.is_empty() && self.environment.is_empty()
    }

    /// The last file wins, even with an older name over a newer name; inside a file the newest name wins. The values of
    /// a repeatable option, which has no older name, add up over all files.
    fn assignment_in_files(&self, spec: &OptionSpec) -> Option<RawOption> {
        let names = [(spec.section, spec.name)].into_iter();
        let names: Vec<_> = names.chain(spec.deprecated.iter().copied()).collect();
        let (path, last, name) = self.files.iter().rev().find_map(|(path, entries)| {
            names.iter().find_map(|(section, name)| {
                let last = entries.iter().rfind(|entry| entry.is(section, name))?;
                Some((path, last, (*section, *name)))
            })
        })?;
        let values = if spec.repeatable {
            let all = self.files.iter().flat_map(|(_, entries)| entries);
            let matching = all.filter(|entry| entry.is(spec.section, spec.name));
            matching.map(|entry| entry.value.clone()).collect()
        } else {
            vec![last.value.clone()]
        };
        Some(RawOption {
            values,
            origin: Origin::File {
                path: path.clone(),
                line: last.line,
            },
            older_name: (name != names[0]).then_some(name),
        })
    }

    /// The values of an option with `$name` substituted, and their origin. Empty without a value.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] for an unknown `$name`, or for a `$name` that refers to itself.
    pub fn resolve(&self, spec: &OptionSpec) -> Result<(Vec<String>, Origin)> {
        self.resolve_inside(spec, &mut Vec::new())
    }

    /// `outer` contains the options whose values are being substituted, the outermost first.
    fn resolve_inside(&self, spec: &OptionSpec, outer: &mut Vec<(&str, &str)>) -> Result<(Vec<String>, Origin)> {
        let (values, origin) = match self.assignment(spec) {
            Some(assignment) => (assignment.values, assignment.origin),
            None => (spec.default.map(str::to_owned).into_iter().collect(), Origin::Default),
        };
        let bad_value = |value: &str, reason: String| ConfigError::of_value(spec, value, reason, origin.clone());
        if outer.contains(&(spec.section, spec.name)) {
            return Err(bad_value(
                values.first().map_or("", String::as_str),
                "its value refers to itself".to_owned(),
            ));
        }
        outer.push((spec.section, spec.name));
        let mut substituted = Vec::with_capacity(values.len());
        for value in &values {
            substituted.push(interpolation::substitute(value, &mut |name| {
                let Some(other) = self.named(spec.section, name) else {
                    // The name may be a part of a password.
                    let reference = if spec.secret {
                        "a $name in it"
                    } else {
                        &format!("${name}")
                    };
                    return Err(bad_value(
                        value,
                        format!("{reference} names no option; write $$ for a plain $"),
                    ));
                };
                Ok(self.resolve_inside(other, outer)?.0.join(","))
            })?);
        }
        outer.pop();
        Ok((substituted, origin))
    }

    /// The option of this name.
    pub fn spec(&self, section: &str, name: &str) -> Option<&'static OptionSpec> {
        self.specs
            .iter()
            .find(|spec| spec.section == section && spec.name == name)
    }

    /// The option for `$name` or `$section.name` inside a value of `section`.
    fn named(&self, section: &str, name: &str) -> Option<&'static OptionSpec> {
        match name.split_once('.') {
            // oslo.config has no group of the name DEFAULT.
            Some(("DEFAULT", _)) => None,
            Some((section, name)) => self.spec(section, name),
            None => self.spec(section, name).or_else(|| self.spec("DEFAULT", name)),
        }
    }
}
