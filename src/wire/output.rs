//! Helpers for answers: JSON bytes, version-dependent fields, objects made of pairs.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::value::Value;
use crate::model::pages::PAGE_BYTES;
use crate::version::Version;

/// The value of a field from version `first` on; `None` in earlier versions.
pub fn since<T>(version: Version, first: Version, value: T) -> Option<T> {
    (version >= first).then_some(value)
}

/// Serialises a body.
pub fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("answers have texts for keys and write to memory")
}

/// Appends `lead` and the JSON of a value.
pub fn append(out: &mut Vec<u8>, lead: &str, value: &(impl Serialize + ?Sized)) {
    out.extend_from_slice(lead.as_bytes());
    serde_json::to_writer(out, value).expect("answers have texts for keys and write to memory");
}

/// Appends `lead` and the JSON of a list, which ends early at [`PAGE_BYTES`]. Returns the written items.
pub fn append_page<'a, T, S: Serialize>(
    out: &mut Vec<u8>,
    lead: &str,
    items: &'a [T],
    written: impl Fn(&'a T) -> S,
) -> &'a [T] {
    out.extend_from_slice(lead.as_bytes());
    out.push(b'[');
    let begin = out.len();
    let mut count = 0;
    for item in items {
        append(out, if count == 0 { "" } else { "," }, &written(item));
        count += 1;
        if out.len() - begin >= PAGE_BYTES {
            break;
        }
    }
    out.push(b']');
    &items[..count]
}

/// Appends a comma before an item, except before the first item.
pub fn separate(out: &mut Vec<u8>, begun: &mut bool) {
    if std::mem::replace(begun, true) {
        out.push(b',');
    }
}

/// Appends a text in quotes. Fast for names and uuids, which rarely need escapes.
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

/// A destination for an answer: a buffer, or a counter of the length.
pub trait Out {
    fn put(&mut self, bytes: &[u8]);

    /// The number of bytes.
    fn length(&self) -> usize;

    /// Appends a whole number.
    fn digits(&mut self, number: i64) {
        self.put(itoa::Buffer::new().format(number).as_bytes());
    }
}

impl Out for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn length(&self) -> usize {
        self.len()
    }
}

/// Counts bytes without storing the bytes.
#[derive(Default)]
pub struct Length(pub usize);

impl Out for Length {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }

    fn length(&self) -> usize {
        self.0
    }
}

/// A text in which each occurrence of a word, for example a uuid, is replaced by a word of the same length.
pub struct WordTemplate {
    text: Vec<u8>,
    /// The offsets of the word.
    places: Vec<usize>,
    length: usize,
}

impl WordTemplate {
    /// Makes a template from a `text` with `word`. `None` unless the word occurs exactly `places` times.
    pub fn of(text: &[u8], word: &[u8], places: usize) -> Option<WordTemplate> {
        let windows = text.windows(word.len()).enumerate();
        let found = windows.filter(|(_, window)| *window == word);
        let template = WordTemplate {
            text: text.to_vec(),
            places: found.map(|(at, _)| at).collect(),
            length: word.len(),
        };
        (template.places.len() == places).then_some(template)
    }

    /// Appends the text with a new word. If the length of the new word differs, appends nothing and returns false.
    pub fn fill(&self, out: &mut Vec<u8>, word: &[u8]) -> bool {
        if word.len() != self.length {
            return false;
        }
        let begin = out.len();
        out.extend_from_slice(&self.text);
        let copy = &mut out[begin..];
        for &at in &self.places {
            copy[at..at + self.length].copy_from_slice(word);
        }
        true
    }
}

/// An object, as the pairs of its members.
#[derive(JsonSchema)]
#[schemars(inline, with = "BTreeMap<String, V>", description = "")]
pub struct Members<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Members<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<K, V> FromIterator<(K, V)> for Members<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Members(pairs.into_iter().collect())
    }
}

/// The object of these amounts.
pub fn amounts(pairs: &[(Arc<str>, i64)]) -> Members<&str, i64> {
    pairs.iter().map(|(class, amount)| (&**class, *amount)).collect()
}

/// An integer or a float. JSON does not distinguish the two, but clients distinguish `8` from `8.0`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    /// The number of a value, in the spelling of the client; `None` if the value is not a number.
    pub fn from_value(value: &Value) -> Option<Number> {
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

/// A link.
#[derive(Serialize, JsonSchema)]
pub struct Link<'a> {
    /// The kind of the related resource.
    pub rel: &'a str,
    /// A URL, relative to the host.
    pub href: String,
}
