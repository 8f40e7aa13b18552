//! Checks the project's own rules, about layers, crates, names, files, documents, prose and commits.
//!
//! The tables are those of ARCHITECTURE.md (layers) and STYLE.md (crates, words). Files are read as text and not
//! parsed, so a rule is here only if text is enough to decide it. `rules_fail` proves that each rule can fail. tidy
//! needs only the standard library, not placet itself.

mod builds;
mod circles;
mod commits;
mod documents;
mod layout;
mod lexer;
mod lines;
mod nouns;
mod prose;
mod references;
mod rules;
mod rules_fail;
mod sentences;
mod source;
mod sql;
mod tables;
mod types;
mod words;

use std::path::{Path, PathBuf};

use source::{File, Source};
use tables::Layers;

/// Files that may be longer than the rest, each with its reason.
const EXCUSED_LENGTHS: &[&str] = &[];

/// The repository's folder: tidy is a package two folders below.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("a folder above").to_owned()
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

fn rust_files() -> Vec<File> {
    source::files(&root(), "", &[".rs"])
}

fn documents() -> Vec<File> {
    source::files(&root(), "", &[".md"])
}

/// Every file whose prose the rules of words read.
fn written() -> Vec<File> {
    let endings = [
        ".rs", ".py", ".md", ".txt", ".sql", ".yaml", ".sh", ".toml", ".ini", ".conf", ".json",
    ];
    source::files(&root(), "", &endings)
}

/// Every file with lines for readers.
fn texts() -> Vec<File> {
    let endings = [
        ".rs", ".py", ".md", ".sql", ".sh", ".toml", ".yaml", ".yml", ".conf", ".ini", ".cfg",
    ];
    source::files(&root(), "", &endings)
}

/// Fails with every complaint at once.
fn none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n\n{}\n", complaints.join("\n\n"));
}

#[test]
fn layers_import_only_what_the_table_allows() {
    let layers = Layers::of(&read("ARCHITECTURE.md"));
    assert!(
        !layers.names().is_empty(),
        "ARCHITECTURE.md has no table whose first column is `layer`"
    );
    // lib.rs puts the layers together, and gives benches what they measure.
    let sources = sources().into_iter().filter(|source| source.layer() != "lib");
    none(sources.flat_map(|source| rules::layers(&layers, &source)));
}

#[test]
fn the_table_of_layers_is_complete_and_leads_down() {
    let layers = Layers::of(&read("ARCHITECTURE.md"));
    none(
        layers
            .upward()
            .into_iter()
            .map(|dependency| format!("ARCHITECTURE.md: {dependency} does not lead down in the table")),
    );
    let mut found: Vec<String> = sources().iter().map(|source| source.layer().to_owned()).collect();
    found.retain(|layer| layer != "lib");
    found.sort();
    found.dedup();
    let mut listed = layers.names().to_vec();
    listed.sort();
    assert_eq!(
        listed, found,
        "the table of ARCHITECTURE.md (left) and src/ (right) have different layers"
    );
}

#[test]
fn crates_are_used_only_where_style_allows() {
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
                "`{name}` is in Cargo.toml: add a row to STYLE.md's table, with its layers and the reason for it"
            ));
            continue;
        };
        if !testing.contains(name) && !row.layers.is_empty() && !met.contains(name) {
            complaints.push(format!(
                "the crate `{name}` is not used: remove it from Cargo.toml and STYLE.md"
            ));
        }
    }
    for row in table
        .iter()
        .filter(|row| !known.contains(&row.name) && !testing.contains(&row.name))
    {
        complaints.push(format!(
            "STYLE.md has a row for `{}`, but Cargo.toml does not have the crate",
            row.name
        ));
    }
    none(complaints);
}

#[test]
fn modules_use_no_names_that_are_not_for_them() {
    none(sources().iter().flat_map(rules::foreign));
}

#[test]
fn sql_as_text_is_only_in_db() {
    none(sources().iter().flat_map(sql::text));
}

#[test]
fn files_do_not_import_each_other_in_new_circles() {
    let mut sources = sources();
    sources.retain(|source| source.layer() != "lib");
    none(circles::complaints(circles::KNOWN, &sources));
}

