//! The rule of type names: a name stands for one type, so that a reader who knows the name knows the type.
//!
//! Several types may have the name of a verb, such as `Delete`: the verb has the same role for each noun. An idiom of
//! Rust, such as `Result`, is known to each reader. Any further name of several types is a clash.

use std::collections::BTreeMap;

use super::source::{Source, name};

/// The verbs of nouns: commands of `src/model/`, parameters and lists of `src/wire/`, and rows of a noun's table. A
/// noun declares a verb once.
pub const VERBS: &[&str] = &[
    "Clear",
    "Columns",
    "Create",
    "Delete",
    "Ensure",
    "Filter",
    "List",
    "ListParameters",
    "Page",
    "Replace",
    "Set",
    "Update",
    "WriteParameters",
];

/// Names of the standard library that a module narrows, as `std::io` does.
const IDIOMS: &[&str] = &["Result"];

/// Complaints about names of several types that are neither verbs nor idioms.
pub fn complaints(nouns: &[String], sources: &[Source]) -> Vec<String> {
    let mut declared: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for source in sources {
        for (name, at) in types(&source.code) {
            declared.entry(name).or_default().push(Place { source, at });
        }
    }
    let mut complaints = Vec::new();
    for (name, places) in &declared {
        if IDIOMS.contains(name) || places.len() < 2 {
            continue;
        }
        if VERBS.contains(name) {
            complaints.extend(outside_of_nouns(nouns, name, places));
            continue;
        }
        let places: Vec<String> = places.iter().map(Place::text).collect();
        complaints.push(format!(
            "`{name}` is the name of {} types: say in the name which one it is, or make them one type (STYLE.md)\n  {}",
            places.len(),
            places.join("\n  ")
        ));
    }
    complaints
}

/// A declaration of a type.
struct Place<'a> {
    source: &'a Source,
    at: usize,
}

impl Place<'_> {
    fn text(&self) -> String {
        self.source.place(self.at)
    }

    /// The noun of the file: the last name of the path that is a noun.
    fn noun<'n>(&self, nouns: &'n [String]) -> Option<&'n String> {
        let names = self.source.path.trim_end_matches(".rs").rsplit('/');
        names.filter_map(|name| nouns.iter().find(|noun| *noun == name)).next()
    }
}

/// Complaints about a verb in a file that is not a noun's, and about the second type of a noun's verb.
fn outside_of_nouns(nouns: &[String], name: &str, places: &[Place]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut is_allowed = |place: &Place| {
        let noun = place.noun(nouns);
        let is_new = noun.is_some_and(|noun| !seen.contains(&noun));
        seen.extend(noun);
        is_new
    };
    let wrong = places.iter().filter(|place| !is_allowed(place));
    wrong
        .map(|place| {
            format!(
                "{}: `{name}` is a verb of nouns, declared once in the file of a noun: give this type a name of its own",
                place.text()
            )
        })
        .collect()
}

/// The types that a module declares, with their places. An associated type is indented, and belongs to its trait.
fn types(code: &str) -> Vec<(&str, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    for line in code.split_inclusive('\n') {
        let declared = without_visibility(line);
        for keyword in ["struct ", "enum ", "trait ", "type ", "union "] {
            let named = declared.strip_prefix(keyword).map(name);
            found.extend(named.filter(|name| !name.is_empty()).map(|name| (name, at)));
        }
        at += line.len();
    }
    found
}

fn without_visibility(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else {
        return line;
    };
    let within = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    within.map_or(rest, |(_, rest)| rest).trim_start()
}
