//! The schemas of a request by version: a step for each version with a changed schema.

use std::sync::OnceLock;

use super::schema::{Schema, load};
use super::value::Json;
use super::{json, uuid, validation};
use crate::error::{Error, Result};
use crate::version::Version;

/// The schemas of a request, each with the first version of the schema.
pub struct Steps {
    file: &'static str,
    name: &'static str,
    is_uuid: fn(&Json) -> bool,
    schemas: OnceLock<Vec<(Version, Schema)>>,
}

impl Steps {
    /// The schemas of a body. `name` is their member in the JSON document `file`.
    pub const fn of_body(file: &'static str, name: &'static str) -> Self {
        Steps::new(file, name, is_uuid_of_body)
    }

    /// The schemas of a query string, whose UUIDs must have dashes.
    pub const fn of_query(file: &'static str, name: &'static str) -> Self {
        Steps::new(file, name, is_uuid_of_query)
    }

    const fn new(file: &'static str, name: &'static str, is_uuid: fn(&Json) -> bool) -> Self {
        Steps {
            file,
            name,
            is_uuid,
            schemas: OnceLock::new(),
        }
    }

    /// The schema in force at `version`.
    pub fn at(&self, version: Version) -> &Schema {
        let schemas = self.schemas.get_or_init(|| self.load());
        let newer = schemas.partition_point(|(since, _)| *since <= version);
        &schemas[newer.saturating_sub(1)].1
    }

    /// Parses a body and validates the value.
    pub fn read(&self, version: Version, body: &[u8]) -> Result<Json> {
        json::read(body, |value| self.validate(version, value))
    }

    /// Validates a value as a body.
    pub fn validate(&self, version: Version, value: &Json) -> Result<()> {
        validation::refusal(self.at(version), value).map_or(Ok(()), |sentence| Err(Error::InvalidBody(sentence)))
    }

    fn load(&self) -> Vec<(Version, Schema)> {
        let version = |since: &str| since.parse().expect("the name of a step is a version");
        let steps = load(self.file, self.name, self.is_uuid).into_iter();
        let schemas: Vec<(Version, Schema)> = steps.map(|(since, schema)| (version(&since), schema)).collect();
        // The schemas are part of the binary, and a test compiles each.
        assert!(!schemas.is_empty(), "no schemas are named {}", self.name);
        schemas
    }
}

fn is_uuid_of_body(value: &Json) -> bool {
    matches!(value, Json::String(text) if uuid::canonical(text).is_some())
}

/// UUIDs in a query string must have dashes.
fn is_uuid_of_query(value: &Json) -> bool {
    !matches!(value, Json::String(text) if !uuid::is_dashed(text))
}
