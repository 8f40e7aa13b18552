//! Formats values as Python's `repr`, and as the `pprint` with which `jsonschema` shows schemas and instances.

use super::cut::cut_at;
use super::value::{Json, lone_surrogate};

/// The line width in `jsonschema`'s call of `pprint`.
const WIDTH: usize = 72;

/// The maximum length of a part of an error message: a request of megabytes is not sent back.
const MAX_PART_BYTES: usize = 16 * 1024;

/// `repr(value)`, cut off if too long for an error message.
pub fn repr(value: &Json) -> String {
    write(value, MAX_PART_BYTES).0
}

/// `repr(text)`, cut off if too long for an error message.
pub fn repr_str(text: &str) -> String {
    let mut out = String::new();
    write_str(text, MAX_PART_BYTES, &mut out);
    out
}

/// `repr` of several strings, separated by commas. Cut off if too long for an error message.
pub fn repr_all<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for (index, item) in items.into_iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        write_str(item, MAX_PART_BYTES, &mut out);
        if out.len() > MAX_PART_BYTES {
            break;
        }
    }
    cut(out)
}

/// `repr` of a list of strings.
pub fn repr_list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", repr_all(items))
}

/// `pprint.pformat(value, width=72, sort_dicts=False)` with every line after the first indented by four columns.
pub fn pretty(value: &Json) -> String {
    let mut printer = Printer { out: String::new() };
    printer.format(value, 0, 0, true);
    cut(printer.out).replace('\n', "\n    ")
}

/// Cuts off a text if too long for an error message.
pub fn cut(text: String) -> String {
    cut_at(text, MAX_PART_BYTES)
}

/// The `repr` of a value, and whether the `repr` is complete: writing stops soon after `limit` bytes.
fn write(value: &Json, limit: usize) -> (String, bool) {
    let mut out = String::new();
    let complete = write_value(value, limit, &mut out);
    (out, complete)
}

fn write_value(value: &Json, limit: usize, out: &mut String) -> bool {
    match value {
        Json::Null => out.push_str("None"),
        Json::Bool(true) => out.push_str("True"),
        Json::Bool(false) => out.push_str("False"),
        Json::Int(number) => out.push_str(&number.to_string()),
        Json::BigInt(digits) => out.push_str(digits),
        Json::Float(number) => out.push_str(&repr_float(*number)),
        Json::String(text) => write_str(text, limit, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                if !write_value(item, limit, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Json::Object(object) => {
            out.push('{');
            for (index, (key, item)) in object.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_str(key, limit, out);
                out.push_str(": ");
                if !write_value(item, limit, out) {
                    return false;
                }
            }
            out.push('}');
        }
    }
    out.len() <= limit
}

/// Writes at least `limit` bytes, if the text has enough. A text of megabytes is cut off before quoting.
fn write_str(text: &str, limit: usize, out: &mut String) {
    // A byte more than the limit, so the caller sees a result beyond the limit.
    let text = prefix(text, limit + 1);
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            c if is_printable(c) => out.push(c),
            c if lone_surrogate(c).is_some() => {
                out.push_str(&format!("\\u{:04x}", lone_surrogate(c).unwrap_or_default()))
            }
            c => out.push_str(&match u32::from(c) {
                code @ 0..0x100 => format!("\\x{code:02x}"),
                code @ 0x100..0x10000 => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
        }
    }
    out.push(quote);
}

/// The first `bytes` of a text, up to the end of a character.
fn prefix(text: &str, bytes: usize) -> &str {
    let end = (bytes..text.len()).find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(text.len())]
}

/// Python's `str.isprintable`. Rust's debug form escapes the same categories of Unicode. The debug form also escapes a
/// combining mark after a quote, so a letter is put before the character.
fn is_printable(c: char) -> bool {
    let mut bytes = [b'a', 0, 0, 0, 0];
    let length = 1 + c.encode_utf8(&mut bytes[1..]).len();
    let text = std::str::from_utf8(&bytes[..length]).expect("a letter and a character are UTF-8");
    text.escape_debug().nth(1) != Some('\\')
}

/// The shortest digits which parse to `number`, with an exponent from 1e16 on and below 1e-4.
fn repr_float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        exponent @ -4..16 => match format!("{number}") {
            text if exponent >= 0 && !text.contains('.') => format!("{text}.0"),
            text => text,
        },
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
    }
}

/// The width of a text: a column for each character.
fn columns(text: &str) -> usize {
    text.chars().count()
}

struct Printer {
    out: String,
}

