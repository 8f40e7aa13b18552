//! The rules of code. Each takes a file and returns complaints with the place, the fault and what to do instead.

use super::source::{File, Source, after, name};
use super::tables::{Crate, Layers};

/// A layer imports only from the layers that the table allows it.
pub fn layers(allowed: &Layers, source: &Source) -> Vec<String> {
    let from = source.layer();
    let complain = |(at, to): (usize, String)| {
        (!allowed.allow(from, &to)).then(|| {
            format!(
                "{}: `{from}` may not import from `{to}` (ARCHITECTURE.md). Move what is shared into a layer below both, or \
                 hand it over as an argument; a new dependency needs a line in the table and a reason in the commit",
                source.place(at)
            )
        })
    };
    imports(source).into_iter().filter_map(complain).collect()
}

/// Every layer that a file names, with the place. A file names a layer by `crate::…`, by a `super::…` that leads out of
/// its own layer, and in main.rs by `placet::…`.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let code = &source.code;
    let mut found = Vec::new();
    let mut add = |at: usize, rest: &str| {
        let rest = rest.trim_start();
        match rest.strip_prefix('{') {
            Some(group) => found.extend(group_heads(group).into_iter().map(|head| (at, head))),
            None => found.push((at, name(rest).to_owned())),
        }
    };
    for (at, rest) in after(code, "crate::") {
        add(at, rest);
    }
    if source.path == "src/main.rs" {
        for (at, rest) in after(code, "placet::") {
            add(at, rest);
        }
    }
    for (at, mut rest) in after(code, "super::") {
        let mut steps = 1;
        while let Some(further) = rest.strip_prefix("super::") {
            steps += 1;
            rest = further;
        }
        if steps == source.depth() {
            add(at, rest);
        }
    }
    found
}

/// The first name of each path in `a::b, c::{d, e}, f}`.
fn group_heads(group: &str) -> Vec<String> {
    let (mut heads, mut depth, mut begins) = (Vec::new(), 0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if c.is_whitespace() => {}
            _ if begins => {
                heads.push(name(&group[at..]).to_owned());
                begins = false;
            }
            _ => {}
        }
    }
    heads
}

/// A crate is used only by the layers that the table allows it to. Returns the crates that the file uses, and
/// complaints.
pub fn crates(table: &[Crate], source: &Source) -> (Vec<String>, Vec<String>) {
    let (mut met, mut complaints) = (Vec::new(), Vec::new());
    for known in table {
        let ident = known.name.replace('-', "_");
        let path = format!("{ident}::");
        let used = format!("use {ident}");
        let by_path = after(&source.code, &path).next().map(|(at, _)| at);
        let by_use = after(&source.code, &used)
            .find(|(_, rest)| rest.starts_with([';', ' ', '{', ':']))
            .map(|(at, _)| at);
        let Some(at) = by_path.or(by_use) else { continue };
        met.push(known.name.clone());
        if !known.layers.iter().any(|layer| layer == source.layer()) {
            complaints.push(format!(
                "{}: `{}` uses the crate `{}`, which is for {} (STYLE.md). Keep it there, behind a type of placet's own",
                source.place(at),
                source.layer(),
                known.name,
                known.layers.join(", ")
            ));
        }
    }
    (met, complaints)
}

/// Names that some files must not use, beyond layers and crates, and the reason.
struct Foreign {
    below: &'static [&'static str],
    but: &'static [&'static str],
    names: &'static [&'static str],
    why: &'static str,
}

const FOREIGN: &[Foreign] = &[
    Foreign {
        below: &[
            "src/search/",
            "src/placing/",
            "src/policy/",
            "src/model/batch/decide/",
            "src/model/batch/state.rs",
        ],
        but: &[],
        names: &[
            "std::fs",
            "std::net",
            "std::thread",
            "Instant",
            "SystemTime",
            "Utc::now",
            "Uuid::new_v4",
        ],
        why: "this module is pure: a time, a seed or a row comes in as an argument",
    },
    Foreign {
        below: &["src/wire/"],
        but: &[],
        names: &[
            "std::fs",
            "std::net",
            "std::thread",
            "Instant",
            "SystemTime",
            "Utc::now",
        ],
        why: "wire turns bytes into requests and answers into bytes, and nothing else",
    },
    Foreign {
        below: &[
            "src/model/batch/decide/",
            "src/model/batch/state.rs",
            "src/model/batch/command.rs",
        ],
        but: &[],
        names: &["diesel", "crate::db", "DbConnection"],
        why: "decisions know no database: read in model/batch/batch_rows.rs, write in model/batch/save",
    },
    Foreign {
        below: &["src/api/handlers/allocation_candidates.rs"],
        but: &[],
        names: &["read(", "submit(", "DbConnection"],
        why: "candidates come from the snapshot alone, without SQL (ARCHITECTURE.md, rule 4)",
    },
    Foreign {
        below: &["src/api/"],
        but: &[],
        names: &["conn", "DbConnection"],
        why: "handlers take no connection: give `context.reader()` to a function of the noun in src/model/",
    },
    Foreign {
        below: &["src/"],
        but: &["src/db/"],
        names: &["sql_query"],
        why: "SQL as text is only in src/db/: move it there, or write it with diesel",
    },
    Foreign {
        below: &["src/"],
        but: &["src/config/", "src/cli/logging.rs", "src/main.rs", "src/mutants.rs"],
        names: &["std::env", "env::var", "env::vars", "env::vars_os"],
        why: "the environment is read once, by config: add an option",
    },
    Foreign {
        below: &["src/"],
        but: &[],
        names: &["println!", "eprintln!", "print!", "eprint!"],
        why: "they panic on a full disk, and only the command line talks to a terminal: use log, or cli/stderr.rs",
    },
    Foreign {
        below: &["src/"],
        but: &[],
        names: &["static mut", "thread_local!", "todo!", "unimplemented!", "dbg!"],
        why: "no global state and no unfinished code: pass values as arguments, and finish the code",
    },
];

