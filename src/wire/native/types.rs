//! Members with bounds: each type refuses values beyond the bounds, and shows the bounds in the schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::problem::{none_of, quoted};
use crate::search::Domain;
use crate::wire::{native_keys, uuid};

/// The parameters of an operation without parameters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// A required member, which may be null. A refusal adds `or null` to the allowed values (`input.rs`).
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Nullable<T>(pub Option<T>);

/// A text of `MIN` to `MAX` characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
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

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Whole<const MIN: i64, const MAX: i64>(pub i64);

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = i64::deserialize(deserializer)?;
        if (MIN..=MAX).contains(&given) {
            return Ok(Whole(given));
        }
        Err(D::Error::custom(format_args!(
            "{given} is not a whole number from {MIN} to {MAX}"
        )))
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Whole<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Whole_{MIN}_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX})
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

/// A list of `MIN` to `MAX` items.
#[derive(Clone, Debug, Serialize)]
pub struct List<T, const MIN: usize, const MAX: usize>(pub Vec<T>);

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de> for List<T, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::deserialize(deserializer)?;
        match items.len() {
            count if (MIN..=MAX).contains(&count) => Ok(List(items)),
            count => Err(D::Error::custom(format_args!(
                "{count} items; from {MIN} to {MAX} are allowed"
            ))),
        }
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for List<T, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("List_{MIN}_{MAX}_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        json_schema!({"type": "array", "minItems": MIN, "maxItems": MAX, "items": items})
    }
}

/// A uuid, in lower case with dashes. Every spelling of the API is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uuid(pub String);

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match uuid::canonical(&text) {
            Some(uuid) => Ok(Uuid(uuid)),
            None => Err(D::Error::custom(format_args!("{} is not a uuid", quoted(&text)))),
        }
    }
}

impl JsonSchema for Uuid {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Uuid".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "uuid"})
    }
}

/// A domain as `dimension:path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InDomain(pub Domain);

impl<'de> Deserialize<'de> for InDomain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        native_keys::domain(&text).map(InDomain).ok_or_else(|| {
            D::Error::custom(format_args!(
                "{} is not dimension:path, such as fault:fd:/dc1 or host:UUID",
                quoted(&text)
            ))
        })
    }
}

impl JsonSchema for InDomain {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "InDomain".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[^:]+:.*[^/].*$"})
    }
}

/// A type whose values have names.
pub trait Named: Copy + PartialEq + 'static {
    /// All values with their names.
    const NAMES: &'static [(&'static str, Self)];
}

/// A value by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Name<T>(pub T);

impl<'de, T: Named> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match T::NAMES.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => Ok(Name(*value)),
            None => {
                let names = none_of(T::NAMES.iter().map(|(name, _)| *name));
                Err(D::Error::custom(format_args!("{} is {names}", quoted(&text))))
            }
        }
    }
}

impl<T: Named> Name<T> {
    /// The name of the value.
    pub fn name(self) -> &'static str {
        let known = T::NAMES.iter().find(|(_, value)| *value == self.0);
        known.map_or("", |(name, _)| name)
    }
}

impl<T: Named> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<T: Named> JsonSchema for Name<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        std::any::type_name::<T>().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = T::NAMES.iter().map(|(name, _)| *name).collect();
        json_schema!({"type": "string", "enum": names})
    }
}
