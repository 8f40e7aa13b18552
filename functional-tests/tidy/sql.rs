//! The rules of SQL: SQL as text is only in `src/db/`, and code that distinguishes engines only in `src/db/engines/`
//! and `src/db/connect/`.

use super::lexer::{self, Kind};
use super::source::Source;

/// Sequences of words that only SQL has.
const SQL: &[&[&str]] = &[
    &["SELECT", "FROM"],
    &["INSERT", "INTO"],
    &["UPDATE", "SET"],
    &["DELETE", "FROM"],
    &["CREATE", "TABLE"],
    &["FROM", "WHERE"],
    &["WHERE", "="],
    &["WHERE", "IN"],
    &["ORDER", "BY"],
    &["GROUP", "BY"],
    &["JOIN", "ON"],
    &["AND", "="],
    &["?", "AND", "?"],
];

/// Types of `src/db/engines/rows/` whose fields are parts of statements. Their values are made next to the tables.
pub const STATEMENTS: &[&str] = &[
    "UpdateFromRows",
    "InsertFromRows",
    "DeleteRows",
    "CountFrom",
    "CountKeys",
    "OneRow",
];

/// Complaints about SQL as text outside of `src/db/`: statements, their parts, and types that hold such parts.
pub fn text(source: &Source) -> Vec<String> {
    if source.path.starts_with("src/db/") {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    let mut complain = |at: usize, what: &str| {
        complaints.push(format!(
            "{}: {what}: SQL as text is only in src/db/. Name it in src/db/statements.rs, or write it with diesel",
            source.place(at)
        ));
    };
    for (kind, range) in lexer::rust(&source.text) {
        // A literal of a test is blanked with its quotes.
        let of_program = !source.code[range.clone()].trim().is_empty();
        if kind == Kind::Literal && of_program && is_sql(&source.text[range.clone()]) {
            complain(range.start, "a literal that is SQL");
        }
    }
    for name in STATEMENTS {
        for (at, _) in source.code.match_indices(name) {
            let rest = source.code[at + name.len()..].trim_start();
            let alone = !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let declared = source.code[..at].trim_end().ends_with("->");
            if alone && !declared && (rest.starts_with('{') || rest.starts_with('(')) {
                complain(at, &format!("`{name}` is a part of a statement"));
            }
        }
    }
    complaints
}

fn is_sql(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| !(c.is_alphanumeric() || "_?=".contains(c)))
        .collect();
    SQL.iter().any(|wanted| {
        let mut left = words.iter();
        wanted.iter().all(|word| left.any(|it| it == word))
    })
}

/// The modules that distinguish engines: the engines' own, and those that turn a URL into a connection.
pub const ENGINES: &[&str] = &["src/db/engines", "src/db/connect"];

/// Complaints about code that distinguishes engines outside of these modules.
pub fn engines(source: &Source) -> Vec<String> {
    if ENGINES.iter().any(|path| source.path.starts_with(path)) {
        return Vec::new();
    }
    let engines = ["Sqlite", "Postgresql", "Mariadb"].into_iter();
    let variants: Vec<String> = engines
        .flat_map(|engine| ["DbConnection", "DbTarget"].map(|name| format!("{name}::{engine}")))
        .collect();
    let by_type = variants
        .iter()
        .flat_map(|name| source.code.match_indices(name.as_str()).map(|(at, _)| at));
    let features = ["postgresql", "mariadb"].map(|engine| format!("feature = \"{engine}"));
    let by_feature = features
        .iter()
        .flat_map(|name| source.text.match_indices(name.as_str()).map(|(at, _)| at));
    // Comments and tests may name a feature.
    let mut places: Vec<usize> = by_type
        .chain(by_feature.filter(|at| source.code[*at..].starts_with("feature")))
        .collect();
    places.sort_unstable();
    places.dedup_by_key(|at| source.line(*at));
    let complain = |at: usize| {
        format!(
            "{}: engines are distinguished here: what differs between them is in src/db/engines/, one file an engine, behind a \
             function that all of them have",
            source.place(at)
        )
    };
    places.into_iter().map(complain).collect()
}
