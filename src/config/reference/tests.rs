//! Tests of the sample and the tables, and of the documents that contain them.

use std::fs;
use std::path::Path;

use super::super::tests::{load_texts, options};
use super::*;

/// The generated part of a document begins after this line, and ends before the next marker.
const BEGIN: &str = "<!-- contrib/config-docs.sh begins here -->\n";
const END: &str = "<!-- and ends here -->\n";
/// The generated part of the example begins after this line, and ends with the file.
const BEGIN_OF_EXAMPLE: &str = "# contrib/config-docs.sh writes everything below.\n";

/// `document` with the text between two lines replaced.
fn regenerated(document: &str, begin: &str, end: &str, generated: &str) -> String {
    let (before, rest) = document
        .split_once(begin)
        .expect("the document has the line that begins");
    let end_at = rest.find(end).expect("the document has the line that ends");
    let after = if end.is_empty() { "" } else { &rest[end_at..] };
    format!("{before}{begin}\n{generated}{after}")
}

/// The documents with their generated parts as they must be: (path, text there, text expected).
fn documents() -> [(&'static str, String, String); 2] {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (page, example) = (read("docs/configuration.md"), read("examples/placement.conf"));
    let new_page = regenerated(&page, BEGIN, END, &(markdown(None) + "\n"));
    let new_example = regenerated(&example, BEGIN_OF_EXAMPLE, "", &conf(Some("placet")));
    [
        ("docs/configuration.md", page, new_page),
        ("examples/placement.conf", example, new_example),
    ]
}

#[test]
fn documents_have_every_option_as_it_is_declared() {
    for (path, found, expected) in documents() {
        if std::env::var_os("PLACET_WRITE_DOCS").is_some() {
            fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), expected).unwrap();
        } else {
            assert!(
                found == expected,
                "{path} is not what the options declare: run contrib/config-docs.sh"
            );
        }
    }
}

#[test]
fn a_document_with_another_default_or_help_is_noticed() {
    for (path, _, expected) in documents() {
        for (declared, wrong) in [("33554432", "33554433"), ("request body", "request head")] {
            let (begin, end) = if path.ends_with(".md") {
                (BEGIN, END)
            } else {
                (BEGIN_OF_EXAMPLE, "")
            };
            let generated = if path.ends_with(".md") {
                markdown(None) + "\n"
            } else {
                conf(Some("placet"))
            };
            let document = expected.replacen(declared, wrong, 1);
            assert_ne!(document, expected, "{path} lacks {declared}");
            assert_ne!(
                regenerated(&document, begin, end, &generated),
                document,
                "{path}: {wrong}"
            );
        }
    }
}

#[test]
fn an_option_is_a_row_and_a_commented_assignment() {
    let row = "| `commit_timeout` | `10` | 1 to 600 seconds | Timeout for a write, ";
    assert!(markdown(Some("placet")).contains(row));
    let sample = conf(Some("placet"));
    assert!(
        sample.starts_with("[placet]\n# Address and port to serve on. "),
        "{sample}"
    );
    assert!(
        sample.contains("\n# Value: 1 to 600 seconds\n#commit_timeout = 10\n"),
        "{sample}"
    );
    assert!(sample.contains("\n# Value: path\n#url_prefix =\n"), "{sample}");
    // Code is not broken, and has no backquotes.
    assert!(
        sample.contains("\n# GET /usages, GET /allocations/{consumer_uuid}.\n"),
        "{sample}"
    );
    assert!(sample.lines().all(|line| line.len() <= COLUMNS), "{sample}");
}

#[test]
fn every_section_is_described_once() {
    assert_eq!(sections().first(), Some(&"DEFAULT"));
    assert!(sections().ends_with(&["placet", "agent"]));
    let count = |text: String, line: String| text.lines().filter(|other| **other == line).count();
    for section in sections() {
        assert_eq!(count(conf(None), format!("[{section}]")), 1, "{section}");
        assert_eq!(count(markdown(None), format!("### [{section}]")), 1, "{section}");
    }
}

#[test]
fn a_sample_without_its_comments_is_the_defaults() {
    let assignments = |line: &str| match line.strip_prefix('#') {
        Some(assignment) if !assignment.starts_with(' ') => assignment.to_owned(),
        _ => line.to_owned(),
    };
    let sample: Vec<String> = conf(None).lines().map(assignments).collect();
    let (loaded, _dir) = load_texts(&[&sample.join("\n")], &[]);
    let mut loaded = loaded.unwrap().options;
    let mut defaults = options("");
    // The two files are in different directories.
    loaded.oslo_policy.search_dirs.clear();
    defaults.oslo_policy.search_dirs.clear();
    assert_eq!(format!("{loaded:?}"), format!("{defaults:?}"));
}
