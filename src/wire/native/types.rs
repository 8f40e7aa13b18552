//! Members with bounds: each type refuses values beyond the bounds, and shows the bounds in the schema.

use std::borrow::Cow;
use std::fmt::Display;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::problem::{none_of, quoted};
use crate::search::Domain;
use crate::wire::text_form::mistake_of_domain;
use crate::wire::{native_keys, uuid};

/// Reads a text with `read`, which returns the text if the value is not `allowed`.
pub fn read_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    allowed: impl Display,
    read: impl FnOnce(String) -> Result<T, String>,
) -> Result<T, D::Error> {
    let refused = |text: String| D::Error::custom(format_args!("{} is {allowed}", quoted(&text)));
    read(String::deserialize(deserializer)?).map_err(refused)
}

/// The parameters of an operation without parameters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// A required member, which may be null. A refusal adds `or null` to the allowed values (`input.rs`).
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Nullable<T>(pub Option<T>);

/// A text of `MIN` to `MAX` characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(inline, with = "String", description = "", extend("minLength" = MIN, "maxLength" = MAX))]
pub struct Text<const MIN: usize, const MAX: usize>(pub String);

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Text<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: String| match text.chars().count() {
            count if (MIN..=MAX).contains(&count) => Ok(Text(text)),
            _ => Err(text),
        };
        read_text(
            deserializer,
            format_args!("not a text of {MIN} to {MAX} characters"),
            read,
        )
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(inline, with = "serde_json::Value", description = "")]
#[schemars(extend("type" = "integer", "minimum" = MIN, "maximum" = MAX))]
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

/// The most items of a page.
const MAX_PAGE: i64 = 1_000;

/// The most items of a page as the client wants: from 1 to 1,000, and 1,000 by default.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, description = "")]
pub struct PageLimit(Whole<1, MAX_PAGE>);

impl PageLimit {
    /// The number of items.
    pub fn get(self) -> usize {
        usize::try_from(self.0.0).unwrap_or_default()
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        PageLimit(Whole(MAX_PAGE))
    }
}

/// A list of `MIN` to `MAX` items.
#[derive(Clone, Debug, Serialize)]
pub struct Bounded<T, const MIN: usize, const MAX: usize>(pub Vec<T>);

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de> for Bounded<T, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::deserialize(deserializer)?;
        match items.len() {
            count if (MIN..=MAX).contains(&count) => Ok(Bounded(items)),
            count => Err(D::Error::custom(format_args!(
                "{count} items; from {MIN} to {MAX} are allowed"
            ))),
        }
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for Bounded<T, MIN, MAX> {
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

/// The texts of a parameter with up to `MAX` values. The schema is the schema of a single text.
#[derive(Clone, Debug)]
pub struct Repeatable<T, const MAX: usize = 10_000>(pub Vec<T>);

impl<T, const MAX: usize> Default for Repeatable<T, MAX> {
    fn default() -> Self {
        Repeatable(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Repeatable<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::deserialize(deserializer)?;
        match texts.len() {
            count if count <= MAX => Ok(Repeatable(texts)),
            count => Err(D::Error::custom(format_args!(
                "the parameter occurs {count} times; at most {MAX} times are allowed"
            ))),
        }
    }
}

impl<T: JsonSchema, const MAX: usize> JsonSchema for Repeatable<T, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A uuid, in lower case with dashes. Every spelling of the API is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline, with = "String", description = "", extend("format" = "uuid"))]
pub struct Uuid(pub String);

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: String| uuid::canonical(&text).map(Uuid).ok_or(text);
        read_text(deserializer, "not a uuid", read)
    }
}

/// A domain as `dimension:path`. A stored query may have texts of any form.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String", description = "", extend("pattern" = "^[^:]+:.*[^/].*$"))]
pub struct AnyDomain(pub Domain);

impl<'de> Deserialize<'de> for AnyDomain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let allowed = "not dimension:path, such as fault:fd:/dc1 or host:UUID";
        read_text(deserializer, allowed, |text| {
            native_keys::domain(&text).map(AnyDomain).ok_or(text)
        })
    }
}

/// A domain as `dimension:path`, with texts of the form that `text_form.rs` checks.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "AnyDomain", description = "")]
pub struct InDomain(pub Domain);

impl<'de> Deserialize<'de> for InDomain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let AnyDomain(domain) = AnyDomain::deserialize(deserializer)?;
        match mistake_of_domain(&domain) {
            Some(mistake) => Err(D::Error::custom(format_args!("the text {mistake}"))),
            None => Ok(InDomain(domain)),
        }
    }
}

/// A type whose values have names.
pub trait Named: Copy + PartialEq + 'static {
    /// All values with their names.
    const NAMES: &'static [(&'static str, Self)];
}

/// A value by name.
#[derive(Clone, Copy, Debug, Default, JsonSchema)]
#[schemars(inline, with = "String", bound = "T: Named", description = "", extend("enum" = Self::names()))]
pub struct Name<T>(pub T);

impl<T: Named> Name<T> {
    /// The name of the value.
    pub fn name(self) -> &'static str {
        let known = T::NAMES.iter().find(|(_, value)| *value == self.0);
        known.map_or("", |(name, _)| name)
    }

    /// All names.
    pub fn names() -> Vec<&'static str> {
        T::NAMES.iter().map(|(name, _)| *name).collect()
    }
}

impl<'de, T: Named> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, none_of(Self::names()), |text| {
            let known = T::NAMES.iter().find(|(name, _)| *name == text);
            known.map(|(_, value)| Name(*value)).ok_or(text)
        })
    }
}

impl<T: Named> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
