//! Names that no option has, in files and in environment variables. oslo.config ignores them without a word; most are
//! typing mistakes.

use std::collections::BTreeSet;
use std::fmt;

use super::raw::{Origin, RawConfig};
use super::spec;

/// A name at least this similar to a known one (Jaro-Winkler) is suggested.
const MIN_SIMILARITY: f64 = 0.8;
/// A variable that differs from an option's by at most this number of letters was meant to be it.
const MAX_MISTYPED_LETTERS: usize = 3;
/// The variables that are no option's, but read by placet.
const OTHER_VARIABLES: [&str; 1] = ["OS_PLACEMENT_CONFIG_DIR"];

/// A name that no option has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// A section of which no option is known; `options` of them are set. The origin is the first one's.
    Section {
        section: String,
        options: usize,
        nearest: Option<String>,
        origin: Origin,
    },
    /// An option of a known section.
    Option {
        section: String,
        name: String,
        nearest: Option<String>,
        origin: Origin,
    },
    /// An environment variable that looks like that of an option.
    Variable { name: String, nearest: Option<String> },
}

impl Unknown {
    /// The section, for a line about all of it. Variables have none.
    pub fn section(&self) -> Option<&str> {
        match self {
            Self::Section { section, .. } | Self::Option { section, .. } => Some(section),
            Self::Variable { .. } => None,
        }
    }

    /// Whether placet refuses it. In its own section it is certainly a mistake.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Option { section, .. } if section == "placet")
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Section {
                section,
                options,
                nearest,
                origin,
            } => {
                let options = if *options == 1 { "option has" } else { "options have" };
                write!(
                    f,
                    "[{section}] is no section of OpenStack Placement or placet, and its {options} no effect{} ({origin})",
                    suggestion(nearest.as_ref().map(|near| format!("[{near}]")).as_deref())
                )
            }
            Self::Option {
                section,
                name,
                nearest,
                origin,
            } if section == "placet" => write!(
                f,
                "[placet] {name} is not an option of placet{} ({origin})",
                suggestion(nearest.as_deref())
            ),
            Self::Option {
                section,
                name,
                nearest,
                origin,
            } => write!(
                f,
                "[{section}] {name} is not an option, and has no effect{} ({origin})",
                suggestion(nearest.as_deref())
            ),
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

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |nearest| format!("; did you mean {nearest}?"))
}

/// All of them: first those of files, in their order, then the variables.
pub fn find(raw: &RawConfig) -> Vec<Unknown> {
    let mut found: Vec<Unknown> = Vec::new();
    let sections: BTreeSet<&str> = spec::all().map(|spec| spec.section).chain(pointed_at(raw)).collect();
    for (path, entries) in &raw.files {
        for entry in entries {
            let origin = || Origin::File {
                path: path.clone(),
                line: entry.line,
            };
            if sections.contains(entry.section.as_str()) {
                if !spec::is_known(&entry.section, &entry.key) && !pointed_at(raw).any(|name| name == entry.section) {
                    found.push(Unknown::Option {
                        section: entry.section.clone(),
                        name: entry.key.clone(),
                        nearest: nearest_option(&entry.section, &entry.key),
                        origin: origin(),
                    });
                }
                continue;
            }
            let earlier = found.iter_mut().find_map(|each| match each {
                Unknown::Section { section, options, .. } if *section == entry.section => Some(options),
                _ => None,
            });
            match earlier {
                Some(options) => *options += 1,
                None => found.push(Unknown::Section {
                    section: entry.section.clone(),
                    options: 1,
                    nearest: nearest(&entry.section, sections.iter().copied()),
                    origin: origin(),
                }),
            }
        }
    }
    found.extend(unknown_variables(raw));
    found
}

/// Variables of a known section without that option, and those that [`mistyped`] found.
fn unknown_variables(raw: &RawConfig) -> Vec<Unknown> {
    let known = known_variables();
    let mut found = Vec::new();
    for variable in raw.environment.keys().filter(|name| !known.contains(*name)) {
        match variable.strip_prefix("OS_PLACET__") {
            Some(name) => found.push(Unknown::Option {
                section: "placet".to_owned(),
                name: name.to_lowercase(),
                nearest: Some(spec::nearest(name).to_owned()),
                origin: Origin::Environment(variable.clone()),
            }),
            None => found.push(Unknown::Variable {
                name: variable.clone(),
                nearest: nearest_variable(variable),
            }),
        }
    }
    let mistyped = raw.mistyped.iter();
    found.extend(mistyped.map(|(name, nearest)| Unknown::Variable {
        name: name.clone(),
        nearest: nearest.clone(),
    }));
    found
}

/// The section of keystoneauth's options that `auth_section` names has a name of the operator's choice.
fn pointed_at(raw: &RawConfig) -> impl Iterator<Item = &str> {
    raw.files
        .iter()
        .flat_map(|(_, entries)| entries)
        .filter(|entry| (entry.section.as_str(), entry.key.as_str()) == ("keystone_authtoken", "auth_section"))
        .map(|entry| entry.value.as_str())
}

