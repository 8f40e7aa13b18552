//! Finds comments and literals in Rust and Python, as precisely as the rules need. The rest is code.

use std::ops::Range;

/// The kinds of text that are not code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Comment,
    /// A string or a character, with its quotes.
    Literal,
}

/// A comment or a literal, and its bytes.
pub type Piece = (Kind, Range<usize>);

/// The comments and literals of a Rust file, in order.
pub fn rust(text: &str) -> Vec<Piece> {
    pieces(text, |rest, inside_name| {
        if rest.starts_with(b"//") {
            Some((Kind::Comment, find(rest, b"\n").unwrap_or(rest.len())))
        } else if rest.starts_with(b"/*") {
            Some((Kind::Comment, block_comment(rest)))
        } else if let Some(length) = (!inside_name).then(|| raw_string(rest)).flatten() {
            Some((Kind::Literal, length))
        } else if rest[0] == b'"' {
            Some((Kind::Literal, quoted(rest, b"\"")))
        } else {
            Some((Kind::Literal, character(rest)?))
        }
    })
}

/// The comments and literals of a Python file, in order. Docstrings are literals.
pub fn python(text: &str) -> Vec<Piece> {
    pieces(text, |rest, _| match rest[0] {
        b'#' => Some((Kind::Comment, find(rest, b"\n").unwrap_or(rest.len()))),
        b'"' if rest.starts_with(b"\"\"\"") => Some((Kind::Literal, quoted(rest, b"\"\"\""))),
        b'\'' if rest.starts_with(b"'''") => Some((Kind::Literal, quoted(rest, b"'''"))),
        quote @ (b'"' | b'\'') => Some((Kind::Literal, quoted(rest, &[quote]))),
        _ => None,
    })
}

/// Collects what `begins` finds at each byte. Its arguments are the bytes from there on, and whether the byte continues
/// a name.
fn pieces(text: &str, begins: impl Fn(&[u8], bool) -> Option<(Kind, usize)>) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let inside_name = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        match begins(&bytes[at..], inside_name) {
            Some((kind, length)) => {
                found.push((kind, at..at + length));
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

/// The text with comments and the insides of literals blanked. The length stays the same.
pub fn code(text: &str, pieces: &[Piece]) -> String {
    let mut out = text.as_bytes().to_vec();
    for (kind, range) in pieces {
        let quote = usize::from(*kind == Kind::Literal);
        for byte in &mut out[range.start + quote..range.end - quote] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
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

/// The length of `r"…"`, `r#"…"#` or `br"…"`.
fn raw_string(rest: &[u8]) -> Option<usize> {
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

fn quoted(rest: &[u8], quote: &[u8]) -> usize {
    let mut at = quote.len();
    while at < rest.len() && !rest[at..].starts_with(quote) {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + quote.len()).min(rest.len())
}

/// The length of a character literal. A lifetime is none.
fn character(rest: &[u8]) -> Option<usize> {
    if rest[0] != b'\'' {
        return None;
    }
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b"'"));
    }
    let width = std::str::from_utf8(&rest[1..rest.len().min(5)])
        .or_else(|error| std::str::from_utf8(&rest[1..=error.valid_up_to().max(1)]))
        .ok()?
        .chars()
        .next()?
        .len_utf8();
    (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_left() {
        let text =
            "let a = \"crate::x \\\" y\"; // crate::y\nlet b = 'c'; /* crate::z /* w */ */ fn f<'a>(x: &'a str) {}";
        let left = code(text, &rust(text));
        assert_eq!(left.len(), text.len());
        assert!(
            !left.contains("crate") && !left.contains('y') && !left.contains('w'),
            "{left}"
        );
        assert!(left.contains("fn f<'a>(x: &'a str) {}"), "{left}");
        let raw = "r#\"crate::a \" {\"# ; br\"{\" ; b'{' ; '\\'' ; 'ß' ; end";
        let raw = code(raw, &rust(raw));
        assert!(
            !raw.contains("crate") && !raw.contains('{') && raw.ends_with("end"),
            "{raw}"
        );
    }

    #[test]
    fn comments_and_literals_of_python_are_found() {
        let text = "a = 'it\\'s # no' # yes\nb = \"\"\"a \"quoted\" text\"\"\"; c = f'{a}'\n# last";
        let found: Vec<&str> = python(text).into_iter().map(|(_, range)| &text[range]).collect();
        assert_eq!(
            found,
            [
                "'it\\'s # no'",
                "# yes",
                "\"\"\"a \"quoted\" text\"\"\"",
                "'{a}'",
                "# last"
            ]
        );
    }
}
