//! Proves it of the rules about documents, prose and commits.

use super::file;
use crate::commits::{self, Commit};
use crate::words::{NOT_IN_NAMES, Words};
use crate::{builds, documents, lines, references, sentences, words};

#[test]
fn links_and_paths_that_lead_nowhere_fail() {
    let count = |text: &str| documents::references(&file("docs/a.md", text), |path| path == "src/api").len();
    assert_eq!(
        count("`src/api/` and `src/api`, [api](../src/api), [web](https://example.org)"),
        0
    );
    assert_eq!(count("`src/gone.rs`"), 1);
    assert_eq!(count("[gone](gone.md#a)"), 1);
    assert_eq!(count("`src/{a,b}`, `src/<noun>.rs`"), 0);
}

#[test]
fn anchors_that_no_heading_has_fail() {
    let target = "# A title\n\n## Two `words`, and 1\n\n```\n# no heading\n```\n";
    let count = |text: &str| documents::anchors(&[file("docs/a.md", text), file("docs/b.md", target)]).len();
    let alive = "# Here\n[a](b.md#a-title), [b](b.md#two-words-and-1), [c](#here), [d](b.md)";
    assert_eq!(count(alive), 0);
    assert_eq!(count("[a](b.md#gone), [b](#gone), [c](b.md#no-heading)"), 3);
}

#[test]
fn steps_that_tox_lacks_fail() {
    let tox = "a\nservers() {\n    both \"on_engine x\"\n}\n\non_engine() {\n    step python \"race, $x\" y\n    \
               step python plans z\n}\nall() { servers; }\n";
    let count = |text: &str| documents::steps(&file("README.md", text), tox).len();
    assert_eq!(
        count("`./tox.sh servers` (race, plans), `./tox.sh all` (race, `src/a.rs`), `./tox.sh unit`"),
        0
    );
    assert_eq!(count("`./tox.sh servers` (race, chaos)"), 1);
    assert_eq!(count("`./tox.sh functional` (race)"), 1);
}

#[test]
fn refused_words_fail() {
    let plural = NOT_IN_NAMES[0];
    let table = "| avoid | write instead |\n|---|---|\n| `zork`, `in quux` | the thing |";
    let style = format!("{table}\n| `{plural}` | layers |\n");
    let words = Words::of(&style);
    assert!(!words.is_empty() && Words::of("| a | b |\n|---|---|\n| `zork` | c |\n").is_empty());
    let found = |path: &str, text: &str| words.check(&file(path, text));
    let count = |path: &str, text: &str| found(path, text).len();
    assert_eq!(
        found("src/a.rs", "fn f() {}\n\n/// Goes in\n/// quux."),
        ["src/a.rs:3: `in quux`: write the thing (STYLE.md)"]
    );
    assert_eq!(
        count("src/a.rs", "//! Zork, and\n//! zork's.\nf(\"not zork\"); // a\n// zork"),
        4
    );
    assert_eq!(
        count("src/a.rs", "fn no_zork() {} struct ZorkIn; const ZORK: u8 = IN_QUUX;"),
        4
    );
    assert_eq!(
        count("src/a.rs", "fn zorks() { f(\"zork\", 'z') } // in; quuxes"),
        0,
        "other words, and data"
    );
    assert_eq!(
        count("src/a.rs", &format!("let {plural} = 1; // {plural}")),
        1,
        "a name is not a sentence"
    );
    assert_eq!(
        count(
            "a.py",
            "\"\"\"Zork.\"\"\"\n\"\"\"A zork.\"\"\"\ndef test_zork():  # zork\n    pass"
        ),
        3
    );
    assert_eq!(count("a.yaml", "# zork\n- name: one zork\n  zork: zork\n"), 2);
    assert_eq!(count("a.sql", "SELECT zork; -- zork"), 1);
    assert_eq!(count("tox.sh", "# zork\necho zork"), 2);
    assert_eq!(count("docs/a.md", "Zork\n```\nzork\n```\n| zork |\n"), 2);
    assert_eq!(
        count(
            "STYLE.md",
            &format!("{style}\n| before | after |\n|---|---|\n| zork | it |\n")
        ),
        0
    );
    assert_eq!(
        count("src/a.json", "{\"a\": \"zork\"}") + count("api-ref/a.json", "{\"a\": \"zork\"}"),
        1
    );
}

#[test]
fn sentences_without_a_subject_or_with_where_for_if_fail() {
    let count = |text: &str| words::beginnings(&file("src/a.rs", text)).len();
    let (who, whom, place) = ("Who", "Whom", "Where");
    let conditions = format!("// {place} it fails, it ends. {place} is it, then? {place} it lies.");
    assert_eq!(count(&conditions), 1);
    assert_eq!(
        count(&format!(
            "/// {who} reads\n/// waits. {whom} it asks is left.\nf(\"{who} waits, loses\");"
        )),
        3
    );
    assert_eq!(
        count("// Who reads? A reader, who waits.\nenum Who { Reads }\nf(\"Who\");"),
        0
    );
}

