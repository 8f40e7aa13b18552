//! The rules of the house, checked: who imports from whom, who knows which crate, what must not be written.
//!
//! The tables are those of ARCHITECTURE.md (rooms) and STYLE.md (crates). Files are read as text, not parsed: a rule is
//! here only if that is enough to make it true. `rules_fail` proves that each of them can fail. Nothing but the standard
//! library is needed, not even placet itself.

#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/nouns.rs"]
mod nouns;
#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/rules_fail.rs"]
mod rules_fail;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/tables.rs"]
mod tables;

use std::path::{Path, PathBuf};

use source::{File, Source};
use tables::Arrows;

/// Files that may be longer than the rest, each with its reason.
const EXCUSED_LENGTHS: &[&str] = &[];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn exists(path: &str) -> bool {
    root().join(path).exists()
}

fn sources() -> Vec<Source> {
    source::sources(&root())
}

fn documents() -> Vec<File> {
    source::files(&root(), "", &[".md"])
}

/// Fails with every complaint at once.
fn none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n\n{}\n", complaints.join("\n\n"));
}

#[test]
fn rooms_import_only_along_the_arrows_of_the_house() {
    let arrows = Arrows::of(&read("ARCHITECTURE.md"));
    assert!(
        !arrows.rooms().is_empty(),
        "ARCHITECTURE.md has no table whose first column is `room`"
    );
    none(sources().iter().flat_map(|source| rules::arrows(&arrows, source)));
}

#[test]
fn the_table_of_arrows_has_every_room_and_leads_down() {
    let arrows = Arrows::of(&read("ARCHITECTURE.md"));
    none(
        arrows
            .upward()
            .into_iter()
            .map(|arrow| format!("ARCHITECTURE.md: {arrow} does not lead down in the table")),
    );
    let mut there: Vec<String> = sources().iter().map(|source| source.room().to_owned()).collect();
    there.retain(|room| room != "lib");
    there.sort();
    there.dedup();
    let mut told = arrows.rooms().to_vec();
    told.sort();
    assert_eq!(
        told, there,
        "the table of ARCHITECTURE.md (left) and src/ (right) have different rooms"
    );
}

#[test]
fn crates_are_known_only_where_style_says() {
    let (table, manifest) = (tables::crates(&read("STYLE.md")), read("Cargo.toml"));
    let mut complaints = Vec::new();
    let mut met = Vec::new();
    for source in &sources() {
        let (found, wrong) = rules::crates(&table, source);
        met.extend(found);
        complaints.extend(wrong);
    }
    let known = tables::dependencies(&manifest, "dependencies");
    let testing = tables::dependencies(&manifest, "dev-dependencies");
    for name in known.iter().chain(&testing) {
        let Some(row) = table.iter().find(|row| row.name == *name) else {
            complaints.push(format!(
                "`{name}` is in Cargo.toml; say in STYLE.md's table who may know it, and why it was taken"
            ));
            continue;
        };
        if !testing.contains(name) && !row.rooms.is_empty() && !met.contains(name) {
            complaints.push(format!(
                "nobody uses the crate `{name}`: take it out of Cargo.toml and STYLE.md"
            ));
        }
    }
    for row in table
        .iter()
        .filter(|row| !known.contains(&row.name) && !testing.contains(&row.name))
    {
        complaints.push(format!(
            "STYLE.md has a row for `{}`, which Cargo.toml has not",
            row.name
        ));
    }
    none(complaints);
}

#[test]
fn nobody_knows_what_is_not_theirs() {
    none(sources().iter().flat_map(rules::foreign));
}

#[test]
fn every_panic_says_why_it_cannot_happen() {
    none(sources().iter().flat_map(rules::panics));
}

#[test]
fn nothing_is_put_off_or_hidden() {
    none(sources().iter().flat_map(rules::postponed));
}

#[test]
fn no_file_is_too_long() {
    let endings = [".rs", ".py", ".sh", ".yaml", ".md", ".sql"];
    let files = source::files(&root(), "", &endings);
    none(files.iter().filter_map(|file| rules::length(EXCUSED_LENGTHS, file)));
    for path in EXCUSED_LENGTHS {
        assert!(
            Path::new(&root()).join(path).exists(),
            "{path} is excused and not there: take it off the list"
        );
    }
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    let endings = [
        ".rs", ".py", ".sh", ".yaml", ".md", ".sql", ".toml", ".conf", ".ini", ".txt", ".json",
    ];
    none(
        source::files(&root(), "", &endings)
            .iter()
            .filter_map(rules::machine_paths),
    );
}

#[test]
fn a_noun_has_one_name_in_every_room() {
    let nouns = nouns::nouns(&read("src/api/routes.rs"));
    assert!(
        nouns.len() >= 8,
        "the route table has other nouns than it should: {nouns:?}"
    );
    none(nouns::noun_files(&nouns, exists));
}

#[test]
fn every_error_has_its_status_by_name() {
    none(rules::exhaustive(&Source::new(
        "src/api/errors.rs",
        &read("src/api/errors.rs"),
    )));
}

#[test]
fn what_documents_name_is_there() {
    none(
        documents()
            .iter()
            .flat_map(|document| documents::references(document, exists)),
    );
}

#[test]
fn what_documents_say_that_tox_runs_it_runs() {
    let tox = read("tox.sh");
    none(documents().iter().flat_map(|document| documents::steps(document, &tox)));
}

#[test]
fn documents_tell_every_option_of_placet_with_its_default() {
    let options = documents::own_options(&read("src/config/known/placet.rs"));
    assert!(!options.is_empty(), "src/config/known/placet.rs has no rows");
    let told: Vec<(String, String)> = tables::table(&read("README.md"), "option")
        .iter()
        .map(|row| (tables::names(&row[0]).concat(), tables::names(&row[1]).concat()))
        .collect();
    assert_eq!(
        told, options,
        "README.md's table of [placet] (left) and src/config/known/placet.rs (right)"
    );
    let example = read("examples/placement.conf");
    for (name, default) in options {
        let line = format!("#{name} = {default}");
        assert!(
            example.lines().any(|it| it.trim_end() == line.trim_end()),
            "examples/placement.conf lacks `{line}`"
        );
    }
}
