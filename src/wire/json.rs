//! A JSON parser with the error messages of Python's `json.loads`, because clients match on the messages:
//! `Expecting value: line 1 column 1 (char 0)`.
//!
//! As in Python, `NaN` and infinities are accepted, and integers of more than 4300 digits are refused. Unlike in
//! Python, very deep nesting and millions of values are refused, which only an attack contains. Lone surrogates, which
//! no database can store, are refused too, but only if the rest of the body is right.
//!
//! As in Python, the last of two members of the same name counts. The native API refuses the second.

mod error;

use self::error::{JsonError, Parsed, fail};
use super::integer::{MAX_DIGITS, too_long};
use super::path::MemberPath;
use super::value::{Json, Object, lone_surrogate};
use crate::error::{Error, Result};

/// The limit on nesting. Valid bodies of the API have at most seven levels.
const MAX_DEPTH: usize = 300;

/// The limit on values. Each value takes many times its length in memory. A body of the greatest length has room for
/// less than half as many useful values.
const MAX_VALUES: usize = 4_000_000;

/// The members of the same name in an object.
#[derive(Clone, Copy, PartialEq)]
enum RepeatedMembers {
    /// The last value counts.
    Replace,
    AreRefused,
}

/// Parses a JSON document and validates the value with `validate`. Lone surrogates are refused last.
pub fn read(body: &[u8], validate: impl FnOnce(&Json) -> Result<()>) -> Result<Json> {
    read_with(RepeatedMembers::Replace, body, validate)
}

/// Parses a body of the native API.
///
/// # Errors
/// [`Error::MalformedJson`], or the path of a repeated member of an object.
pub fn read_native(body: &[u8]) -> Result<Json> {
    read_with(RepeatedMembers::AreRefused, body, |_| Ok(()))
}

fn read_with(repeated: RepeatedMembers, body: &[u8], validate: impl FnOnce(&Json) -> Result<()>) -> Result<Json> {
    let text = std::str::from_utf8(body).map_err(|error| Error::MalformedJson(decoding_problem(body, error)))?;
    let (value, lone_surrogate) = parse(text, repeated).or_else(|problem| problem.refusal(text))?;
    validate(&value)?;
    match lone_surrogate {
        // The surrogate may be in a member which a later member of the same name has replaced.
        Some(problem) if value.path_to_text(has_lone_surrogate).is_some() => problem.refusal(text),
        _ => Ok(value),
    }
}

fn has_lone_surrogate(text: &str) -> bool {
    text.chars().any(|c| lone_surrogate(c).is_some())
}

/// Python's message for bytes in an encoding other than UTF-8.
pub fn decoding_problem(bytes: &[u8], error: std::str::Utf8Error) -> String {
    let start = error.valid_up_to();
    let end = error.error_len().map_or(bytes.len(), |length| start + length);
    let reason = match (error.error_len(), bytes[start]) {
        (None, _) => "unexpected end of data",
        (Some(_), 0x80..=0xc1 | 0xf5..) => "invalid start byte",
        (Some(_), _) => "invalid continuation byte",
    };
    if end - start == 1 {
        format!(
            "'utf-8' codec can't decode byte 0x{:02x} in position {start}: {reason}",
            bytes[start]
        )
    } else {
        format!(
            "'utf-8' codec can't decode bytes in position {start}-{}: {reason}",
            end - 1
        )
    }
}

/// Parses the document. Also returns the error for the first lone surrogate.
fn parse(text: &str, repeated: RepeatedMembers) -> Parsed<(Json, Option<JsonError>)> {
    if text.starts_with('\u{feff}') {
        return fail("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0);
    }
    let mut parser = JsonParser {
        text,
        bytes: text.as_bytes(),
        repeated,
        at: 0,
        depth: 0,
        values: 0,
        lone_surrogate: None,
    };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    if parser.at < text.len() {
        return fail("Extra data", parser.at);
    }
    Ok((value, parser.lone_surrogate))
}

struct JsonParser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    repeated: RepeatedMembers,
    at: usize,
    depth: usize,
    values: usize,
    lone_surrogate: Option<JsonError>,
}

