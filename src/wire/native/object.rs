//! Objects with any names, and members that a request may have without effect.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An object with at least one member, in the order of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NonEmpty<K, V>(pub Vec<(K, V)>);

struct ObjectVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for ObjectVisitor<K, V> {
    type Value = NonEmpty<K, V>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        if object.is_empty() {
            return Err(A::Error::custom("an object without members; at least one is required"));
        }
        Ok(NonEmpty(object))
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for NonEmpty<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

impl<K: Serialize, V: Serialize> Serialize for NonEmpty<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The names have the pattern of `K`, if `K` has a pattern.
impl<K: JsonSchema, V: JsonSchema> JsonSchema for NonEmpty<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Object_of_{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = K::json_schema(generator);
        let values = generator.subschema_for::<V>();
        match names.get("pattern").and_then(serde_json::Value::as_str) {
            Some(pattern) => json_schema!({
                "type": "object",
                "minProperties": 1,
                "patternProperties": {pattern: values},
                "additionalProperties": false,
            }),
            None => json_schema!({"type": "object", "minProperties": 1, "additionalProperties": values}),
        }
    }
}

/// The value of a member that has no effect: answers have the member, and a client may send an answer back.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, with = "serde_json::Value", description = "")]
pub struct Ignored {
    _value: IgnoredAny,
}
