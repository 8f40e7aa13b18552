//! The table of all options as data, for finding options by name, showing options and documenting options.
//!
//! The table has all options registered by OpenStack Placement and its libraries (release 16.0.0), so an existing
//! `placement.conf` works here. Each option is either honoured, or accepted with a warning about its replacement.

use std::sync::LazyLock;

use super::option_spec::OptionSpec;
use super::options::{
    Agent, Api, Cors, DefaultSection, KeystoneAuthtoken, OsloMiddleware, OsloPolicy, Placement, PlacementDatabase,
    Placet, default, unused,
};

/// Every option, the options of `[placet]` first.
pub static ALL: LazyLock<Vec<OptionSpec>> = LazyLock::new(|| {
    let declared = [
        Placet::SPECS,
        Agent::SPECS,
        Api::SPECS,
        Placement::SPECS,
        PlacementDatabase::SPECS,
        default::SUBSTITUTED,
        DefaultSection::SPECS,
        OsloPolicy::SPECS,
        OsloMiddleware::SPECS,
        Cors::SPECS,
        KeystoneAuthtoken::SPECS,
        unused::UNUSED,
    ];
    let each = |spec: &OptionSpec| {
        let spec = *spec;
        spec.name.split(' ').map(move |name| OptionSpec { name, ..spec })
    };
    declared.into_iter().flatten().flat_map(each).collect()
});

/// placet's own sections, in display order.
pub const NATIVE_SECTIONS: [&str; 2] = ["placet", "agent"];

/// The options in use, in display order. placet's own sections come last, because operators know the sections of
/// OpenStack Placement.
pub fn honoured() -> Vec<&'static OptionSpec> {
    let mut specs: Vec<_> = ALL.iter().filter(|spec| spec.is_used).collect();
    let own = |section: &str| NATIVE_SECTIONS.iter().position(|own| *own == section);
    specs.sort_by_key(|spec| (own(spec.section), spec.section != "DEFAULT", spec.section));
    specs
}

/// Whether an option has this name, or had this name once.
pub fn is_known(section: &str, name: &str) -> bool {
    let has_name = |spec: &OptionSpec| (spec.section, spec.name) == (section, name);
    ALL.iter()
        .any(|spec| has_name(spec) || spec.deprecated.contains(&(section, name)))
}

/// A different section with an option of this name, preferably an option in use.
pub fn home(section: &str, name: &str) -> Option<&'static str> {
    let elsewhere = ALL.iter().filter(|spec| spec.section != section && spec.name == name);
    elsewhere.min_by_key(|spec| !spec.is_used).map(|spec| spec.section)
}

#[cfg(test)]
mod tests;
