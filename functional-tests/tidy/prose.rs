//! Extracts the prose of a file with its lines: comments, literals, names and documents.

use super::lexer::{self, Kind, Piece};
use super::source::File;
use super::tables;

/// The marks of Rust's comments.
const RUST_MARKS: &[&str] = &["//!", "///", "//"];

/// A comment, a literal, a name or a document. Words are separated by one space. Consecutive lines of a comment are one
/// piece.
#[derive(Debug)]
pub struct Prose {
    pub text: String,
    /// Offsets in the text, and the line of the file that begins at each.
    lines: Vec<(usize, usize)>,
    pub is_name: bool,
}

impl Prose {
    /// The line of the file, from 1, that has this byte of the text.
    pub fn line(&self, at: usize) -> usize {
        let next = self.lines.partition_point(|(begin, _)| *begin <= at);
        self.lines[next.saturating_sub(1)].1
    }

    fn empty(is_name: bool) -> Prose {
        Prose {
            text: String::new(),
            lines: Vec::new(),
            is_name,
        }
    }

    /// Adds lines of a file, the first of which is line `line`, without the marks that make comments of them.
    fn add(&mut self, lines: &str, line: usize, mark: &[&str]) {
        for (number, words) in lines.lines().enumerate() {
            let mut words = words.trim().trim_end_matches('\\').trim_end();
            if let Some(rest) = mark.iter().find_map(|mark| words.strip_prefix(mark)) {
                words = rest;
            }
            self.lines.push((self.text.len(), line + number));
            for word in words.split_whitespace() {
                self.text.push_str(word);
                self.text.push(' ');
            }
        }
    }
}

/// All prose of a file; none if the rules of prose do not know its kind.
pub fn prose(file: &File) -> Vec<Prose> {
    let (text, ending) = (file.text.as_str(), file.path.rsplit('.').next().unwrap_or_default());
    match ending {
        "rs" => of_code(text, &lexer::rust(text), RUST_MARKS),
        "py" => of_code(text, &lexer::python(text), &["#"]),
        "md" => whole(&document(&file.path, text), &[]),
        "txt" => of_lines(text, |line| line.starts_with('#').then_some(line), &["#"]),
        "sql" => of_lines(text, |line| line.find("--").map(|at| &line[at..]), &["--"]),
        "yaml" => of_lines(text, of_yaml, &["#"]),
        "sh" | "toml" | "ini" | "conf" => whole(text, &["#"]),
        "json" if file.path.starts_with("src/") => whole(text, &[]),
        _ => Vec::new(),
    }
}

/// The comments of a Rust file.
pub fn comments(text: &str) -> Vec<Prose> {
    let mut comments = lexer::rust(text);
    comments.retain(|(kind, _)| *kind == Kind::Comment);
    of_pieces(text, &comments, RUST_MARKS)
}

fn whole(text: &str, mark: &[&str]) -> Vec<Prose> {
    let mut prose = Prose::empty(false);
    prose.add(text, 1, mark);
    vec![prose]
}

/// The part of each line that `part` returns. Adjacent parts are one piece.
fn of_lines(text: &str, part: impl Fn(&str) -> Option<&str>, mark: &[&str]) -> Vec<Prose> {
    let mut found: Vec<Prose> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.lines().enumerate() {
        let taken = part(line);
        if let Some(words) = taken {
            if !goes_on {
                found.push(Prose::empty(false));
            }
            if let Some(last) = found.last_mut() {
                last.add(words, number + 1, mark);
            }
        }
        goes_on = taken.is_some();
    }
    found
}

/// The name of a gabbi test, or a comment.
fn of_yaml(line: &str) -> Option<&str> {
    let named = line.trim_start().trim_start_matches("- ");
    let name = ["name:", "desc:"].iter().find_map(|key| named.strip_prefix(key));
    name.or_else(|| {
        let comment = line.find(" #").map(|at| at + 1);
        comment.or(line.starts_with('#').then_some(0)).map(|at| &line[at..])
    })
}

/// Comments, literals of more than one word, and names.
fn of_code(text: &str, pieces: &[Piece], mark: &[&str]) -> Vec<Prose> {
    let mut found = of_pieces(text, pieces, mark);
    found.extend(names(&lexer::code(text, pieces)));
    found
}

