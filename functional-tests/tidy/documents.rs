//! The rules of documents: the files, paths and test steps that they name exist.

use std::collections::{BTreeMap, BTreeSet};

use super::source::File;

/// Complaints about dead links, and about paths in backquotes that do not exist in a folder of the project.
pub fn references(document: &File, exists: impl Fn(&str) -> bool) -> Vec<String> {
    const FOLDERS: [&str; 9] = [
        "src/",
        "functional-tests/",
        "migrations/",
        "docs/",
        "benches/",
        "examples/",
        "contrib/",
        "api-ref/",
        "./",
    ];
    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut complaints = Vec::new();
    let mut missing = |named: &str, path: String| {
        if !exists(&path) {
            complaints.push(format!("{}: `{named}` does not exist", document.path));
        }
    };
    for named in document.text.split('`').skip(1).step_by(2) {
        let plain = named.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        if plain && FOLDERS.iter().any(|folder| named.starts_with(folder)) {
            missing(named, named.trim_start_matches("./").trim_end_matches('/').to_owned());
        }
    }
    for (at, _) in document.text.match_indices("](") {
        let link = document.text[at + 2..].split([')', '#']).next().unwrap_or_default();
        if !link.is_empty() && !link.contains("://") {
            missing(link, join(folder, link));
        }
    }
    complaints
}

/// Complaints about links to a heading that their document does not have.
pub fn anchors(documents: &[File]) -> Vec<String> {
    let headings: BTreeMap<&str, BTreeSet<String>> = documents
        .iter()
        .map(|document| (document.path.as_str(), headings(&document.text)))
        .collect();
    let mut complaints = Vec::new();
    for document in documents {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (at, _) in document.text.match_indices("](") {
            let link = document.text[at + 2..].split(')').next().unwrap_or_default();
            let Some((path, anchor)) = link.split_once('#').filter(|_| !link.contains("://")) else {
                continue;
            };
            let path = if path.is_empty() {
                document.path.clone()
            } else {
                join(folder, path)
            };
            if headings.get(path.as_str()).is_some_and(|known| !known.contains(anchor)) {
                complaints.push(format!(
                    "{}: no heading of {path} has the anchor `#{anchor}`",
                    document.path
                ));
            }
        }
    }
    complaints
}

/// The anchors of a document's headings, as GitHub makes them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if !in_code && title.len() < line.len() && title.starts_with(' ') {
            let kept = title.trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            found.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    found
}

fn join(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Complaints about steps of tox.sh that a document names but the stages do not have. A document names them as
/// `./tox.sh functional servers` (race, plans). A name in backquotes is a path, which `references` checks.
pub fn steps(document: &File, tox: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (at, _) in document.text.match_indices("`./tox.sh ") {
        let rest = &document.text[at + "`./tox.sh ".len()..];
        let Some((stages, rest)) = rest.split_once('`') else {
            continue;
        };
        let Some((named, _)) = rest.strip_prefix(" (").and_then(|rest| rest.split_once(')')) else {
            continue;
        };
        let known = steps_of(tox, stages);
        for name in named.split(", ").filter(|name| !name.starts_with('`')) {
            if !known.contains(name) {
                complaints.push(format!("{}: `./tox.sh {stages}` has no step {name}", document.path));
            }
        }
    }
    complaints
}

/// The words in the names of the steps that stages of tox.sh run, themselves or by functions that they call.
fn steps_of(tox: &str, stages: &str) -> BTreeSet<String> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting: Vec<&str> = stages.split(' ').collect();
    while let Some(function) = waiting.pop() {
        if !seen.insert(function) {
            continue;
        }
        for line in body(tox, function).lines() {
            let Some((_, step)) = line.split_once("step python ") else {
                waiting.extend(line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
                continue;
            };
            let name = match step.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next(),
                None => step.split(' ').next(),
            };
            found.extend(name.unwrap_or_default().split(", ").map(str::to_owned));
        }
    }
    found
}

/// The body of a function of a shell script; empty if there is no such function.
fn body<'a>(script: &'a str, function: &str) -> &'a str {
    let Some((_, body)) = script.split_once(&format!("\n{function}() {{")) else {
        return "";
    };
    let end = if body.starts_with('\n') { "\n}" } else { "}\n" };
    body.split(end).next().unwrap_or_default()
}
