//! Reads the Rust files of the program. A file has its text, and a copy in which everything but code is blanked:
//! comments, the insides of literals, test modules. Both have the same length, so offsets are valid in both.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::lexer;

/// A file of the project; `path` is relative to its root, with `/`.
pub struct File {
    pub path: String,
    pub text: String,
}

/// A Rust file of `src/` that is not part of a test module.
pub struct Source {
    pub path: String,
    pub text: String,
    pub code: String,
}

/// The text of a Rust file with everything blanked that is not code.
fn code(text: &str) -> String {
    lexer::code(text, &lexer::rust(text))
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code: without_test_items(&code(text)).0,
        }
    }

    /// The layer it belongs to: the first name below `src/`.
    pub fn layer(&self) -> &str {
        let below = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let first = below.split('/').next().unwrap_or(below);
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// The number of `super::` that lead from here to the crate.
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

/// Every file below `root` with one of the endings, except built, installed and hidden files.
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

/// The folder of the modules that a file declares.
fn module_directory(path: &str) -> String {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => directory.to_owned(),
        _ => format!("{directory}/{}", name.trim_end_matches(".rs")),
    }
}

/// The next attribute `#[cfg(…)]` that is true only in tests.
pub fn test_attribute(code: &str) -> Option<Range<usize>> {
    code.match_indices("#[cfg(").find_map(|(start, _)| {
        let end = start + code[start..].find(")]")? + ")]".len();
        let attribute = &code[start..end];
        let names = attribute.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let of_tests = names.into_iter().any(|name| name == "test") && !attribute.contains("not(");
        of_tests.then_some(start..end)
    })
}

/// Blanks the items that exist only in tests, and returns the names of those that are modules with files of their own.
fn without_test_items(code: &str) -> (String, Vec<String>) {
    let mut out = code.to_owned();
    let mut modules = Vec::new();
    while let Some(Range { start, end: attribute }) = test_attribute(&out) {
        let mut item = attribute;
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
            .trim_start_matches("pub(crate) ")
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'));
        modules.extend(declared.map(|name| name.trim().to_owned()));
        let blank: String = out[start..end]
            .chars()
            .map(|c| if c == '\n' { '\n' } else { ' ' })
            .collect();
        // Code is ASCII, so the length stays.
        if blank.len() == end - start {
            out.replace_range(start..end, &blank);
        } else {
            out.replace_range(start..attribute, &" ".repeat(attribute - start));
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

/// What follows each `prefix` that is not the end of a longer name or path, with its offset.
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
    fn test_items_are_left_out() {
        let text = "use a;\n#[cfg(test)]\nmod probes;\n#[cfg(test)]\nuse x::{y, z};\nfn b() {}\n\
                    #[cfg(test)]\n#[allow(x)]\nmod tests { fn c() { \"}\" } }\nfn d() {}";
        let (left, modules) = without_test_items(&code(text));
        assert_eq!(modules, ["probes"]);
        assert!(!left.contains("fn c") && !left.contains("x::"), "{left}");
        assert!(left.contains("fn b") && left.contains("fn d"), "{left}");
        let text = "#[cfg(all(test, feature = \"a\"))]\nmod tests { fn c() {} }\n#[cfg(not(test))]\nfn d() {}";
        let (left, _) = without_test_items(&code(text));
        assert!(!left.contains("fn c") && left.contains("fn d"), "{left}");
    }

    #[test]
    fn a_file_knows_its_layer_and_depth() {
        let of = |path| Source::new(path, "");
        assert_eq!(
            (
                of("src/api/http/dispatch.rs").layer(),
                of("src/api/http/dispatch.rs").depth()
            ),
            ("api", 3)
        );
        assert_eq!((of("src/api.rs").layer(), of("src/api.rs").depth()), ("api", 1));
        assert_eq!((of("src/error.rs").layer(), of("src/error.rs").depth()), ("error", 1));
        assert_eq!(of("src/model/batch/decide/traits.rs").depth(), 4);
        assert_eq!(module_directory("src/wire/json.rs"), "src/wire/json");
    }
}
