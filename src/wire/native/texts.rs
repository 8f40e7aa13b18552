//! Texts with a pattern: each type refuses other texts, and shows the pattern in the schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::problem::quoted;
use crate::wire::uuid;

/// Makes a type of texts from the name, the check, the pattern that the schema shows, and the words of a refusal.
macro_rules! texts {
    ($($(#[$about:meta])* $name:ident: $is_valid:expr, $pattern:literal, $allowed:literal;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
        pub struct $name(pub String);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let is_valid: fn(&str) -> bool = $is_valid;
                if is_valid(&text) {
                    return Ok($name(text));
                }
                Err(D::Error::custom(format_args!("{} is not {}", quoted(&text), $allowed)))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    )*};
}

texts! {
    /// The name of a resource class, or a consumer type.
    ClassName: |text| is_of(text, 1, 255, |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'),
        "^[A-Z0-9_]{1,255}$", "a name of 1 to 255 capital letters, digits and _";
    /// The suffix of a group; empty for the group without a suffix.
    Suffix: |text| is_of(text, 0, 64, |c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
        "^[a-zA-Z0-9_-]{0,64}$", "a suffix of at most 64 letters, digits, _ and -";
    /// A uuid of a provider as the client spells the uuid: a database of OpenStack may have other spellings.
    SpelledUuid: |text| uuid::canonical(text).is_some(), "^[0-9a-fA-F-]{36}$", "a uuid";
}

fn is_of(text: &str, min: usize, max: usize, is_valid: fn(char) -> bool) -> bool {
    (min..=max).contains(&text.len()) && text.chars().all(is_valid)
}