impl JsonParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self) -> Parsed<Json> {
        const WORDS: [(&str, Json); 6] = [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("NaN", Json::Float(f64::NAN)),
            ("Infinity", Json::Float(f64::INFINITY)),
            ("-Infinity", Json::Float(f64::NEG_INFINITY)),
        ];
        self.values += 1;
        if self.values > MAX_VALUES {
            return fail(&format!("More than {MAX_VALUES} values"), self.at);
        }
        match self.peek() {
            Some(b'"') => self.string().map(|text| Json::String(text.into())),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'0'..=b'9') => self.number(),
            _ => match WORDS.into_iter().find(|(word, _)| self.take(word)) {
                Some((_, value)) => Ok(value),
                None => self.number(),
            },
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Parsed<Json>) -> Parsed<Json> {
        if self.depth == MAX_DEPTH {
            return fail(&format!("More than {MAX_DEPTH} levels of nesting"), self.at);
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Parses an object after the `{`.
    fn object(&mut self) -> Parsed<Json> {
        let mut members = Vec::new();
        if self.take("}") {
            return Ok(Json::Object(members.into()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return fail("Expecting property name enclosed in double quotes", self.at);
            }
            let key = self.string()?;
            self.skip_space();
            if !self.take(":") {
                return fail("Expecting ':' delimiter", self.at);
            }
            self.skip_space();
            let value = self
                .value()
                .map_err(|error| error.in_path(|path| path.in_member(&key)))?;
            members.push((key.into(), value));
            if self.take_end(b'}')? {
                return self.object_of(members).map(Json::Object);
            }
        }
    }

    fn object_of(&self, members: Vec<(Box<str>, Json)>) -> Parsed<Object> {
        match self.repeated {
            RepeatedMembers::Replace => Ok(members.into()),
            RepeatedMembers::AreRefused => {
                Object::of_distinct(members).map_err(|name| JsonError::Repeated(MemberPath::of(&name)))
            }
        }
    }

    /// Parses an array after the `[`.
    fn array(&mut self) -> Parsed<Json> {
        let mut items = Vec::new();
        if self.take("]") {
            return Ok(Json::Array(items.into()));
        }
        loop {
            let at = items.len();
            items.push(self.value().map_err(|error| error.in_path(|path| path.in_item(at)))?);
            if self.take_end(b']')? {
                return Ok(Json::Array(items.into()));
            }
        }
    }

    /// After a member, consumes the end of the collection or a comma. Returns whether the collection ended.
    fn take_end(&mut self, end: u8) -> Parsed<bool> {
        self.skip_space();
        let found = self.peek();
        if found != Some(end) && found != Some(b',') {
            return fail("Expecting ',' delimiter", self.at);
        }
        self.at += 1;
        if found == Some(end) {
            return Ok(true);
        }
        self.skip_space();
        Ok(false)
    }

    fn string(&mut self) -> Parsed<String> {
        let begin = self.at;
        let mut string = String::new();
        self.at += 1;
        loop {
            let plain = self.at;
            while self
                .peek()
                .is_some_and(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\')
            {
                self.at += 1;
            }
            string.push_str(&self.text[plain..self.at]);
            match self.peek() {
                None => return fail("Unterminated string starting at", begin),
                Some(b'"') => break,
                Some(b'\\') => string.push(self.escape(begin)?),
                Some(_) => return fail("Invalid control character at", self.at),
            }
        }
        self.at += 1;
        Ok(string)
    }

    fn escape(&mut self, begin: usize) -> Parsed<char> {
        let at = self.at;
        self.at += 2;
        Ok(match self.bytes.get(at + 1) {
            None => return fail("Unterminated string starting at", begin),
            Some(&quoted @ (b'"' | b'\\' | b'/')) => char::from(quoted),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            Some(_) => return fail("Invalid \\escape", at),
        })
    }

    /// Parses the digits after `\u`. After a high surrogate also parses the low surrogate.
    fn code_point(&mut self) -> Parsed<char> {
        let at = self.at - 1;
        let mut code = u32::from(self.hex4()?);
        if (0xd800..0xdc00).contains(&code) && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.at;
            let low = u32::from(self.hex4()?);
            if (0xdc00..0xe000).contains(&low) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            } else {
                // Not a low surrogate: the next call parses the escape as a character.
                self.at = second - 2;
            }
        }
        if let Some(c) = char::from_u32(code) {
            return Ok(c);
        }
        self.lone_surrogate
            .get_or_insert_with(|| JsonError::At("Unpaired surrogate in a \\u escape".to_owned(), at));
        Ok(char::from_u32(code + 0x10_0000).expect("surrogates are mapped to private-use characters"))
    }

    fn hex4(&mut self) -> Parsed<u16> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        // Python requires a character after the digits, and checks this requirement first.
        match digits
            .filter(|_| self.at + 4 < self.bytes.len())
            .and_then(|hex| u16::from_str_radix(hex, 16).ok())
        {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => fail("Invalid \\uXXXX escape", self.at - 1),
        }
    }

    fn number(&mut self) -> Parsed<Json> {
        let begin = self.at;
        self.take("-");
        let digits = self.digits();
        let whole = if self.bytes.get(begin..).is_some_and(leading_zero) {
            1
        } else {
            digits
        };
        if whole == 0 {
            return fail("Expecting value", begin);
        }
        let mut end = self.at - digits + whole;
        let mut float = false;
        for part in [Self::fraction, Self::exponent] {
            self.at = end;
            if part(self) {
                end = self.at;
                float = true;
            }
        }
        self.at = end;
        let text = &self.text[begin..end];
        if float {
            return Ok(Json::Float(text.parse().unwrap_or(f64::NAN)));
        }
        if whole > MAX_DIGITS {
            return Err(JsonError::Unplaced(too_long(whole)));
        }
        Ok(text.parse().map_or_else(|_| Json::BigInt(text.into()), Json::Int))
    }

    fn digits(&mut self) -> usize {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - begin
    }

    fn fraction(&mut self) -> bool {
        self.take(".") && self.digits() > 0
    }

    fn exponent(&mut self) -> bool {
        if !(self.take("e") || self.take("E")) {
            return false;
        }
        let _signed = self.take("+") || self.take("-");
        self.digits() > 0
    }
}

/// Whether a number begins with a zero. The number ends after a leading zero.
fn leading_zero(number: &[u8]) -> bool {
    number.strip_prefix(b"-").unwrap_or(number).first() == Some(&b'0')
}

#[cfg(test)]
mod tests;
