//! Finds unknown names in files and in environment variables. oslo.config ignores unknown names without a word; most
//! are typing mistakes.

use std::collections::BTreeSet;
use std::fmt;

use super::error::Origin;
use super::ini::IniEntry;
use super::option_spec::OptionSpec;
use super::options::unused;
use super::raw::RawConfig;
use super::spec;
use crate::spelling::nearest;

/// The least similarity (Jaro-Winkler) of sections and of options for a variable that was meant for placet.
const MIN_SIMILARITY: f64 = 0.8;
/// A variable that differs from an option's by at most this number of letters was meant for the option.
const MAX_MISTYPED_LETTERS: usize = 3;
/// The sections of placement alone.
const OWN_SECTIONS: [&str; 3] = ["placet", "placement", "placement_database"];
/// The variables outside of the options that placet reads.
const OTHER_VARIABLES: [&str; 1] = ["OS_PLACEMENT_CONFIG_DIR"];

/// An unknown name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// A section, or a variable of a section, of a library that OpenStack Placement does not load: no mistake.
    Library {
        name: String,
        library: &'static str,
        origin: Origin,
    },
    /// An unknown section with a number of `options`. The origin is the first option's.
    Section {
        section: String,
        options: usize,
        /// The section that was probably meant, as the end of the sentence; may be empty.
        meant: String,
        origin: Origin,
    },
    /// An option of a known section.
    Option {
        section: String,
        name: String,
        /// The option that was probably meant, as the end of the sentence; may be empty.
        nearest: String,
        origin: Origin,
    },
    /// An environment variable that looks like an option's.
    Variable { name: String, nearest: Option<String> },
}

impl Unknown {
    /// The section, for a line about the whole section. Variables have none.
    pub fn section(&self) -> Option<&str> {
        match self {
            Self::Section { section, .. } | Self::Option { section, .. } => Some(section),
            Self::Library { name, .. } => Some(name),
            Self::Variable { .. } => None,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { name, library, origin } => write!(
                f,
                "{name} is of {library}, which placement does not load, and has no effect ({origin})"
            ),
            Self::Section {
                section,
                options,
                meant,
                origin,
            } => {
                let options = if *options == 1 { "option has" } else { "options have" };
                write!(
                    f,
                    "[{section}] is no section of OpenStack Placement or placet, and its {options} no effect{meant} \
                     ({origin})"
                )
            }
            Self::Option {
                section,
                name,
                nearest,
                origin,
            } => {
                let is_not = match section.as_str() {
                    "placet" | "agent" => "is not an option of placet",
                    _ => "is not an option, and has no effect",
                };
                write!(f, "[{section}] {name} {is_not}{nearest} ({origin})")
            }
            Self::Variable { name, nearest } => write!(
                f,
                "the environment variable {name} is not that of an option, and has no effect{}",
                nearest
                    .as_ref()
                    .map_or(String::new(), |nearest| format!(" (did you mean {nearest}?)"))
            ),
        }
    }
}

/// All unknown names: in files, in their order, and in variables.
pub fn find(raw: &RawConfig) -> Vec<Unknown> {
    let mut found: Vec<Unknown> = Vec::new();
    let sections = spec::ALL.iter().map(|spec| spec.section);
    let known: BTreeSet<&str> = sections.chain(pointed_at(raw)).collect();
    for (origin, entry) in entries(raw) {
        let section = entry.section.as_str();
        if pointed_at(raw).any(|name| name == section) {
            continue;
        }
        if known.contains(section) {
            if !spec::is_known(section, &entry.key) {
                found.push(Unknown::Option {
                    section: entry.section.clone(),
                    name: entry.key.clone(),
                    nearest: nearest_option(section, &entry.key),
                    origin,
                });
            }
            continue;
        }
        let unknown = match unused::library(section) {
            Some(library) => Unknown::Library {
                name: format!("[{section}]"),
                library,
                origin,
            },
            None => unknown_section(raw, section, &known, origin),
        };
        if !found.iter().any(|each| each.section() == unknown.section()) {
            found.push(unknown);
        }
    }
    found.extend(unknown_variables(raw));
    found
}

fn entries(raw: &RawConfig) -> impl Iterator<Item = (Origin, &IniEntry)> {
    raw.files.iter().flat_map(|(path, entries)| {
        entries.iter().map(move |entry| {
            let origin = Origin::File {
                path: path.clone(),
                line: entry.line,
            };
            (origin, entry)
        })
    })
}

/// The finding about an unknown section, with all options of the section.
fn unknown_section(raw: &RawConfig, section: &str, known: &BTreeSet<&str>, origin: Origin) -> Unknown {
    let options: Vec<&str> = entries(raw)
        .filter(|(_, entry)| entry.section == section)
        .map(|(_, entry)| entry.key.as_str())
        .collect();
    // All sections outside of `OWN_SECTIONS` have options that every service of a cloud has.
    let home = |name: &str| spec::home(section, name).filter(|home| OWN_SECTIONS.contains(home));
    let of_home = |name: &&str| Some(format!("; {name} is an option of [{}]", home(name)?));
    let nearest = nearest(section, known.iter().copied()).map(|nearest| format!("; did you mean [{nearest}]?"));
    let meant = nearest.or_else(|| options.iter().find_map(of_home));
    Unknown::Section {
        section: section.to_owned(),
        options: options.len(),
        meant: meant.unwrap_or_default(),
        origin,
    }
}