impl Printer {
    /// Writes `value` from column `indent` on, and leaves `allowance` columns free after the value. `outermost` marks
    /// the top-level value.
    fn format(&mut self, value: &Json, indent: usize, allowance: usize, outermost: bool) {
        let free_columns = WIDTH.saturating_sub(indent + allowance);
        // A character has at most four bytes, so beyond this the line is too long in any case.
        let (line, complete) = write(value, 4 * WIDTH);
        let fits = complete && columns(&line) <= free_columns;
        match value {
            Json::Object(object) if !fits => {
                self.out.push('{');
                for (index, (key, item)) in object.iter().enumerate() {
                    if self.out.len() > MAX_PART_BYTES {
                        return;
                    }
                    self.next_line(index, indent + 1);
                    let key = repr_str(key);
                    self.out.push_str(&key);
                    self.out.push_str(": ");
                    let free = if index + 1 == object.len() { allowance + 1 } else { 1 };
                    self.format(item, indent + 1 + columns(&key) + 2, free, false);
                }
                self.out.push('}');
            }
            Json::Array(items) if !fits => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if self.out.len() > MAX_PART_BYTES {
                        return;
                    }
                    self.next_line(index, indent + 1);
                    let free = if index + 1 == items.len() { allowance + 1 } else { 1 };
                    self.format(item, indent + 1, free, false);
                }
                self.out.push(']');
            }
            Json::String(text) if !fits && !text.is_empty() => self.long_string(text, indent, allowance, outermost),
            _ => self.out.push_str(&line),
        }
    }

    fn next_line(&mut self, index: usize, indent: usize) {
        if index > 0 {
            self.out.push_str(",\n");
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }

    /// Writes a string too long for the line as several strings, split after spaces, each on a line.
    fn long_string(&mut self, text: &str, indent: usize, allowance: usize, outermost: bool) {
        let (indent, allowance) = if outermost {
            (indent + 1, allowance + 1)
        } else {
            (indent, allowance)
        };
        let free_columns = WIDTH.saturating_sub(indent);
        // `cut` removes the text after `MAX_PART_BYTES`, so the text behind is not split.
        let text = prefix(text, MAX_PART_BYTES + 1);
        let chunks = chunks(text, free_columns, free_columns.saturating_sub(allowance));
        if let [only] = chunks.as_slice() {
            self.out.push_str(only);
            return;
        }
        let separator = format!("\n{}", " ".repeat(indent));
        let joined = chunks.join(&separator);
        if outermost {
            self.out.extend(["(", &joined, ")"]);
        } else {
            self.out.push_str(&joined);
        }
    }
}

/// Splits `text` into quoted chunks of at most `free_columns` columns, the last of at most `last_free_columns`. Keeps
/// words whole.
fn chunks(text: &str, free_columns: usize, last_free_columns: usize) -> Vec<String> {
    let mut chunks = Vec::new();
    let lines = lines(text);
    for (index, line) in lines.iter().enumerate() {
        let last_line = index + 1 == lines.len();
        let complete = repr_str(line);
        if columns(&complete) <= if last_line { last_free_columns } else { free_columns } {
            chunks.push(complete);
            continue;
        }
        let words = words(line);
        let mut current = String::new();
        for (index, word) in words.iter().enumerate() {
            let last = last_line && index + 1 == words.len();
            let candidate = format!("{current}{word}");
            if columns(&repr_str(&candidate)) <= if last { last_free_columns } else { free_columns } {
                current = candidate;
            } else {
                if !current.is_empty() {
                    chunks.push(repr_str(&current));
                }
                current = (*word).to_owned();
            }
        }
        chunks.push(repr_str(&current));
    }
    chunks
}

/// Python's `str.splitlines(keepends=True)`.
fn lines(text: &str) -> Vec<&str> {
    const ENDS: [char; 10] = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}',
    ];
    split_after(text, |rest| {
        let end = rest.find(ENDS)?;
        Some(if rest[end..].starts_with("\r\n") {
            end + 2
        } else {
            end + rest[end..].chars().next()?.len_utf8()
        })
    })
}

/// The words of a text, each with the trailing spaces.
fn words(text: &str) -> Vec<&str> {
    split_after(text, |rest| {
        let space = rest.find(is_space)?;
        Some(space + rest[space..].find(|c| !is_space(c))?)
    })
}

/// Python's `str.strip()`, which unlike Rust counts the ASCII separators as blanks.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Whether Python's `\s` matches.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Splits `text` repeatedly at the offset from `next` in the rest.
fn split_after(mut text: &str, next: impl Fn(&str) -> Option<usize>) -> Vec<&str> {
    let mut pieces = Vec::new();
    while let Some(end) = next(text) {
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    if !text.is_empty() {
        pieces.push(text);
    }
    pieces
}

#[cfg(test)]
mod tests;
