//! The table of all options as data, for finding options by name, showing options and documenting options.
//!
//! The table has all options that OpenStack Placement and its libraries register (release 16.0.0), so that an existing
//! `placement.conf` works here. Each option is either honoured, or accepted with a warning about its replacement.

use super::options::{
    Api, Cors, DefaultSection, KeystoneAuthtoken, OsloMiddleware, OsloPolicy, Placement, PlacementDatabase, Placet,
    default, keystone, libraries, oslo, placement,
};

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub section: &'static str,
    /// The name in files, with underscores.
    pub name: &'static str,
    /// The text before substitution; `None` without a default.
    pub default: Option<&'static str>,
    /// Whether values add up if the option is repeated (oslo.config's `MultiStrOpt`).
    pub repeatable: bool,
    /// Whether logs and terminals must not show the value.
    pub secret: bool,
    /// Older names as (section, name). Files may use older names; environment variables may not, as in oslo.config.
    pub deprecated: &'static [(&'static str, &'static str)],
    /// The allowed values, such as `whole number`.
    pub kind: &'static str,
    /// The minimum and the maximum.
    pub range: Option<(i64, i64)>,
    /// The unit of a number, such as `seconds`; may be empty.
    pub unit: &'static str,
    pub treatment: Treatment,
}

/// How placet treats an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// With the help text: a paragraph of Markdown.
    Honoured(&'static str),
    /// Accepted and ignored. The text names the replacement.
    Unused(&'static str),
}

impl OptionSpec {
    const fn new(section: &'static str, name: &'static str, treatment: Treatment) -> Self {
        Self {
            section,
            name,
            default: None,
            repeatable: false,
            secret: false,
            deprecated: &[],
            kind: "text",
            range: None,
            unit: "",
            treatment,
        }
    }

    /// An option without a default.
    pub const fn honoured(section: &'static str, name: &'static str, help: &'static str) -> Self {
        Self::new(section, name, Treatment::Honoured(help.trim_ascii_start()))
    }

    pub const fn unused(section: &'static str, name: &'static str, replacement: &'static str) -> Self {
        Self::new(section, name, Treatment::Unused(replacement))
    }

    pub const fn defaults_to(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    pub const fn formerly(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.deprecated = names;
        self
    }

    /// The environment variable that sets this option, by oslo.config's rule.
    pub fn variable(&self) -> String {
        format!("OS_{}__{}", self.section.to_uppercase(), self.name.to_uppercase())
    }

    /// The help text, if the option is honoured.
    pub fn help(&self) -> Option<&'static str> {
        match self.treatment {
            Treatment::Honoured(help) => Some(help),
            Treatment::Unused(_) => None,
        }
    }
}

/// Every option, the options of `[placet]` first.
pub fn all() -> impl Iterator<Item = &'static OptionSpec> {
    [
        Placet::SPECS,
        Api::SPECS,
        Placement::SPECS,
        PlacementDatabase::SPECS,
        default::SUBSTITUTED,
        DefaultSection::SPECS,
        OsloPolicy::SPECS,
        OsloMiddleware::SPECS,
        Cors::SPECS,
        KeystoneAuthtoken::SPECS,
        placement::UNUSED,
        oslo::UNUSED,
        default::UNUSED,
        keystone::UNUSED,
        libraries::UNUSED,
    ]
    .into_iter()
    .flatten()
}

/// The options that placet uses, in display order: `[placet]` comes last, because an operator of OpenStack Placement
/// knows the sections before.
pub fn honoured() -> Vec<&'static OptionSpec> {
    let mut specs: Vec<_> = all().filter(|spec| spec.help().is_some()).collect();
    specs.sort_by_key(|spec| (spec.section == "placet", spec.section != "DEFAULT", spec.section));
    specs
}

pub fn find(section: &str, name: &str) -> Option<&'static OptionSpec> {
    all().find(|spec| spec.section == section && spec.name == name)
}

/// Whether an option has this name, or had this name once.
pub fn is_known(section: &str, name: &str) -> bool {
    find(section, name).is_some() || all().any(|spec| spec.deprecated.contains(&(section, name)))
}

/// A further section with an option of this name, preferably an option that placet uses.
pub fn home(section: &str, name: &str) -> Option<&'static str> {
    let elsewhere = all().filter(|spec| spec.section != section && spec.name == name);
    elsewhere
        .min_by_key(|spec| spec.help().is_none())
        .map(|spec| spec.section)
}

#[cfg(test)]
mod tests;
