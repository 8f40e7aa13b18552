//! The descriptions of nouns and operations (`src/wire/documents.rs`), and the words of OpenStack's nouns: data in
//! `words.json`.

use serde_json::Value;

use super::super::route::{Family, Route};
use crate::wire::documents::documents;

/// The descriptions.
pub struct ApiTexts {
    words: Value,
    /// By noun, in reading order.
    documents: Vec<(&'static str, Value)>,
}

impl ApiTexts {
    pub fn read() -> ApiTexts {
        ApiTexts {
            words: serde_json::from_str(include_str!("words.json")).expect("the texts are JSON, and a test reads them"),
            documents: documents(),
        }
    }

    /// The description of a row of the table, by `METHOD path`; by `METHOD path version` if several rows have that
    /// method and path. `null` if the row has none.
    pub fn operation(&self, route: &Route) -> &Value {
        let key = format!("{} {}", route.method, route.path);
        let find = |key: &str| {
            let mut documents = self.documents.iter();
            documents.find_map(|(_, document)| document["operations"].get(key))
        };
        let of_row = match route.family {
            Family::Placement { first, .. } => find(&format!("{key} {first}")),
            Family::Native => None,
        };
        of_row.or_else(|| find(&key)).unwrap_or(&Value::Null)
    }

    /// The description of a path field, query parameter, property or header. The description of a noun's own member,
    /// under `noun.name`, comes before the description of all members of the name.
    pub fn word(&self, kind: &str, noun: &str, name: &str) -> Option<&str> {
        let words = &self.words[kind];
        let own = words.get(format!("{noun}.{name}")).and_then(Value::as_str);
        own.or_else(|| words[name].as_str())
    }

    /// The document of a noun, with the name of the noun.
    pub fn document(&self, noun: &str) -> Option<(&'static str, &Value)> {
        let mut documents = self.documents.iter();
        let (noun, document) = documents.find(|(known, _)| *known == noun)?;
        Some((noun, document))
    }

    /// The description of a noun.
    pub fn noun(&self, noun: &str) -> &str {
        let document = self.document(noun);
        document
            .and_then(|(_, document)| document["noun"].as_str())
            .unwrap_or_default()
    }

    /// The nouns, in reading order.
    pub fn nouns(&self) -> impl Iterator<Item = &'static str> {
        self.documents.iter().map(|(noun, _)| *noun)
    }

    #[cfg(test)]
    pub fn operations(&self) -> impl Iterator<Item = (&str, &Value)> {
        let operations = self.documents.iter().map(|(_, document)| &document["operations"]);
        let operations = operations.flat_map(|operations| operations.as_object().into_iter().flatten());
        operations.map(|(key, text)| (key.as_str(), text))
    }

    /// The descriptions of properties or parameters, each with the name of the member.
    #[cfg(test)]
    pub fn words(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        let words = self.words[kind].as_object().into_iter().flatten();
        words.filter_map(|(key, text)| Some((key.rsplit('.').next()?, text.as_str()?)))
    }
}