/// Unknown variables of known sections, and the variables that [`mistyped`] found.
fn unknown_variables(raw: &RawConfig) -> Vec<Unknown> {
    let known = known_variables();
    let mut found = Vec::new();
    for variable in raw.environment.keys().filter(|name| !known.contains(*name)) {
        match variable.strip_prefix("OS_PLACET__") {
            Some(name) => found.push(Unknown::Option {
                section: "placet".to_owned(),
                name: name.to_lowercase(),
                nearest: nearest_option("placet", &name.to_lowercase()),
                origin: Origin::Environment(variable.clone()),
            }),
            None => found.push(Unknown::Variable {
                name: variable.clone(),
                nearest: nearest_variable(variable),
            }),
        }
    }
    let library = |name: &str| unused::library(&section_and_option(name)?.0.to_lowercase());
    found.extend(raw.mistyped.iter().map(|(name, nearest)| match library(name) {
        // Without any configuration every such variable is refused.
        Some(library) if !raw.unconfigured() => Unknown::Library {
            name: format!("the environment variable {name}"),
            library,
            origin: Origin::Environment(name.clone()),
        },
        _ => Unknown::Variable {
            name: name.clone(),
            nearest: nearest.clone(),
        },
    }));
    found
}

/// `auth_section` names a section of keystoneauth's options, and the operator chooses the name.
fn pointed_at(raw: &RawConfig) -> impl Iterator<Item = &str> {
    raw.files
        .iter()
        .flat_map(|(_, entries)| entries)
        .filter(|entry| entry.is("keystone_authtoken", "auth_section"))
        .map(|entry| entry.value.as_str())
}

/// The option that an unknown variable was meant to set: the variable is an `OS_<SECTION>__<OPTION>` of an unknown
/// section, or differs from an option's variable by a few letters or underscores.
///
/// `None` for a variable of a foreign program. The inner `None` means that no option has a similar name.
pub fn mistyped(variable: &str) -> Option<Option<String>> {
    let upper = variable.to_uppercase();
    // Most variables of a process cannot be meant for placet.
    if !upper.starts_with("OS_") && !upper.contains("__") {
        return None;
    }
    if OTHER_VARIABLES.contains(&variable) || known_variables().contains(variable) {
        return None;
    }
    match nearest_variable(&upper) {
        Some(nearest) => Some(Some(nearest)),
        None => section_and_option(&upper).map(|_| None),
    }
}

fn known_variables() -> BTreeSet<String> {
    spec::ALL.iter().map(OptionSpec::variable).collect()
}

/// `SECTION` and `OPTION` of `OS_SECTION__OPTION`.
fn section_and_option(variable: &str) -> Option<(&str, &str)> {
    let parts = variable.strip_prefix("OS_")?.split_once("__")?;
    (!parts.0.is_empty() && !parts.1.is_empty()).then_some(parts)
}

/// The variable that `upper` was probably meant to be. The two differ by a few letters or underscores, or both section
/// and option are similar. A similar whole is not enough: the variables of OpenStack's services have common beginnings.
fn nearest_variable(upper: &str) -> Option<String> {
    // Underscores are compared apart from letters: a double underscore easily loses an underscore.
    let letters = |name: &str| name.replace('_', "");
    let typed = letters(upper);
    let known = known_variables();
    let candidates = known.iter().map(String::as_str).chain(OTHER_VARIABLES);
    let distances = candidates.filter_map(|name| {
        let meant = letters(name);
        let is_near = meant.len().abs_diff(typed.len()) <= MAX_MISTYPED_LETTERS;
        is_near.then(|| (strsim::levenshtein(&meant, &typed), name))
    });
    if let Some((distance, name)) = distances.min()
        && distance <= MAX_MISTYPED_LETTERS
    {
        return Some(name.to_owned());
    }
    let (section, option) = section_and_option(upper)?;
    // No foreign service has this section, so every name in the section was meant for placet.
    let is_own = section == "PLACEMENT_DATABASE";
    spec::ALL
        .iter()
        .filter_map(|spec| {
            let of_section = strsim::jaro_winkler(&spec.section.to_uppercase(), section);
            let of_option = strsim::jaro_winkler(&spec.name.to_uppercase(), option);
            let is_near = of_section >= MIN_SIMILARITY && (is_own || of_option >= MIN_SIMILARITY);
            is_near.then_some((of_section + of_option, spec))
        })
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, spec)| spec.variable())
}

/// The section with an option of this name, or else the nearest name in this section, as the end of a sentence; empty
/// if there is neither.
fn nearest_option(section: &str, name: &str) -> String {
    if let Some(home) = spec::home(section, name) {
        return format!("; it is an option of [{home}]");
    }
    let specs = spec::ALL.iter().filter(|spec| spec.section == section);
    let nearest = nearest(name, specs.map(|spec| spec.name));
    nearest.map_or(String::new(), |nearest| format!("; did you mean {nearest}?"))
}

#[cfg(test)]
mod tests;
