//! Reads a Rust file as the rules want it: the text, and the same text with everything blanked that is not code of the
//! program (comments, the inside of texts, test modules). Both have the same length, so places are the same in both.

use std::collections::BTreeSet;
use std::path::Path;

/// A file of the project; `path` is relative to its root, with `/`.
pub struct File {
    pub path: String,
    pub text: String,
}

/// A Rust file of `src/` that is not a test's.
pub struct Source {
    pub path: String,
    pub text: String,
    pub code: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code: without_test_items(&code(text)).0,
        }
    }

    /// The room it belongs to: the first name below `src/`.
    pub fn room(&self) -> &str {
        let below = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let first = below.split('/').next().unwrap_or(below);
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// How many `super::` lead from here to the crate.
    pub fn depth(&self) -> usize {
        let names = self.path.trim_start_matches("src/").split('/').count();
        match self.path.rsplit('/').next() {
            Some("mod.rs" | "lib.rs" | "main.rs") => names - 1,
            _ => names,
        }
    }

    /// `path:line` of a place in the text.
    pub fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path, self.line(at) + 1)
    }

    pub fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count()
    }
}

/// Every file below `root` whose name ends so, without what is built, installed or hidden.
pub fn files(root: &Path, below: &str, endings: &[&str]) -> Vec<File> {
    let mut found = Vec::new();
    let mut left = vec![root.join(below)];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory of the project can be read") {
            let path = entry.expect("an entry of a directory can be read").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default()
                .to_owned();
            if name.starts_with('.') || ["target", "__pycache__"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                left.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let path_text = relative.to_string_lossy().replace('\\', "/");
                let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path_text}: {error}"));
                found.push(File { path: path_text, text });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The Rust files of the program, without those that belong to a test module.
pub fn sources(root: &Path) -> Vec<Source> {
    let files = files(root, "src", &[".rs"]);
    let tests: BTreeSet<String> = files
        .iter()
        .flat_map(|file| {
            let directory = module_directory(&file.path);
            let modules = without_test_items(&code(&file.text)).1;
            modules.into_iter().map(move |name| format!("{directory}/{name}"))
        })
        .collect();
    let is_test = |path: &str| {
        tests
            .iter()
            .any(|test| path == format!("{test}.rs") || path.starts_with(&format!("{test}/")))
    };
    files
        .iter()
        .filter(|file| !is_test(&file.path))
        .map(|file| Source::new(&file.path, &file.text))
        .collect()
}

/// Where the modules that a file declares have theirs.
fn module_directory(path: &str) -> String {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => directory.to_owned(),
        _ => format!("{directory}/{}", name.trim_end_matches(".rs")),
    }
}

