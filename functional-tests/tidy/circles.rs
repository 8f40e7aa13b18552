//! The rule of circles: files do not import each other in a ring, so that each can be read after the files below it.
//!
//! An import is a `use`, or a path in code that leaves the file by `crate`, `super` or an imported module. No imports
//! are a `mod` declaration, a parent's `pub use` of its children, and a parent's call of a child by the child's name.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, name};

/// The circles that are there: a file of each, and the number of its files. A circle may shrink, and not grow.
pub const KNOWN: &[(&str, usize)] = &[
    ("src/model/batch/decider/transaction.rs", 2),
    ("src/model/batch/savepoint.rs", 2),
];

/// The files that import each other, directly or through others: sorted, each circle once.
pub fn circles(sources: &[Source]) -> Vec<Vec<String>> {
    let paths: BTreeMap<String, &str> = sources
        .iter()
        .map(|source| (module(&source.path), source.path.as_str()))
        .collect();
    let modules: BTreeSet<String> = paths.keys().cloned().collect();
    let imports: BTreeMap<String, BTreeSet<String>> = sources
        .iter()
        .map(|source| (module(&source.path), imports(&modules, source)))
        .collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|from| (from.as_str(), reached(&imports, from)))
        .collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, all) in &reached {
        let members: Vec<&str> = all.iter().copied().filter(|to| reached[to].contains(from)).collect();
        if members.len() > 1 {
            found.insert(members.iter().map(|module| paths[*module].to_owned()).collect());
        }
    }
    found.into_iter().collect()
}

/// Complaints about circles that `known` does not have, or that have more files than their row says. A circle that
/// became smaller is a complaint too, so that its row is corrected and the circle stays small.
pub fn complaints(known: &[(&str, usize)], sources: &[Source]) -> Vec<String> {
    let found = circles(sources);
    let mut complaints = Vec::new();
    for circle in &found {
        let listed = known.iter().find(|(file, _)| circle.iter().any(|path| path == file));
        let most = listed.map_or(1, |(_, most)| *most);
        if circle.len() > most {
            complaints.push(format!(
                "{} files import each other, and {most} may: move what they share to a file below them, or hand the \
                 value over as an argument\n  {}",
                circle.len(),
                circle.join("\n  ")
            ));
        }
    }
    for (file, most) in known {
        let circle = found.iter().find(|circle| circle.iter().any(|path| path == file));
        let size = circle.map_or(1, Vec::len);
        if size < *most {
            complaints.push(format!(
                "the circle of {file} has {size} files: functional-tests/tidy/circles.rs still allows {most}"
            ));
        }
    }
    complaints
}

/// `src/model/batch/save.rs` is `model::batch::save`.
fn module(path: &str) -> String {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.trim_end_matches(".rs").replace('/', "::")
}

/// The modules that can be reached from `from` by imports.
fn reached<'a>(imports: &'a BTreeMap<String, BTreeSet<String>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        for to in imports.get(module).into_iter().flatten() {
            if found.insert(to.as_str()) {
                left.push(to);
            }
        }
    }
    found
}

/// The modules that a file imports.
fn imports(modules: &BTreeSet<String>, source: &Source) -> BTreeSet<String> {
    let own = module(&source.path);
    let (uses, rest) = uses(&source.code);
    let children = children(modules, &own);
    let (mut names, mut found) = (BTreeMap::new(), BTreeSet::new());
    for (is_public, path) in uses {
        let Some(absolute) = absolute(&own, &children, &path) else {
            continue;
        };
        let Some(target) = file_of(modules, &absolute) else {
            continue;
        };
        let is_reexport = is_public && target.starts_with(&format!("{own}::"));
        if !is_reexport {
            found.insert(target.to_owned());
        }
        if modules.contains(&absolute) {
            names.insert(last(&absolute).to_owned(), absolute);
        }
    }
    for path in paths(&rest) {
        let absolute = absolute(&own, &names, &path).unwrap_or_default();
        found.extend(file_of(modules, &absolute).map(str::to_owned));
    }
    found.remove(&own);
    found
}

/// The names of the module's children, and their paths.
fn children(modules: &BTreeSet<String>, own: &str) -> BTreeMap<String, String> {
    let below = format!("{own}::");
    let children = modules
        .iter()
        .filter_map(|path| Some((path.strip_prefix(&below)?, path)));
    children
        .filter(|(name, _)| !name.contains("::"))
        .map(|(name, path)| (name.to_owned(), path.clone()))
        .collect()
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The path from the crate; `None` if it leads to another crate or to a name of the file's own.
fn absolute(own: &str, names: &BTreeMap<String, String>, path: &str) -> Option<String> {
    let (first, mut rest) = path.split_once("::").unwrap_or((path, ""));
    let mut from = match first {
        "crate" => String::new(),
        "self" => own.to_owned(),
        "super" => parent(own),
        _ => names.get(first)?.clone(),
    };
    while let Some(further) = rest.strip_prefix("super") {
        from = parent(&from);
        rest = further.trim_start_matches("::");
    }
    let joined = [from.as_str(), rest].into_iter().filter(|part| !part.is_empty());
    Some(joined.collect::<Vec<_>>().join("::"))
}

fn parent(module: &str) -> String {
    module
        .rsplit_once("::")
        .map_or(String::new(), |(parent, _)| parent.to_owned())
}

/// The longest beginning of a path that is a file.
fn file_of<'a>(modules: &BTreeSet<String>, path: &'a str) -> Option<&'a str> {
    let mut left = path;
    while !modules.contains(left) {
        left = left.rsplit_once("::")?.0;
    }
    Some(left)
}

/// Each path of the `use` declarations, and whether it is public; and the code without the declarations.
fn uses(code: &str) -> (Vec<(bool, String)>, String) {
    let (mut found, mut rest, mut from) = (Vec::new(), String::new(), 0);
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[line..at].trim();
        if at < from || !(before.is_empty() || before.starts_with("pub")) {
            continue;
        }
        let end = code[at..].find(';').map_or(code.len(), |end| at + end);
        expand("", &code[at + "use ".len()..end], &mut |path| {
            found.push((before.starts_with("pub"), path));
        });
        rest.push_str(&code[from..line]);
        from = end;
    }
    rest.push_str(&code[from..]);
    (found, rest)
}

/// Each path of a tree such as `a::{b, c::{self, D}}`.
fn expand(prefix: &str, tree: &str, add: &mut impl FnMut(String)) {
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        add(format!("{prefix}{path}").trim_end_matches("::self").to_owned());
        return;
    };
    let prefix = format!("{prefix}{}", head.trim());
    let group = group.trim_end();
    let group = group.strip_suffix('}').unwrap_or(group);
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&prefix, &group[begin..at], add);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if !group[begin..].trim().is_empty() {
        expand(&prefix, &group[begin..], add);
    }
}

/// Each path of at least two names in code.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
        rest = &rest[start..];
        let mut path = name(rest).to_owned();
        rest = &rest[path.len()..];
        while let Some(further) = rest.strip_prefix("::") {
            let next = name(further);
            if next.is_empty() || !further.starts_with(next) {
                break;
            }
            path = format!("{path}::{next}");
            rest = &further[next.len()..];
        }
        if path.contains("::") {
            found.push(path);
        }
    }
    found
}