#[test]
fn words_of_comments_are_counted_without_code_and_numbers() {
    let code = "//! It's `that\n//! one` the one-each rule, 12 of those.\nlet it = \"what\"; // Such\n/* them */";
    let count = references::Count::of(code);
    assert_eq!((count.words, count.references), (8, 4));
}

/// A comment with this number of reference words in 1,000 words.
fn comment(references: usize) -> String {
    format!("// {}{}\n", "it ".repeat(references), "row ".repeat(1_000 - references))
}

#[test]
fn references_above_the_limit_of_their_layer_fail() {
    let found = |table: &str, references| {
        let files = [
            file("src/a.rs", &comment(40)),
            file("src/a/b.rs", &comment(0)),
            file("src/a/c/d.rs", &comment(references)),
            file("src/a/c/tests.rs", &comment(30)),
        ];
        references::check(table, &files)
    };
    let count = |table: &str, references| found(table, references).len();
    let table = "# why\nsrc/a 20\n\nsrc/a/c 35\n\ntests 30\n";
    assert_eq!(count(table, 35) + count(table, 33), 0);
    assert_eq!(
        found(table, 36),
        [
            "src/a/c: 36 reference words in 1,000 words of comments are 1 more than references.txt allows. \
          The file that adds most is src/a/c/d.rs, with 36 in 1,000. Name the thing again (STYLE.md)"
        ]
    );
    assert_eq!(
        found(table, 32),
        ["references.txt: the limit of `src/a/c` is 35, but the comments have 32: write 32"]
    );
    assert_eq!(count(table, 0), 1, "a limit follows its count down to 0");
    assert_eq!(count("src/a/c 35\ntests 30", 35), 2, "files without a row");
    assert_eq!(count(&format!("{table}src/b 45"), 35), 1, "a row without a file");
}

#[test]
fn files_above_the_limit_fail_unless_they_are_exceptions() {
    let found = |exceptions: &str, text: &str| {
        let limit = references::Count::of(text).per_thousand();
        references::check(&format!("src {limit}\n\n{exceptions}\n"), &[file("src/a.rs", text)])
    };
    let few = format!("// {}\n", "it ".repeat(99));
    for right in [&comment(45), &few] {
        assert_eq!(found("", right), [""; 0]);
        assert_eq!(
            found("src/a.rs", right),
            ["references.txt: no file src/a.rs is above 45: remove the row"]
        );
    }
    let above = comment(46);
    assert_eq!(
        found("", &above),
        ["src/a.rs: 46 reference words in 1,000 words of comments are more than 45. Name the thing again (STYLE.md)"]
    );
    assert_eq!(found("src/a.rs", &above), [""; 0]);
    assert_eq!(
        found("src/a.rs\nsrc/b.rs", &above).len(),
        1,
        "an exception without a file"
    );
}

#[test]
fn sentences_of_more_than_30_words_fail() {
    let count = |text: &str| sentences::long_sentences(&file("docs/a.md", text)).len();
    let long = "word ".repeat(30);
    assert_eq!(count(&format!("{long}.")), 0);
    assert_eq!(count(&format!("{long} one.")), 1);
    assert_eq!(count(&format!("{long}. One.\n\n- {long}\n- {long} `b c`.")), 1);
    assert_eq!(
        count(&format!(
            "| {long} one. |\n\n```\n{long} one.\n```\n\n    {long} one.\n"
        )),
        0
    );
    assert_eq!(count(&format!("<!-- a begins -->{long} one.<!-- a ends -->")), 0);
}

#[test]
fn pages_that_are_too_long_fail() {
    let too_long = |path: &str, bytes| sentences::page(&file(path, &"x".repeat(bytes))).is_some();
    for (path, most) in [
        ("README.md", 8_192),
        ("ARCHITECTURE.md", 15_360),
        ("docs/a/b.md", 12_288),
    ] {
        assert!(!too_long(path, most) && too_long(path, most + 1), "{path}");
    }
    assert!(!too_long("CHANGELOG.md", 20_000));
    let table = format!("<!-- begins -->{}<!-- ends -->", "x".repeat(20_000));
    assert!(sentences::page(&file("docs/a.md", &table)).is_none());
    assert!(sentences::page(&file("README.md", &table)).is_some());
}