/// Comments, and literals of more than one word.
fn of_pieces(text: &str, pieces: &[Piece], mark: &[&str]) -> Vec<Prose> {
    let mut found: Vec<Prose> = Vec::new();
    let (mut line, mut counted, mut comment_end) = (1, 0, None);
    for (kind, range) in pieces {
        line += text[counted..range.start].matches('\n').count();
        counted = range.start;
        let words = &text[range.clone()];
        let goes_on = comment_end.is_some_and(|end| {
            let between: &str = &text[end..range.start];
            between.trim().is_empty() && between.matches('\n').count() == 1
        });
        if *kind == Kind::Literal && !words.contains(char::is_whitespace) {
            continue;
        }
        if !(*kind == Kind::Comment && goes_on) {
            found.push(Prose::empty(false));
        }
        if let Some(last) = found.last_mut() {
            last.add(words, line, if *kind == Kind::Comment { mark } else { &[] });
        }
        comment_end = (*kind == Kind::Comment).then_some(range.end);
    }
    found
}

fn names(code: &str) -> Vec<Prose> {
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let names = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        for name in names.filter(|name| !name.is_empty()) {
            let mut prose = Prose::empty(true);
            prose.add(&apart(name), number + 1, &[]);
            found.push(prose);
        }
    }
    found
}

/// The words of `snake_case`, `CamelCase` and `CAPITALS`.
fn apart(name: &str) -> String {
    let mut words = String::new();
    let mut after_small = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && after_small) {
            words.push(' ');
        }
        if c != '_' {
            words.push(c);
        }
        after_small = c.is_lowercase() || c.is_ascii_digit();
    }
    words
}

/// A document without blocks of code. STYLE.md is also without the tables that show what not to write.
fn document(path: &str, text: &str) -> String {
    let mut inside_code = false;
    let examples = match path {
        "STYLE.md" => tables::places(text, &["avoid", "before"]),
        _ => Vec::new(),
    };
    let keep = |(number, line): (usize, &str)| {
        let fence = line.trim_start().starts_with("```");
        inside_code ^= fence;
        let kept = !inside_code && !fence && !examples.contains(&number);
        format!("{}\n", if kept { line } else { "" })
    };
    text.lines().enumerate().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str, text: &str) -> Vec<String> {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        prose(&file)
            .iter()
            .map(|prose| prose.text.trim().to_owned())
            .filter(|text| text.contains(' '))
            .collect()
    }

    #[test]
    fn rust_has_comments_literals_and_names() {
        let code = "//! One\n//! two.\n\n/// Three\nfn four_five() { f(\"six\", \"seven \\\n    eight\") } // Nine ten\n\
                    struct ElevenTwelve; // no\nconst T: &str = r#\"a \"b\" c\"#;";
        assert_eq!(
            texts("src/a.rs", code),
            [
                "One two.",
                "\"seven eight\"",
                "Nine ten",
                "r#\"a \"b\" c\"#",
                "four five",
                "Eleven Twelve"
            ]
        );
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let file = File {
            path: "src/a.rs".to_owned(),
            text: "fn f() {\n    // One\n    // two three\n}\n".to_owned(),
        };
        let prose = &prose(&file)[0];
        assert_eq!(prose.text, "One two three ");
        assert_eq!([0, 4, 8].map(|at| prose.line(at)), [2, 3, 3]);
    }

    #[test]
    fn other_files_have_prose_too() {
        assert_eq!(
            texts("a.py", "\"\"\"One\ntwo.\"\"\"\nx = 'three'  # four five\n"),
            ["\"\"\"One two.\"\"\"", "four five"]
        );
        assert_eq!(
            texts("a.yaml", "# One\n# two\n- name: three four\n  data:\n    name#x: y z\n"),
            ["One two three four"]
        );
        assert_eq!(texts("a.sql", "SELECT a; -- one\n-- two\nSELECT b;"), ["one two"]);
        assert_eq!(texts("a.sh", "# One\necho two"), ["One echo two"]);
        assert_eq!(texts("a.md", "One\n```\ntwo\n```\nthree\n"), ["One three"]);
        assert_eq!(
            texts(
                "STYLE.md",
                "One\n\n| avoid | write instead |\n|---|---|\n| `two` | three |\n\nfour\n"
            ),
            ["One four"]
        );
        assert!(texts("api-ref/a.json", "{\"a\": \"b c\"}").is_empty());
    }
}
