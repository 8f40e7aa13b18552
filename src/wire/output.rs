//! What all answers share: bytes of JSON, fields that came with a version, objects made of pairs.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::value::Value;
use crate::version::Version;

/// A field that exists since a version: written from then on, even where its value is `null`.
pub fn since<T>(version: Version, first: Version, value: T) -> Option<T> {
    (version >= first).then_some(value)
}

/// A body.
pub fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("answers have texts for keys and write to memory")
}

/// Puts `lead` and then a value to the end of what is written.
pub fn append(out: &mut Vec<u8>, lead: &str, value: &(impl Serialize + ?Sized)) {
    out.extend_from_slice(lead.as_bytes());
    serde_json::to_writer(out, value).expect("answers have texts for keys and write to memory");
}

/// Puts a text in quotes to the end of what is written. Names and uuids need no escapes, as a rule.
pub fn quote(out: &mut Vec<u8>, text: &str) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if text.bytes().all(is_plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        append(out, "", text);
    }
}

/// Puts a whole number to the end of what is written.
pub fn digits(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Where an answer goes that is written, or measured before.
pub trait Out {
    fn put(&mut self, bytes: &[u8]);
    /// A whole number.
    fn digits(&mut self, number: i64);
    /// How much there is.
    fn length(&self) -> usize;
}

impl Out for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn digits(&mut self, number: i64) {
        digits(self, number);
    }

    fn length(&self) -> usize {
        self.len()
    }
}

/// How long it is.
#[derive(Default)]
pub struct Length(pub usize);

impl Out for Length {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }

    fn digits(&mut self, number: i64) {
        self.0 += itoa::Buffer::new().format(number).len();
    }

    fn length(&self) -> usize {
        self.0
    }
}

/// A text in which one word of a certain length differs from time to time.
pub struct Form {
    text: Vec<u8>,
    /// Where the word stands.
    places: Vec<usize>,
    length: usize,
}

impl Form {
    /// As `text` is where the word is `word`; none if that is not in so many places of it.
    pub fn of(text: &[u8], word: &[u8], places: usize) -> Option<Form> {
        let windows = text.windows(word.len()).enumerate();
        let found = windows.filter(|(_, window)| *window == word);
        let form = Form {
            text: text.to_vec(),
            places: found.map(|(at, _)| at).collect(),
            length: word.len(),
        };
        (form.places.len() == places).then_some(form)
    }

    /// Puts the text to the end of what is written, with another word. Does nothing, and says so, if that has another length.
    pub fn fill(&self, out: &mut Vec<u8>, word: &[u8]) -> bool {
        if word.len() != self.length {
            return false;
        }
        let begin = out.len();
        out.extend_from_slice(&self.text);
        let new = &mut out[begin..];
        for &at in &self.places {
            new[at..at + self.length].copy_from_slice(word);
        }
        true
    }
}

/// An object, from pairs.
pub struct Pairs<'a, T>(pub &'a [(Arc<str>, T)]);

impl<T: Serialize> Serialize for Pairs<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (&**key, value)))
    }
}

/// An object, from whatever yields its members when it is written.
pub struct Map<F>(pub F);

impl<F, I, K, V> Serialize for Map<F>
where
    F: Fn() -> I,
    I: Iterator<Item = (K, V)>,
    K: Serialize,
    V: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map((self.0)())
    }
}

/// A number of any size and of either kind: JSON has one kind, but clients tell `8` from `8.0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    /// Rounded towards zero, and whole as far as digits go.
    pub fn truncated(number: f64) -> Number {
        let whole = number.trunc();
        if whole.abs() < 1e38 {
            Number::Whole(whole as i128)
        } else {
            Number::Float(whole)
        }
    }

    /// As a client wrote it; none if it is no number.
    pub fn written(value: &Value) -> Option<Number> {
        match value {
            Value::Int(number) => Some(Number::Whole(i128::from(*number))),
            Value::BigInt(digits) => digits
                .parse()
                .map_or_else(|_| value.float().map(Number::Float), |n| Some(Number::Whole(n))),
            Value::Float(number) => Some(Number::Float(*number)),
            _ => None,
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // Ordinary numbers take the ordinary way: not every serializer knows the other.
            Number::Whole(number) => match i64::try_from(*number) {
                Ok(number) => serializer.serialize_i64(number),
                Err(_) => serializer.serialize_i128(*number),
            },
            Number::Float(number) => serializer.serialize_f64(*number),
        }
    }
}

/// A link.
#[derive(Serialize)]
pub struct Link<'a> {
    pub rel: &'a str,
    pub href: String,
}