/// The files and folders that the rules of names are about. A test checks that they exist, because a rule about a
/// missing path never complains.
pub fn paths() -> impl Iterator<Item = &'static str> {
    FOREIGN
        .iter()
        .flat_map(|rule| rule.below.iter().chain(rule.but))
        .copied()
}

pub fn foreign(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let here = |paths: &[&str]| paths.iter().any(|path| source.path.starts_with(path));
    for rule in FOREIGN.iter().filter(|rule| here(rule.below) && !here(rule.but)) {
        for name in rule.names {
            let whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            if let Some(at) = word_places(&source.code, name).find(|at| whole(&source.code[at + name.len()..])) {
                complaints.push(format!("{}: `{name}`: {}", source.place(at), rule.why));
            }
        }
    }
    complaints
}

fn word_places<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> {
    code.match_indices(word).map(|(at, _)| at).filter(|at| {
        let before = code[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Complaints about panics outside of tests without a reason why they cannot happen.
pub fn panics(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for call in [
        ".unwrap()",
        ".unwrap_err()",
        "panic!",
        "unreachable!",
        ".expect(",
        ".expect_err(",
    ] {
        for (at, _) in source.code.match_indices(call) {
            let starts_a_name = source.code[..at]
                .chars()
                .next_back()
                .is_some_and(|c| c.is_alphanumeric() || c == '_');
            if starts_a_name && !call.starts_with('.') {
                continue;
            }
            let argument = source.text[at + call.len()..].trim_start();
            let said = argument
                .strip_prefix('"')
                .and_then(|text| text.split('"').next())
                .unwrap_or_default();
            let explained = call == ".expect(" && said.split_whitespace().count() >= 3;
            if !explained && !has_remark(source, at) {
                complaints.push(format!(
                    "{}: `{call}` without a reason why it cannot happen: return an Error, or write \
                     `.expect(\"three words or more that say why\")` or a `//` remark on the line or the one above",
                    source.place(at)
                ));
            }
        }
    }
    complaints
}

/// Whether there is a remark on the line of `at`, or on a line of its own above.
fn has_remark(source: &Source, at: usize) -> bool {
    let is_remark = |text: &str| text.starts_with("// ");
    let line = source.line(at);
    let mut lines = source.text.lines();
    let above = (line > 0)
        .then(|| lines.nth(line - 1))
        .flatten()
        .is_some_and(|text| is_remark(text.trim_start()));
    let start: usize = source.text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = source.text[at..]
        .find('\n')
        .map_or(source.text.len(), |found| at + found);
    let beside = source.text[start..end]
        .match_indices("// ")
        .any(|(found, _)| source.code[start + found..end].trim().is_empty());
    above || beside
}

/// Complaints about words that postpone work, and about attributes that hide warnings.
pub fn postponed(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for word in ["TODO", "FIXME", "XXX", "HACK"] {
        if let Some(at) = word_places(&source.text, word).next() {
            complaints.push(format!(
                "{}: `{word}`: do it, or open an issue and leave no mark",
                source.place(at)
            ));
        }
    }
    for attribute in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
        for (at, _) in source.code.match_indices(attribute) {
            let text = &source.text[at..];
            let inside = &text[..text.find(")]").unwrap_or(text.len())];
            if inside.contains("dead_code") || inside.contains("unused") {
                complaints.push(format!("{}: unused code is deleted, not allowed", source.place(at)));
            } else if !inside.contains("reason") && !has_remark(source, at) {
                complaints.push(format!("{}: `{attribute}…` without `reason = \"…\"`", source.place(at)));
            }
        }
    }
    complaints
}

/// A complaint about a file that is too long.
pub fn length(excused: &[&str], file: &File) -> Option<String> {
    const MOST: usize = 500;
    let lines = file.text.lines().count();
    (lines > MOST && !excused.contains(&file.path.as_str())).then(|| {
        format!(
            "{}: {lines} lines, but the most are {MOST}: move a part with a name of its own to a file of its own",
            file.path
        )
    })
}

/// A complaint about a path that only one machine has. The project names files relative to its root.
pub fn machine_paths(file: &File) -> Option<String> {
    // Spelled in parts, so that this file does not contain them.
    let roots = ["home", "root", "work", "Users"].map(|name| format!("/{name}/"));
    let own = |at: usize| {
        let before = file.text[..at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "\"'`(=".contains(c))
    };
    let found = roots.iter().flat_map(|root| file.text.match_indices(root.as_str()));
    let (at, root) = found.filter(|(at, _)| own(*at)).min()?;
    let line = file.text[..at].matches('\n').count() + 1;
    Some(format!(
        "{}:{line}: only one machine has `{root}`: name paths relative to the project's root",
        file.path
    ))
}

/// The `match` that turns errors into statuses names every error.
pub fn exhaustive(errors: &Source) -> Vec<String> {
    let wildcard = errors.code.match_indices("_ =>").map(|(at, _)| at);
    wildcard
        .map(|at| {
            format!(
                "{}: `_ =>` hides errors that will be added: name each variant of Error with its status and code",
                errors.place(at)
            )
        })
        .collect()
}