/// The option that a variable was meant to set, if it looks like one's but is none's: `OS_<SECTION>__<OPTION>` of an
/// unknown section, or a name that differs from an option's by a few letters or underscores.
///
/// `None` for a variable of another program. The inner `None` means that no option has a similar name.
pub fn mistyped(variable: &str) -> Option<Option<String>> {
    let upper = variable.to_uppercase();
    // Most variables of a process cannot be meant for placet.
    if !upper.starts_with("OS_") && !upper.contains("__") {
        return None;
    }
    if OTHER_VARIABLES.contains(&variable) || known_variables().contains(variable) {
        return None;
    }
    match (nearest_variable(&upper), section_and_option(&upper)) {
        (Some(nearest), _) => Some(Some(nearest)),
        (None, Some(_)) => Some(None),
        (None, None) => None,
    }
}

fn known_variables() -> BTreeSet<String> {
    spec::all().map(spec::OptionSpec::variable).collect()
}

/// `SECTION` and `OPTION` of `OS_SECTION__OPTION`.
fn section_and_option(variable: &str) -> Option<(&str, &str)> {
    let parts = variable.strip_prefix("OS_")?.split_once("__")?;
    (!parts.0.is_empty() && !parts.1.is_empty()).then_some(parts)
}

/// The variable that one in capitals was probably meant to be: it differs by a few letters or underscores, or both its
/// section and its option are similar. A similarity of the whole is not enough: the variables of OpenStack's services
/// have common beginnings.
fn nearest_variable(upper: &str) -> Option<String> {
    // Underscores are compared apart from letters: one of two is easily left out.
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
    // No other service has this section, so that every name in it was meant for placet.
    let is_own = section == "PLACEMENT_DATABASE";
    spec::all()
        .filter_map(|spec| {
            let of_section = strsim::jaro_winkler(&spec.section.to_uppercase(), section);
            let of_option = strsim::jaro_winkler(&spec.name.to_uppercase(), option);
            let is_near = of_section >= MIN_SIMILARITY && (is_own || of_option >= MIN_SIMILARITY);
            is_near.then_some((of_section + of_option, spec))
        })
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, spec)| spec.variable())
}

fn nearest_option(section: &str, name: &str) -> Option<String> {
    let names = spec::all().filter(|spec| spec.section == section).map(|spec| spec.name);
    // Every mistake in placet's own section gets a suggestion.
    match section {
        "placet" => Some(spec::nearest(name).to_owned()),
        _ => nearest(name, names),
    }
}

/// The most similar name, if one is similar at all.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_variable_is_distinguished_from_those_of_other_programs() {
        for (name, meant) in [
            ("OS_PLACEMENT_DATABSE__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
            ("OS_PLACEMENT_DATABASE_CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
            ("os_placement_database__connection", "OS_PLACEMENT_DATABASE__CONNECTION"),
            ("PLACEMENT_DATABASE__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
            ("OS_PLACEMENT_DATABASE__CONECTOIN", "OS_PLACEMENT_DATABASE__CONNECTION"),
            ("OS_PLACEMENT_CONFIGDIR", "OS_PLACEMENT_CONFIG_DIR"),
            ("OS_APIS__AUTH_STRATEGY", "OS_API__AUTH_STRATEGY"),
            ("OS_PLACEMENT_DB__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
            ("OS_PLACEMENT__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ] {
            assert_eq!(mistyped(name), Some(Some(meant.to_owned())), "{name}");
        }
        for name in [
            "OS_XYZ__QQ",
            "OS_FOO__BAR",
            "OS_NOVA__X",
            "OS_GLANCE__API_SERVERS",
            "OS_CACHE__BACKEND",
            "OS_NEUTRON__PASSWORD",
            "OS_OSLO_MESSAGING_RABBIT__SSL",
        ] {
            assert_eq!(mistyped(name), Some(None), "{name}");
        }
        for (name, meant) in [
            ("OS_PLACEMENT_DATABASE__URL", true),
            ("OS_DEFAULT__DEBG", true),
            // Nova's variables.
            ("OS_DEFAULT__TRANSPORT_URL", false),
            ("OS_PLACEMENT__AUTH_URL", false),
            ("OS_PLACEMENT__PASSWORD", false),
        ] {
            assert_eq!(
                nearest_variable(name).is_some(),
                meant,
                "{name}: {:?}",
                nearest_variable(name)
            );
        }
        for name in [
            "OS_PLACEMENT_DATABASE__CONNECTION",
            "OS_PLACEMENT_CONFIG_DIR",
            "OS_PLACEMENT_API_VERSION",
            "OS_PLACEMENT",
            "OS_AUTH_URL",
            "OS_USERNAME",
            "OS_PASSWORD",
            "OS_CACERT",
            "OS_INTERFACE",
            "OS_REGION_NAME",
            "OS_DEFAULT_DOMAIN",
            "OS_DEFAULT_DOMAIN_ID",
            "OS_DEFAULT_DOMAIN_NAME",
            "OS_AUTH_TYPE",
            "OS_ENDPOINT_TYPE",
            "OS_TOKEN",
            "OS_SYSTEM_SCOPE",
            "OS_APPLICATION_CREDENTIAL_ID",
            "OS_PROJECT_DOMAIN_NAME",
            "OS_IDENTITY_API_VERSION",
            "OS_COMPUTE_API_VERSION",
            "OS__",
            "OS__Y",
            "PATH",
            "__CF_USER__TEXT",
        ] {
            assert_eq!(mistyped(name), None, "{name}");
        }
    }
}
