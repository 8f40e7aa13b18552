//! The rules of lines: the columns of comments and documents, white space at the end of a line, and the last line.

use super::lexer::{self, Kind, Piece};
use super::source::File;

/// Pages that are generated, and the text of the licence.
const NOT_OURS: &[&str] = &["api-ref/", "LICENSE"];

/// The most columns of a line: `max_line_length` of all files in `.editorconfig`.
pub fn most_columns(editorconfig: &str) -> Option<usize> {
    let (_, section) = editorconfig.split_once("\n[*]\n")?;
    let settings = section.lines().take_while(|line| !line.starts_with('['));
    let mut values = settings.filter_map(|line| line.strip_prefix("max_line_length = "));
    values.next()?.trim().parse().ok()
}

/// Complaints about lines of comments and documents that are longer than `most` characters. Lines that cannot be broken
/// are excused: rows of tables, blocks of code, and a single word such as a URL.
pub fn columns(most: usize, file: &File) -> Vec<String> {
    if NOT_OURS.iter().any(|path| file.path.starts_with(path)) {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let written = written(file, &lines);
    let too_long = written.iter().filter_map(|text| {
        let columns = lines[text.line].chars().count();
        let breakable = !text.is_code && !text.words.starts_with('|') && without_mark(text.words).contains(' ');
        (columns > most && breakable).then(|| {
            format!(
                "{}:{}: {columns} columns, but comments and documents have at most {most} (.editorconfig)",
                file.path,
                text.line + 1
            )
        })
    });
    too_long.collect()
}

/// Complaints about white space at the end of a line, and about an end of the file that is not one line feed.
pub fn ends(file: &File) -> Vec<String> {
    let mut complaints: Vec<String> = (file.text.split('\n').enumerate())
        .filter(|(_, line)| line.ends_with(char::is_whitespace))
        .map(|(number, _)| format!("{}:{}: white space at the end of the line", file.path, number + 1))
        .collect();
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        complaints.push(format!("{}: the file has to end with one line feed", file.path));
    }
    complaints
}

/// The text of one line of a comment or a document.
struct Text<'a> {
    /// The index of the line in its file.
    line: usize,
    words: &'a str,
    is_code: bool,
}

fn written<'a>(file: &'a File, lines: &[&'a str]) -> Vec<Text<'a>> {
    let ending = file.path.rsplit('.').next().unwrap_or_default();
    let after = |mark| {
        let text = move |(line, text): (usize, &'a str)| Some((line, text.trim_start().strip_prefix(mark)?));
        lines.iter().copied().enumerate().filter_map(text)
    };
    match ending {
        "md" => in_markdown(lines.iter().copied().enumerate()),
        "rs" => in_markdown(in_comments(&file.text, &in_rust(&file.text), &["//!", "///", "//"])),
        "py" => plain(in_comments(&file.text, &in_python(&file.text), &["#"])),
        "sql" => plain(after("--")),
        _ => plain(after("#")),
    }
}

fn in_rust(text: &str) -> Vec<Piece> {
    let mut found = lexer::rust(text);
    found.retain(|(kind, _)| *kind == Kind::Comment);
    found
}

/// The comments and docstrings of a Python file.
fn in_python(text: &str) -> Vec<Piece> {
    let mut found = lexer::python(text);
    let code = lexer::code(text, &found);
    let is_docstring = |start: usize| {
        let before = code[..start].trim_end();
        text[start..].starts_with("\"\"\"") && (before.is_empty() || before.ends_with(':'))
    };
    found.retain(|(kind, range)| *kind == Kind::Comment || is_docstring(range.start));
    found
}

/// The lines of comments, without their marks.
fn in_comments<'a>(
    text: &'a str,
    comments: &[Piece],
    marks: &[&str],
) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
    let (mut found, mut line, mut counted) = (Vec::new(), 0, 0);
    for (_, range) in comments {
        line += text[counted..range.start].matches('\n').count();
        counted = range.start;
        for (number, words) in text[range.clone()].lines().enumerate() {
            let words = marks.iter().find_map(|mark| words.strip_prefix(mark)).unwrap_or(words);
            found.push((line + number, words));
        }
    }
    found.into_iter()
}

fn plain<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Text<'a>> {
    let text = |(line, words): (usize, &'a str)| Text {
        line,
        words: words.trim(),
        is_code: false,
    };
    lines.map(text).collect()
}

/// Lines with blocks of code: between fences, or indented by four columns after an empty line.
fn in_markdown<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Text<'a>> {
    let (mut found, mut inside_fence, mut open, mut last) = (Vec::new(), false, false, None);
    for (line, words) in lines {
        // Another comment begins.
        if last.is_some_and(|last: usize| last + 1 != line) {
            (inside_fence, open) = (false, false);
        }
        last = Some(line);
        let fence = words.trim_start().starts_with("```");
        inside_fence ^= fence;
        let indented = words.starts_with("    ") && !open;
        open = !words.trim().is_empty() && !indented && !fence;
        found.push(Text {
            line,
            words: words.trim(),
            is_code: fence || inside_fence || indented,
        });
    }
    found
}

/// A text without the mark of an item of a list, a quotation or a heading.
fn without_mark(words: &str) -> &str {
    let number = words.trim_start_matches(|c: char| c.is_ascii_digit());
    let marks = ["- ", "* ", "> ", ". "];
    let rest = marks.iter().find_map(|mark| number.strip_prefix(mark));
    rest.unwrap_or(words.trim_start_matches('#')).trim_start()
}
