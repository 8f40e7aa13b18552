//! What all answers share: bytes of JSON, fields that came with a version, objects made of pairs.

use std::sync::Arc;

use serde::{Serialize, Serializer};

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

/// A link.
#[derive(Serialize)]
pub struct Link<'a> {
    pub rel: &'a str,
    pub href: String,
}
