//! What is said of nouns, operations and words: data, in `operations/*.json` and `words.json`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::route::Route;

macro_rules! operations {
    ($($noun:literal),*) => {
        &[$(($noun, include_str!(concat!("operations/", $noun, ".json")))),*]
    };
}

static OPERATIONS: &[(&str, &str)] = operations!(
    "root",
    "resource_providers",
    "inventories",
    "aggregates",
    "traits",
    "resource_classes",
    "allocation_candidates",
    "allocations",
    "usages",
    "reshaper",
    "openapi"
);

pub struct Texts {
    words: Value,
    nouns: BTreeMap<&'static str, Value>,
    /// By `METHOD path`, and `METHOD path version` for the rows of a method that has several.
    operations: BTreeMap<String, Value>,
}

impl Texts {
    pub fn read() -> Texts {
        let json = |text| serde_json::from_str(text).expect("the texts are JSON, and a test reads each");
        let (mut nouns, mut operations) = (BTreeMap::new(), BTreeMap::new());
        for (noun, text) in OPERATIONS {
            let members: Map<String, Value> = serde_json::from_str(text).expect("the texts are JSON objects");
            for (name, said) in members {
                match name.as_str() {
                    "noun" => drop(nouns.insert(*noun, said)),
                    _ => drop(operations.insert(name, said)),
                }
            }
        }
        Texts {
            words: json(include_str!("words.json")),
            nouns,
            operations,
        }
    }

    /// What is said of a row of the table; `null` for one of which nothing is said yet.
    pub fn operation(&self, route: &Route) -> &Value {
        let key = format!("{} {}", route.method, route.path);
        let of_row = self.operations.get(&format!("{key} {}", route.first));
        of_row.or_else(|| self.operations.get(&key)).unwrap_or(&Value::Null)
    }

    /// What a path, query, property or header of that name means.
    pub fn word(&self, kind: &str, name: &str) -> Option<&str> {
        self.words[kind][name].as_str()
    }

    /// What is said of a noun.
    pub fn noun(&self, noun: &str) -> &str {
        self.nouns.get(noun).and_then(Value::as_str).unwrap_or_default()
    }

    /// The nouns in the order in which a newcomer reads of them.
    pub fn nouns() -> impl Iterator<Item = &'static str> {
        OPERATIONS.iter().map(|(noun, _)| *noun)
    }

    #[cfg(test)]
    pub fn operations(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.operations.iter().map(|(key, said)| (key.as_str(), said))
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
