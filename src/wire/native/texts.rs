//! Texts with a pattern: each type refuses other texts, and shows the pattern in the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::types::read_text;
use crate::wire::uuid;

/// The name of a resource class, or a consumer type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(inline, with = "String", description = "", extend("pattern" = "^[A-Z0-9_]{1,255}$"))]
pub struct ClassName(pub String);

impl<'de> Deserialize<'de> for ClassName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let allowed = "not a name of 1 to 255 capital letters, digits and _";
        let is_valid = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        read_text(deserializer, allowed, |text| match text.len() {
            1..=255 if text.chars().all(is_valid) => Ok(ClassName(text)),
            _ => Err(text),
        })
    }
}

/// The suffix of a group; empty for the group without a suffix.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(inline, with = "String", description = "", extend("pattern" = "^[a-zA-Z0-9_-]{0,64}$"))]
pub struct Suffix(pub String);

impl<'de> Deserialize<'de> for Suffix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: String| if is_suffix(&text) { Ok(Suffix(text)) } else { Err(text) };
        read_text(
            deserializer,
            "not a suffix of at most 64 letters, digits, _ and -",
            read,
        )
    }
}

/// Whether a text is the suffix of a group, or empty.
pub fn is_suffix(text: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.len() <= 64 && text.chars().all(is_valid)
}

/// A uuid of a provider as the client spells the uuid: a database of OpenStack may have other spellings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(inline, with = "String", description = "", extend("pattern" = "^[0-9a-fA-F-]{36}$"))]
pub struct SpelledUuid(pub String);

impl<'de> Deserialize<'de> for SpelledUuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let allowed = "not a uuid with four dashes";
        read_text(deserializer, allowed, |text| match uuid::canonical(&text) {
            Some(_) if text.len() == 36 && text.matches('-').count() == 4 => Ok(SpelledUuid(text)),
            _ => Err(text),
        })
    }
}
