//! Members with bounds: each type refuses what is outside of its bounds, and its schema shows them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::problem::quoted;

/// The parameters of an operation that has none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// A member that is required, and may be null. A refusal adds `or null` to what is allowed (`input.rs`).
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Nullable<T>(pub Option<T>);

/// A text of `MIN` to `MAX` characters.
#[derive(Clone, Debug)]
pub struct Text<const MIN: usize, const MAX: usize>(pub String);

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Text<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if (MIN..=MAX).contains(&text.chars().count()) {
            return Ok(Text(text));
        }
        let given = quoted(&text);
        Err(D::Error::custom(format_args!(
            "{given} is not a text of {MIN} to {MAX} characters"
        )))
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Text<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Text_{MIN}_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": MIN, "maxLength": MAX})
    }
}

/// The most items of a page: from 1 to `MAX`, and `MAX` by default.
#[derive(Serialize)]
pub struct PageLimit<const MAX: usize>(pub usize);

impl<const MAX: usize> Default for PageLimit<MAX> {
    fn default() -> Self {
        PageLimit(MAX)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for PageLimit<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = i64::deserialize(deserializer)?;
        match usize::try_from(given) {
            Ok(limit) if (1..=MAX).contains(&limit) => Ok(PageLimit(limit)),
            _ => Err(D::Error::custom(format_args!(
                "{given} is not a whole number from 1 to {MAX}"
            ))),
        }
    }
}

impl<const MAX: usize> JsonSchema for PageLimit<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("PageLimit_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": MAX})
    }
}
