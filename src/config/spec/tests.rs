//! Tests of the table of options, also against the options of OpenStack Placement.

use std::collections::HashSet;

use super::*;

#[test]
fn every_name_and_older_name_is_declared_once() {
    let mut seen = HashSet::new();
    for spec in ALL.iter() {
        assert!(
            seen.insert((spec.section, spec.name)),
            "[{}] {} twice",
            spec.section,
            spec.name
        );
        assert!(
            !spec.repeatable || spec.deprecated.is_empty(),
            "the values of an older name would not add up"
        );
        for older in spec.deprecated {
            assert!(seen.insert(*older), "[{}] {} twice", older.0, older.1);
        }
    }
}

#[test]
fn names_are_spelled_as_files_spell_them() {
    for spec in ALL.iter() {
        assert!(
            spec.section == "DEFAULT" || spec.section == spec.section.to_lowercase(),
            "{}",
            spec.section
        );
        assert!(
            spec.name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{}",
            spec.name
        );
    }
}

#[test]
fn an_unused_option_says_what_replaces_it() {
    for spec in ALL.iter().filter(|spec| !spec.is_used) {
        assert!(
            spec.text.len() > 10 && !spec.text.ends_with('.'),
            "[{}] {}",
            spec.section,
            spec.name
        );
    }
}

#[test]
fn the_help_of_an_option_is_sentences() {
    for spec in honoured() {
        let help = spec.text;
        assert!(
            help.len() > 20 && help.ends_with('.') && !help.contains("  "),
            "[{}] {}: {help:?}",
            spec.section,
            spec.name
        );
    }
}

/// `upstream.txt` has every option of OpenStack Placement and its libraries, from their `list_opts`.
#[test]
fn every_upstream_option_is_in_the_table() {
    let mut section = "";
    let mut counted = 0;
    for line in include_str!("upstream.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if !line.is_empty() {
            let mut names = line.split_whitespace();
            let name = names.next().unwrap();
            let mut specs = ALL.iter();
            let spec = specs.find(|spec| (spec.section, spec.name) == (section, name));
            let spec = spec.unwrap_or_else(|| panic!("[{section}] {name} is not in the table"));
            let older: HashSet<_> = spec.deprecated.iter().map(|(s, n)| format!("{s}/{n}")).collect();
            // The table may also have names from earlier releases of upstream's libraries.
            let missing: Vec<_> = names.filter(|older_name| !older.contains(*older_name)).collect();
            assert!(missing.is_empty(), "older names of [{section}] {name}: {missing:?}");
            counted += 1;
        }
    }
    assert!(counted > 150, "{counted} options");
}
