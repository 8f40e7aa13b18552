//! The table of every option that placet knows: one row an option, as data.
//!
//! It covers what OpenStack Placement and its libraries register (release 16.0.0), so that a `placement.conf` that
//! served there is understood here: each option is honoured, or accepted with one warning that says what replaces
//! it. The rows are in one file a family of sections.

mod keystone;
mod logging;
mod oslo;
mod placement;
mod placet;

/// What placet does with an option that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    Honoured,
    /// Accepted and ignored; the text says what replaces it.
    Unused(&'static str),
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub section: &'static str,
    /// The name as a file spells it, with underscores.
    pub name: &'static str,
    /// As text, before substitution; `None` where there is no value unless one is set.
    pub default: Option<&'static str>,
    /// Whether values add up where the option is repeated (oslo.config's `MultiStrOpt`).
    pub multi: bool,
    pub secret: bool,
    /// Older names as (section, name), which files may use and environment variables may not (as in oslo.config).
    pub deprecated: &'static [(&'static str, &'static str)],
    pub treatment: Treatment,
}

impl Known {
    const fn row(section: &'static str, name: &'static str, treatment: Treatment) -> Self {
        Self {
            section,
            name,
            default: None,
            multi: false,
            secret: false,
            deprecated: &[],
            treatment,
        }
    }

    const fn honoured(section: &'static str, name: &'static str, default: &'static str) -> Self {
        Self::row(section, name, Treatment::Honoured).defaults_to(default)
    }

    /// Honoured, and without a value unless one is set.
    const fn optional(section: &'static str, name: &'static str) -> Self {
        Self::row(section, name, Treatment::Honoured)
    }

    const fn unused(section: &'static str, name: &'static str, instead: &'static str) -> Self {
        Self::row(section, name, Treatment::Unused(instead))
    }

    const fn defaults_to(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    const fn multi(mut self) -> Self {
        self.multi = true;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn formerly(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.deprecated = names;
        self
    }

    /// The environment variable that sets this option, by oslo.config's rule.
    pub fn variable(&self) -> String {
        format!("OS_{}__{}", self.section.to_uppercase(), self.name.to_uppercase())
    }
}

/// Every row: placet's own section first, then what upstream has.
pub fn all() -> impl Iterator<Item = &'static Known> {
    [placet::ROWS, placement::ROWS, oslo::ROWS, logging::ROWS, keystone::ROWS]
        .into_iter()
        .flatten()
}

pub fn find(section: &str, name: &str) -> Option<&'static Known> {
    all().find(|row| row.section == section && row.name == name)
}

/// The option of `[placet]` whose name is most like `name`.
pub fn nearest(name: &str) -> &'static str {
    let likeness = |row: &&Known| strsim::jaro_winkler(row.name, &name.to_lowercase());
    let best = placet::ROWS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    best.map_or("", |row| row.name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_option_and_no_older_name_is_there_twice() {
        let mut seen = HashSet::new();
        for row in all() {
            assert!(
                seen.insert((row.section, row.name)),
                "[{}] {} twice",
                row.section,
                row.name
            );
            for older in row.deprecated {
                assert!(seen.insert(*older), "[{}] {} twice", older.0, older.1);
            }
        }
    }

    #[test]
    fn names_are_spelled_as_files_spell_them() {
        for row in all() {
            assert!(
                row.section == "DEFAULT" || row.section == row.section.to_lowercase(),
                "{}",
                row.section
            );
            assert!(
                row.name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn an_unused_option_says_what_replaces_it() {
        for row in all() {
            if let Treatment::Unused(instead) = row.treatment {
                assert!(
                    instead.len() > 10 && !instead.ends_with('.'),
                    "[{}] {}",
                    row.section,
                    row.name
                );
            }
        }
    }

    /// Every option that upstream and its libraries register, made by listing their `list_opts`.
    #[test]
    fn every_upstream_option_is_in_the_table() {
        let mut section = "";
        let mut counted = 0;
        for line in include_str!("known/upstream.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
            } else if !line.is_empty() {
                let mut names = line.split_whitespace();
                let name = names.next().unwrap();
                let row = find(section, name).unwrap_or_else(|| panic!("[{section}] {name} is not in the table"));
                let older: HashSet<_> = row.deprecated.iter().map(|(s, n)| format!("{s}/{n}")).collect();
                assert_eq!(
                    older,
                    names.map(str::to_owned).collect(),
                    "older names of [{section}] {name}"
                );
                counted += 1;
            }
        }
        assert!(counted > 150, "{counted} options");
    }

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        for (typo, meant) in [
            ("bnid", "bind"),
            ("url-prefix", "url_prefix"),
            ("max_body", "max_body_size"),
            ("shutdown_timout", "shutdown_timeout"),
        ] {
            assert_eq!(nearest(typo), meant);
        }
    }
}