#[test]
fn a_name_stands_for_one_type() {
    let nouns = nouns::nouns(&read("src/api/routes.rs"));
    none(types::complaints(&nouns, &sources()));
}

#[test]
fn engines_are_distinguished_only_in_their_modules() {
    none(sources().iter().flat_map(sql::engines));
}

#[test]
fn paths_and_types_that_rules_name_exist() {
    let sources = sources();
    for path in rules::paths().chain(sql::ENGINES.iter().copied()) {
        assert!(
            sources.iter().any(|source| source.path.starts_with(path)),
            "a rule is about {path}, which does not exist"
        );
    }
    for name in sql::STATEMENTS {
        let declared = format!("pub struct {name}");
        assert!(
            sources.iter().any(|source| source.code.contains(&declared)),
            "a rule is about the type `{name}`, which does not exist"
        );
    }
}

#[test]
fn every_panic_says_why_it_cannot_happen() {
    none(sources().iter().flat_map(rules::panics));
}

#[test]
fn nothing_is_postponed_or_hidden() {
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
            "{path} is excused but does not exist: remove it from the list"
        );
    }
}

#[test]
fn no_file_names_a_path_of_one_machine() {
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
fn a_noun_has_one_name_in_every_layer() {
    let nouns = nouns::nouns(&read("src/api/routes.rs"));
    assert!(
        nouns.len() >= 8,
        "the nouns of the route table are not the expected ones: {nouns:?}"
    );
    none(nouns::noun_files(&nouns, exists));
}

#[test]
fn every_error_is_given_its_status_by_name() {
    none(rules::exhaustive(&Source::new(
        "src/api/http/errors.rs",
        &read("src/api/http/errors.rs"),
    )));
}

#[test]
fn files_that_documents_name_exist() {
    none(
        documents()
            .iter()
            .flat_map(|document| documents::references(document, exists)),
    );
}

#[test]
fn anchors_of_links_exist() {
    none(documents::anchors(&documents()));
}

#[test]
fn steps_of_tox_that_documents_name_exist() {
    let tox = read("tox.sh");
    none(documents().iter().flat_map(|document| documents::steps(document, &tox)));
}

#[test]
fn one_build_makes_what_all_suites_run() {
    let tox = read("tox.sh");
    none(builds::builds(&tox));
    none(builds::starts(&read("functional-tests/lib/starts.txt"), &tox));
}

#[test]
fn commits_say_what_they_do_and_why() {
    match commits::commits(&root()) {
        Some(commits) => none(commits.iter().flat_map(commits::check)),
        None => println!("skipped: the history of this checkout begins after the rules of commits"),
    }
}

#[test]
fn a_file_says_first_what_it_is_for() {
    none(rust_files().iter().filter_map(layout::head));
}

#[test]
fn tests_are_in_the_module_tests() {
    let files = rust_files();
    none(
        files
            .iter()
            .filter(|file| file.path.starts_with("src/"))
            .flat_map(layout::test_places),
    );
}

#[test]
fn refused_words_are_not_written() {
    let words = words::Words::of(&read("STYLE.md"));
    assert!(!words.is_empty(), "STYLE.md has no table whose first column is `avoid`");
    none(written().iter().flat_map(|file| words.check(file)));
}

#[test]
fn sentences_begin_with_a_subject_or_an_if() {
    none(written().iter().flat_map(words::beginnings));
}

#[test]
fn sentences_of_documents_are_short() {
    none(documents().iter().flat_map(sentences::long_sentences));
}

#[test]
fn pages_are_short_enough_to_finish() {
    none(documents().iter().filter_map(sentences::page));
}

#[test]
fn lines_end_at_the_column_of_editorconfig() {
    let most = lines::most_columns(&read(".editorconfig")).expect(".editorconfig has `max_line_length` of all files");
    none(texts().iter().flat_map(|file| lines::columns(most, file)));
}

#[test]
fn lines_and_files_end_without_white_space() {
    none(texts().iter().flat_map(lines::ends));
}

#[test]
fn comments_name_the_thing_again() {
    let files = source::files(&root(), "src", &[".rs"]);
    none(references::check(&read("functional-tests/tidy/references.txt"), &files));
}
