//! The descriptions of nouns and operations (`src/wire/documents.rs`), and the words of OpenStack's nouns: data in
//! `words.json`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::route::{Family, Route};
use crate::wire::documents::{documents, names};

/// The descriptions.
pub struct Texts {
    words: Value,
    nouns: BTreeMap<&'static str, Value>,
    /// By `METHOD path`; by `METHOD path version` if several rows have that method and path.
    operations: BTreeMap<String, Value>,
}

impl Texts {
    pub fn read() -> Texts {
        let (mut nouns, mut operations) = (BTreeMap::new(), BTreeMap::new());
        for (noun, mut document) in documents() {
            nouns.insert(noun, document["noun"].take());
            if let Value::Object(by_row) = document["operations"].take() {
                operations.extend(by_row);
            }
        }
        Texts {
            words: serde_json::from_str(include_str!("words.json")).expect("the texts are JSON, and a test reads them"),
            nouns,
            operations,
        }
    }

    /// The description of a row of the table; `null` if it has none.
    pub fn operation(&self, route: &Route) -> &Value {
        let key = format!("{} {}", route.method, route.path);
        let of_row = match route.family {
            Family::Placement { first, .. } => self.operations.get(&format!("{key} {first}")),
            Family::Native => None,
        };
        of_row.or_else(|| self.operations.get(&key)).unwrap_or(&Value::Null)
    }

    /// The description of a path field, query parameter, property or header.
    pub fn word(&self, kind: &str, name: &str) -> Option<&str> {
        self.words[kind][name].as_str()
    }

    /// The description of a noun.
    pub fn noun(&self, noun: &str) -> &str {
        self.nouns.get(noun).and_then(Value::as_str).unwrap_or_default()
    }

    /// The nouns, in the order of the documents.
    pub fn nouns() -> impl Iterator<Item = &'static str> {
        names()
    }

    #[cfg(test)]
    pub fn operations(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.operations.iter().map(|(key, text)| (key.as_str(), text))
    }

    #[cfg(test)]
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        self.words["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
    }
}
