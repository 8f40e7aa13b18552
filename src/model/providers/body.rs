//! The body of a row of `placet_descriptions`, as JSON: the whole description without the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::search::{Description, Properties, PropertyValue, ProviderState};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(rename = "type")]
    kind: Option<String>,
    properties: StoredProperties,
    domains: BTreeMap<String, String>,
}

/// The properties, by name.
type StoredProperties = BTreeMap<String, Option<Property>>;

/// The text comes first: serde tries the variants in order, and builds an error sentence for each failed variant.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Property {
    Text(String),
    Boolean(bool),
    Integer(i64),
}

/// The state and the body.
pub fn encode(description: &Description) -> (&'static str, String) {
    let Description {
        kind,
        properties,
        domains,
        state,
        is_unknown: _,
    } = description;
    let body = Body {
        kind: kind.as_deref().map(str::to_owned),
        properties: properties_body(properties),
        domains: domains
            .iter()
            .map(|(dimension, path)| (dimension.to_string(), path.to_string()))
            .collect(),
    };
    let text = serde_json::to_string(&body).expect("texts and numbers can be written");
    (state.name(), text)
}

/// The description; `None` if this version of placet cannot read it.
pub fn decode(state: &str, body: &str) -> Option<Description> {
    let body: Body = serde_json::from_str(body).ok()?;
    Some(Description {
        kind: body.kind.map(Arc::from),
        properties: properties(body.properties),
        domains: body
            .domains
            .into_iter()
            .map(|(dimension, path)| (dimension.into(), path.into()))
            .collect(),
        state: ProviderState::by_name(state)?,
        is_unknown: false,
    })
}

/// Properties alone, of a type.
pub fn encode_properties(properties: &Properties) -> String {
    serde_json::to_string(&properties_body(properties)).expect("texts and numbers can be written")
}

/// The properties; `None` if this version of placet cannot read them.
pub fn decode_properties(body: &str) -> Option<Properties> {
    serde_json::from_str(body).ok().map(properties)
}

fn properties_body(properties: &Properties) -> StoredProperties {
    let property = |value: &PropertyValue| match value {
        PropertyValue::Text(text) => Property::Text(text.to_string()),
        PropertyValue::Boolean(boolean) => Property::Boolean(*boolean),
        PropertyValue::Integer(integer) => Property::Integer(*integer),
    };
    let properties = properties.iter();
    properties
        .map(|(name, value)| (name.to_string(), value.as_ref().map(property)))
        .collect()
}

fn properties(body: StoredProperties) -> Properties {
    let value = |value: Property| match value {
        Property::Boolean(boolean) => PropertyValue::Boolean(boolean),
        Property::Integer(integer) => PropertyValue::Integer(integer),
        Property::Text(text) => PropertyValue::Text(text.into()),
    };
    let properties = body.into_iter();
    properties
        .map(|(name, property)| (name.into(), property.map(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_with_its_types() {
        let properties = [
            ("Text", Some(PropertyValue::Text("5".into()))),
            ("Least", Some(PropertyValue::Integer(i64::MIN))),
            ("HasSSD", Some(PropertyValue::Boolean(true))),
            ("Hidden", None),
        ];
        let properties: Properties = properties.map(|(name, value)| (name.into(), value)).into();
        let description = Description {
            kind: Some("NodeType01".into()),
            properties: properties.clone(),
            domains: [("fault".into(), "fd:/dc1/r0".into())].into(),
            state: ProviderState::Draining,
            is_unknown: false,
        };
        let (state, body) = encode(&description);
        assert_eq!(decode(state, &body), Some(description));
        assert_eq!(decode("gone", &body), None);
        assert_eq!(decode("up", "{}"), None);
        assert_eq!(decode_properties(&encode_properties(&properties)), Some(properties));
        assert_eq!(decode_properties("[]"), None);
    }
}