#[test]
fn comments_and_documents_beyond_the_column_of_editorconfig_fail() {
    let most = lines::most_columns("root = true\n\n[*]\nindent_size = 4\nmax_line_length = 40\n");
    assert_eq!(most, Some(40));
    assert_eq!(
        lines::most_columns("[*.md]\nmax_line_length = 40\n\n[*]\na = b\n\n[*.rs]\nmax_line_length = 40\n"),
        None
    );
    let count = |path: &str, text: &str| lines::columns(40, &file(path, text)).len();
    let (fits, long) = (
        "six words in 34 columns, which are",
        "six words in 41 columns, which are longer",
    );
    for mark in ["//!", "///", "//", "f(); //"] {
        assert_eq!(count("src/a.rs", &format!("{mark} {long}\n")), 1, "{mark}");
    }
    assert_eq!(count("src/a.rs", &format!("// {fits}\nlet a = \"// {long}\";\n")), 0);
    assert_eq!(
        count(
            "a.py",
            &format!(
                "\"\"\"{fits}\n\n{long}.\n\"\"\"\n# {long}\nb = 1  # {long}\n\n\ndef f():\n    \"\"\"{long}.\"\"\"\n"
            )
        ),
        4
    );
    assert_eq!(
        count(
            "a.py",
            &format!("SQL = \"\"\"\n{long} of data\n\"\"\"\nb = '# {long}'\n")
        ),
        0
    );
    assert_eq!(count("a.sql", &format!("-- {long}\nSELECT '{long}' -- b\n")), 1);
    for path in ["a.sh", "a.toml", "a.yaml", "a.conf"] {
        assert_eq!(
            count(path, &format!("# {long}\nname = {long} of data # b\n")),
            1,
            "{path}"
        );
    }
    let umlauts = "ß".repeat(20);
    assert_eq!(
        count(
            "docs/a.md",
            &format!("- {long}\n  {long}\n# {long}\n{umlauts} {umlauts}\n")
        ),
        4
    );
    assert_eq!(
        count("docs/a.md", &format!("{umlauts} {}\n", "ß".repeat(19))),
        0,
        "characters, not bytes"
    );
}

#[test]
fn lines_that_cannot_be_broken_may_be_longer() {
    let count = |path: &str, text: &str| lines::columns(40, &file(path, text)).len();
    let long = "six words in 41 columns, which are longer";
    let word = "https://example.org/".repeat(3);
    let kept = format!("| {long} |\n\n```\n{long}.\n```\n\n    {long}\n    {long}\n\n- {word}\n{word}\n");
    assert_eq!(count("docs/a.md", &kept), 0);
    let comment: String = kept.lines().map(|line| format!("/// {line}\n")).collect();
    assert_eq!(count("src/a.rs", &comment), 0);
    assert_eq!(
        count("docs/a.md", &format!("One\n    {long}\n")),
        1,
        "a paragraph goes on"
    );
    assert_eq!(
        count("docs/a.md", &format!("See {word}\n")),
        1,
        "a URL has a line of its own"
    );
    assert_eq!(count("api-ref/a.md", long) + count("LICENSE", &format!("# {long}")), 0);
}

#[test]
fn white_space_at_ends_fails() {
    let count = |text: &str| lines::ends(&file("src/a.rs", text)).len();
    assert_eq!(count("a\n\nb\n") + count(""), 0);
    assert_eq!(count("a \n") + count("a\t\n") + count("a\r\n"), 3);
    assert_eq!(
        count("a") + count("a\n\n") + count("a\n "),
        3 + 1,
        "the last line has a space, too"
    );
}

#[test]
fn suites_that_compile_fail() {
    let tox = "build_once() {\n    cargo build\n}\nmutants_build() {\n    cargo build\n}\nfeatures() {\n    cargo build\n}\n\
               dist_build() {\n    cargo build\n}\nbench_build() { cargo build; }\n";
    assert_eq!(builds::builds(tox), Vec::<String>::new());
    assert_eq!(builds::builds(&format!("{tox}# cargo build\n")).len(), 0);
    assert_eq!(
        builds::builds(&format!("{tox}unit() {{\n    cargo test\n}}\n")).len(),
        1
    );
    assert_eq!(builds::builds(&tox.replace("dist_build()", "all()")).len(), 2);
    let steps = "step python \"gabbi, $engine\" x\nstep python clients x\n";
    assert_eq!(builds::starts("# a\ngabbi, mariadb  4\nclients  2\n", steps).len(), 0);
    assert_eq!(builds::starts("gabbi  4\nclient  2\n", steps).len(), 2);
}

#[test]
fn commits_without_scope_command_or_reason_fail() {
    let count = |subject: &str, body: &str, lines| {
        let commit = Commit {
            hash: "1a2b".to_owned(),
            subject: subject.to_owned(),
            body: body.to_owned(),
            lines,
        };
        commits::check(&commit).len()
    };
    assert_eq!(count("db: rename the queue", "", 50), 0);
    assert_eq!(count("db, model/save: rename the queue", "Why.", 51), 0);
    assert_eq!(count("db: rename the queue", "", 51), 1);
    assert_eq!(count("rename the queue", "", 0), 1);
    assert_eq!(count("what was found: rename the queue", "", 0), 1);
    assert_eq!(count("db: renamed the queue", "", 0), 1);
    assert_eq!(count("db: the queue has a new name", "", 0), 1);
    assert_eq!(count(&format!("db: rename {}", "x".repeat(61)), "", 0), 0);
    assert_eq!(count(&format!("db: rename {}", "x".repeat(62)), "", 0), 1);
    assert_eq!(count("Revert \"db: rename the queue\"", "", 0), 0);
}
