//! Helpers for answers: JSON bytes, version-dependent fields, objects made of pairs.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::value::Json;
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

/// Appends a comma before an item, except before the first item.
pub fn separate(out: &mut Vec<u8>, begun: &mut bool) {
    if std::mem::replace(begun, true) {
        out.push(b',');
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

/// A text with gaps for a word, for example a uuid.
pub struct WordTemplate(Vec<Vec<u8>>);

impl WordTemplate {
    /// Makes a gap of each occurrence of `word` in the text.
    pub fn of(text: &[u8], word: &[u8]) -> WordTemplate {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.windows(word.len()).position(|window| window == word) {
            pieces.push(rest[..at].to_vec());
            rest = &rest[at + word.len()..];
        }
        pieces.push(rest.to_vec());
        WordTemplate(pieces)
    }

    /// The number of gaps.
    pub fn gaps(&self) -> usize {
        self.0.len() - 1
    }

    /// Appends the text with `word` in the gaps.
    pub fn fill(&self, out: &mut Vec<u8>, word: &[u8]) {
        let mut lead: &[u8] = b"";
        for piece in &self.0 {
            out.extend_from_slice(lead);
            out.extend_from_slice(piece);
            lead = word;
        }
    }
}

/// An object, as the pairs of its members.
#[derive(JsonSchema)]
#[schemars(inline, with = "BTreeMap<String, V>", description = "")]
pub struct Pairs<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Pairs<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<K, V> FromIterator<(K, V)> for Pairs<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Pairs(pairs.into_iter().collect())
    }
}

/// The object of these amounts.
pub fn amounts(pairs: &[(Arc<str>, i64)]) -> Pairs<&str, i64> {
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
    pub fn from_value(value: &Json) -> Option<Number> {
        match value {
            Json::Int(number) => Some(Number::Whole(i128::from(*number))),
            Json::BigInt(digits) => digits
                .parse()
                .map_or_else(|_| value.float().map(Number::Float), |n| Some(Number::Whole(n))),
            Json::Float(number) => Some(Number::Float(*number)),
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
