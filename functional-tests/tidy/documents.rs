//! The rules of documents: what they name is there, and what they list is what the code lists.

use super::source::File;

/// What a document names must be there: links, and paths in backquotes that begin with a folder of the project.
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
            complaints.push(format!("{}: `{named}` is not there", document.path));
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

/// The options of `[placet]` with their defaults, as the code lists them.
pub fn own_options(known: &str) -> Vec<(String, String)> {
    let texts = |line: &str| -> Vec<String> { line.split('"').skip(1).step_by(2).map(str::to_owned).collect() };
    known
        .lines()
        .map(texts)
        .filter(|texts| texts.len() == 3 && texts[0] == "placet")
        .map(|mut texts| (texts.remove(1), texts.remove(1)))
        .collect()
}
