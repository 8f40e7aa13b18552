//! `/v1/types`: the properties of all providers of a type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bad_request;
use super::native::{
    NoParameters, Noun, NounOperation, Null, Nullable, PageLimit, Patch, Patched, ShownMember, Text, read_body,
    read_merge_patch, read_query,
};
use super::output::json;
use super::providers::{MAX_TEXT, PropertiesAnswer, PropertiesBody, properties, properties_answer};
use super::text_form::check;
use crate::error::Result;
use crate::model::types::{Delete, Page, Set, ShownType};
use crate::search::Properties;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "types",
    about: "The properties that all providers of a type have, unless a provider sets or hides them itself.",
    fields: &[(
        "name",
        "The type, as in the description of a provider. It may have slashes.",
    )],
    operations: &[
        NounOperation::new::<ListParameters>(
            "GET /v1/types",
            "List types",
            "The types with properties, by name, at most `limit` (1000 by default) after the type `after`; a page ends \
            earlier with the type that brings it to 4 MiB. `next` is the `after` of the next page, or null.",
        )
        .answer::<TypeList>(),
        NounOperation::new::<NoParameters>(
            "GET /v1/types/{name}",
            "Show the properties of a type",
            "The type may have no provider. A type whose properties were never set is 404.",
        )
        .answer::<TypeAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound"]),
        NounOperation::new::<WriteParameters>(
            "PUT /v1/types/{name}",
            "Set the properties of a type",
            "Replaces all properties. A provider whose description names the type has these properties, and its \
            providers below inherit them. A property of the provider itself comes first, then that of its own type, \
            then what it inherits; `null` hides an inherited property. The rules of properties are those of `PUT \
            /v1/providers/{uuid}`. `generation` is the one that was read, and null for a new type. If nothing changes \
            the generation stays. With `dry_run=true` nothing is written.",
        )
        .body::<TypePropertiesBody>()
        .answer::<TypeAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "StaleGeneration"]),
        NounOperation::new::<WriteParameters>(
            "PATCH /v1/types/{name}",
            "Change the properties of a type",
            "A JSON merge patch (RFC 7396) of the answer to `GET`. The result is read as the body of `PUT`: checks, \
            `dry_run` and answer are the same. `generation` is required as in `PUT`. Properties without a value in the \
            body stay, and `null` hides an inherited property, as in `PUT`; only `PUT` removes a property. The body is \
            `application/json` or `application/merge-patch+json`.",
        )
        .body::<Patch<TypePropertiesBody>>()
        .answer::<TypeAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound", "StaleGeneration"]),
        NounOperation::new::<DeleteTypeParameters>(
            "DELETE /v1/types/{name}",
            "Delete the properties of a type",
            "Providers keep the type, and lose the properties. With `generation` only that generation is deleted. With \
            `dry_run=true` nothing is written.",
        )
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound", "StaleGeneration"]),
    ],
};

impl Patched for TypePropertiesBody {
    const MERGED: &'static [ShownMember] = &[("properties", Null::IsValueInside)];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The most types of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The type after which the page begins.
    after: Option<Text<1, MAX_TEXT>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteParameters {
    /// `true`: nothing is written. The answer is the type as foreseen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteTypeParameters {
    /// The generation known to the client. If the type has a newer generation, the request is refused with 409.
    generation: Option<i64>,
    /// `true`: nothing is written.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TypePropertiesBody {
    /// The type. If given, the type of the path.
    name: Option<Text<1, MAX_TEXT>>,
    /// The generation known to the client, or `null` for a new type. If the type has a newer generation, the
    /// request is refused with 409.
    generation: Nullable<i64>,
    /// The properties by name: texts, booleans or whole numbers of 64 bits. `null` hides an inherited property.
    #[serde(default)]
    properties: PropertiesBody,
}

#[derive(Serialize, JsonSchema)]
struct TypeAnswer<'a> {
    /// The type.
    name: &'a str,
    /// A number. The number increases when the properties change.
    generation: i64,
    /// The properties by name. `null` hides an inherited property.
    properties: PropertiesAnswer<'a>,
}

#[derive(Serialize, JsonSchema)]
struct TypeList<'a> {
    /// The types, by name.
    types: Vec<TypeAnswer<'a>>,
    /// The `after` of the next page; `null` on the last page.
    next: Option<&'a str>,
}

/// Reads the query string of `GET /v1/types`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_list(query: &str) -> Result<Page> {
    let ListParameters { limit, after } = read_query(query)?;
    Ok(Page {
        limit: limit.get(),
        after: after.map(|name| name.0),
    })
}

/// Reads the type of a path.
///
/// # Errors
/// A text of a wrong form or length.
pub fn read_name(name: String) -> Result<String> {
    check("name", &name)?;
    let count = name.chars().count();
    if count > MAX_TEXT {
        return bad_request(format!(
            "name has {count} characters; from 1 to {MAX_TEXT} are allowed."
        ));
    }
    Ok(name)
}