/// The text with comments and the insides of texts and characters blanked.
pub fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let is_name = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let end = if rest.starts_with(b"//") {
            at + find(rest, b"\n").unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            at + block_comment(rest)
        } else if let Some(length) = (!is_name).then(|| raw_text(rest)).flatten() {
            at + length
        } else if rest[0] == b'"' {
            at + quoted(rest, b'"')
        } else if let Some(length) = character(rest) {
            at + length
        } else {
            at += 1;
            continue;
        };
        let keep_quotes = usize::from(rest[0] != b'/');
        for byte in &mut out[at + keep_quotes..end - keep_quotes] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8(out).expect("whole characters were blanked")
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// `r"…"`, `r#"…"#`, `br"…"`: how long it is.
fn raw_text(rest: &[u8]) -> Option<usize> {
    let prefix = usize::from(rest[0] == b'b');
    if rest.get(prefix) != Some(&b'r') {
        return None;
    }
    let hashes = rest[prefix + 1..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix + 1 + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let close = [b"\"", "#".repeat(hashes).as_bytes()].concat();
    Some(find(&rest[open + 1..], &close).map_or(rest.len(), |found| open + 1 + found + close.len()))
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// A character literal, which a lifetime is not.
fn character(rest: &[u8]) -> Option<usize> {
    if rest[0] != b'\'' {
        return None;
    }
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\''));
    }
    let width = std::str::from_utf8(&rest[1..rest.len().min(5)])
        .or_else(|error| std::str::from_utf8(&rest[1..=error.valid_up_to().max(1)]))
        .ok()?
        .chars()
        .next()?
        .len_utf8();
    (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

const TEST: &str = "#[cfg(test)]";

/// Blanks what stands under `#[cfg(test)]`, and says which modules with files of their own that are.
fn without_test_items(code: &str) -> (String, Vec<String>) {
    let mut out = code.to_owned();
    let mut modules = Vec::new();
    while let Some(start) = out.find(TEST) {
        let mut item = start + TEST.len();
        // Further attributes belong to it.
        while let Some(attribute) = out[item..].trim_start().strip_prefix("#[") {
            item = out.len() - attribute.len() + attribute.find(']').map_or(attribute.len(), |end| end + 1);
        }
        let text = &out[item..];
        let end = item
            + match (text.find('{'), text.find(';')) {
                (Some(brace), Some(semicolon)) if brace < semicolon && !text.trim_start().starts_with("use ") => {
                    brace + matching_brace(&text[brace..])
                }
                (_, Some(semicolon)) => semicolon + 1,
                (Some(brace), None) => brace + matching_brace(&text[brace..]),
                (None, None) => text.len(),
            };
        let declared = out[item..end]
            .trim()
            .trim_start_matches("pub ")
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'));
        modules.extend(declared.map(|name| name.trim().to_owned()));
        let blank: String = out[start..end]
            .chars()
            .map(|c| if c == '\n' { '\n' } else { ' ' })
            .collect();
        // What is blanked is code: ASCII, or names that are, so that the length stays.
        if blank.len() == end - start {
            out.replace_range(start..end, &blank);
        } else {
            out.replace_range(start..start + TEST.len(), &" ".repeat(TEST.len()));
        }
    }
    (out, modules)
}

fn matching_brace(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// The names that start with `prefix` and stand by themselves, with their places: what comes after the prefix.
pub fn after<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    code.match_indices(prefix).filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back();
        let alone = !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
        alone.then(|| (at, &code[at + prefix.len()..]))
    })
}

/// The leading name of a text.
pub fn name(text: &str) -> &str {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_left() {
        let text =
            "let a = \"crate::x \\\" y\"; // crate::y\nlet b = 'c'; /* crate::z /* w */ */ fn f<'a>(x: &'a str) {}";
        let left = code(text);
        assert_eq!(left.len(), text.len());
        assert!(
            !left.contains("crate") && !left.contains('y') && !left.contains('w'),
            "{left}"
        );
        assert!(left.contains("fn f<'a>(x: &'a str) {}"), "{left}");
        let raw = code("r#\"crate::a \" {\"# ; br\"{\" ; b'{' ; '\\'' ; 'ß' ; end");
        assert!(
            !raw.contains("crate") && !raw.contains('{') && raw.ends_with("end"),
            "{raw}"
        );
    }

    #[test]
    fn test_items_are_left_out() {
        let text = "use a;\n#[cfg(test)]\nmod probes;\n#[cfg(test)]\nuse x::{y, z};\nfn b() {}\n\
                    #[cfg(test)]\n#[allow(x)]\nmod tests { fn c() { \"}\" } }\nfn d() {}";
        let (left, modules) = without_test_items(&code(text));
        assert_eq!(modules, ["probes"]);
        assert!(!left.contains("fn c") && !left.contains("x::"), "{left}");
        assert!(left.contains("fn b") && left.contains("fn d"), "{left}");
    }

    #[test]
    fn a_file_knows_its_room_and_depth() {
        let of = |path| Source::new(path, "");
        assert_eq!(
            (of("src/api/gate.rs").room(), of("src/api/gate.rs").depth()),
            ("api", 2)
        );
        assert_eq!((of("src/api/mod.rs").room(), of("src/api/mod.rs").depth()), ("api", 1));
        assert_eq!((of("src/error.rs").room(), of("src/error.rs").depth()), ("error", 1));
        assert_eq!(of("src/model/decide/traits.rs").depth(), 3);
        assert_eq!(module_directory("src/wire/json.rs"), "src/wire/json");
    }
}