/// Reads `PUT /v1/types/{name}`, and whether the request is a dry run.
///
/// # Errors
/// The first member of a wrong type, or every wrong value, by path.
pub fn read_set(name: &str, query: &str, body: &[u8]) -> Result<(Set, bool)> {
    let WriteParameters { dry_run } = read_query(query)?;
    Ok((set(name, read_body(body)?, &Properties::new())?, dry_run))
}

/// Reads `PATCH /v1/types/{name}` as a `PUT` of the patched type, and whether the request is a dry run.
///
/// # Errors
/// As of [`read_set`].
pub fn read_patch(shown: &ShownType, query: &str, body: &[u8]) -> Result<(Set, bool)> {
    let WriteParameters { dry_run } = read_query(query)?;
    let Patch(body) = read_merge_patch(&write_one(shown), body)?;
    Ok((set(&shown.name, body, &shown.properties)?, dry_run))
}

fn set(name: &str, body: TypePropertiesBody, before: &Properties) -> Result<Set> {
    let mut mistakes = Vec::new();
    if let Some(Text(given)) = body.name.filter(|given| given.0 != name) {
        mistakes.push(format!("name: {given:?} differs from {name:?}, the type of the path"));
    }
    let properties = properties("", body.properties, before, &mut mistakes);
    if !mistakes.is_empty() {
        return bad_request(format!("{}.", mistakes.join("; ")));
    }
    Ok(Set {
        name: name.to_owned(),
        generation: body.generation.0,
        properties,
    })
}

/// Reads the query string of `DELETE /v1/types/{name}`, and whether the request is a dry run.
///
/// # Errors
/// The first wrong parameter.
pub fn read_delete(name: String, query: &str) -> Result<(Delete, bool)> {
    let DeleteTypeParameters { generation, dry_run } = read_query(query)?;
    Ok((Delete { name, generation }, dry_run))
}

fn answer(shown: &ShownType) -> TypeAnswer<'_> {
    TypeAnswer {
        name: &shown.name,
        generation: shown.generation,
        properties: properties_answer(&shown.properties),
    }
}

/// Writes a type.
pub fn write_one(shown: &ShownType) -> Vec<u8> {
    json(&answer(shown))
}

/// Writes a page of types. `next` is the name after which the next page begins.
pub fn write_list(types: &[ShownType], next: Option<&str>) -> Vec<u8> {
    json(&TypeList {
        types: types.iter().map(answer).collect(),
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::PropertyValue;
    use crate::wire::tests::compare_nulls;

    fn shown() -> ShownType {
        let properties = [
            ("HasSSD", Some(PropertyValue::Boolean(true))),
            ("NodeColor", Some(PropertyValue::Text("green".into()))),
            ("SomeProperty", Some(PropertyValue::Integer(5))),
            ("Rack", None),
        ];
        ShownType {
            name: "NodeType01".to_owned(),
            generation: 3,
            properties: properties.map(|(name, value)| (name.into(), value)).into(),
        }
    }

    #[test]
    fn a_shown_type_can_be_sent_back() {
        let (set, is_dry_run) = read_set("NodeType01", "", &write_one(&shown())).unwrap();
        assert_eq!(
            (set.generation, set.properties, is_dry_run),
            (Some(3), shown().properties, false)
        );
    }

    #[test]
    fn a_patch_keeps_properties_that_it_does_not_name_and_null_hides() {
        compare_nulls::<TypePropertiesBody>(&write_one(&shown()));
        let body = br#"{"generation": 3, "properties": {"SomeProperty": 6, "HasSSD": null}}"#;
        let (set, _) = read_patch(&shown(), "", body).unwrap();
        let mut expected = shown().properties;
        expected.insert("SomeProperty".into(), Some(PropertyValue::Integer(6)));
        expected.insert("HasSSD".into(), None);
        assert_eq!(set.properties, expected);
    }

    #[test]
    fn every_wrong_member_is_refused_by_path() {
        for (body, sentence) in [
            ("{}", "generation is required."),
            (
                r#"{"generation": 1, "name": "other", "properties": {"NodeType": "x", "1": 1, "T": " x"}}"#,
                "name: \"other\" differs from \"NodeType01\", the type of the path; properties.1: a name begins with a \
                 letter or _, and has at most 255 letters, digits, _, . and -; properties.NodeType is built in and \
                 cannot be set; properties.T begins or ends with white space.",
            ),
            (
                r#"{"generation": 1, "domains": {}}"#,
                "domains is unknown; the members are name, generation, properties.",
            ),
        ] {
            let refused = read_set("NodeType01", "", body.as_bytes()).unwrap_err();
            assert_eq!(refused.to_string(), sentence, "{body}");
        }
        let many: Vec<String> = (0..65).map(|n| format!("\"P{n}\": 1")).collect();
        let many = format!(r#"{{"generation": 1, "properties": {{{}}}}}"#, many.join(", "));
        assert!(read_set("NodeType01", "", many.as_bytes()).is_err());
        for name in [" a", "a\n", &"x".repeat(256)] {
            assert!(read_name(name.to_owned()).is_err(), "{name:?}");
        }
        assert_eq!(read_name("a/Küche b".to_owned()).unwrap(), "a/Küche b");
    }
}
