//! `PATCH` as a JSON merge patch (RFC 7396): the body of the request changes members of the answer to `GET`, and the
//! merged document is read as the body of the `PUT` of the same noun.
//!
//! A noun lists the members that are merged. All other members of the patch stay as sent. So the client names the
//! generation itself, and the reader of the `PUT` refuses unknown members by path.

use std::borrow::Cow;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::wire::value::Json;

/// A member of a noun that a patch may leave out, because `GET` shows the member.
pub type ShownMember = (&'static str, Null);

/// The meaning of null in a patch.
#[derive(Clone, Copy, PartialEq)]
pub enum Null {
    /// Null removes the member, or a member inside.
    Removes,
    /// Null is a value of the member.
    IsValue,
    /// Null is a value of the members inside.
    IsValueInside,
}

/// The document that a patch stands for: the members of the patch, then the shown `members` that the patch leaves out.
pub fn merged(members: &[ShownMember], shown: Json, patch: Json) -> Json {
    if !matches!(patch, Json::Object(_)) {
        return patch;
    }
    let mut shown: IndexMap<String, Json> = shown.into_members().collect();
    let mut merged: Vec<(String, Json)> = Vec::new();
    for (name, value) in patch.into_members() {
        let before = shown.swap_remove(&name).unwrap_or(Json::Null);
        let value = match members.iter().find(|(member, _)| *member == name) {
            Some((_, Null::IsValue)) if value == Json::Null => Some(value),
            Some((_, null)) => merge(before, value, *null == Null::IsValueInside),
            None => Some(value),
        };
        merged.extend(value.map(|value| (name, value)));
    }
    let kept = members.iter().filter_map(|(name, _)| shown.swap_remove_entry(*name));
    merged.extend(kept);
    Json::Object(merged.into_iter().collect())
}

/// The value after the patch, by RFC 7396; `None` if the patch removes the value. `keeps_null`: null does not remove a
/// member of the value.
fn merge(shown: Json, patch: Json, keeps_null: bool) -> Option<Json> {
    match patch {
        Json::Null => None,
        Json::Object(_) => {
            let mut members: IndexMap<String, Json> = shown.into_members().collect();
            for (name, value) in patch.into_members() {
                let before = members.swap_remove(&name).unwrap_or(Json::Null);
                let after = if keeps_null && value == Json::Null {
                    Some(Json::Null)
                } else {
                    merge(before, value, false)
                };
                members.extend(after.map(|after| (name, after)));
            }
            Some(Json::Object(members.into_iter().collect()))
        }
        patch => Some(patch),
    }
}

/// The body of a `PUT` that a patch may stand for.
pub trait Patched: JsonSchema {
    /// The members that a patch may leave out.
    const MERGED: &'static [ShownMember];
}

/// The body of a `PUT` that a patch stands for. The schema is that of the patch: only `generation` is required, and a
/// member may be null if the `PUT` does without the member.
pub struct Patch<T>(pub T);

impl<T: Patched> JsonSchema for Patch<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PatchOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let keywords = schema.ensure_object();
        let required = keywords.insert("required".to_owned(), json!(["generation"]));
        let required: Vec<Value> = required.and_then(|names| names.as_array().cloned()).unwrap_or_default();
        let members = keywords.get_mut("properties").and_then(Value::as_object_mut);
        for (name, member) in members.into_iter().flatten() {
            let is_merged = T::MERGED.iter().any(|(merged, _)| merged == name);
            if is_merged && !required.contains(&json!(name)) {
                make_nullable(member);
            }
        }
        schema
    }
}

/// Adds null to the values of a member, and to the values of the members inside.
fn make_nullable(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    if let Some(inside) = keywords.get_mut("additionalProperties") {
        make_nullable(inside);
    }
    let has_enum = keywords.contains_key("enum");
    match keywords.get_mut("type") {
        Some(Value::Array(types)) if types.contains(&json!("null")) => return,
        Some(kind @ Value::String(_)) if !has_enum => {
            *kind = json!([kind.take(), "null"]);
            return;
        }
        _ => {}
    }
    let text = keywords.shift_remove("description");
    let mut nullable = json!({"anyOf": [schema.take(), {"type": "null"}]});
    if let Some(text) = text {
        nullable["description"] = text;
    }
    *schema = nullable;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    const MEMBERS: &[ShownMember] = &[("a", Null::Removes), ("b", Null::IsValue), ("c", Null::IsValueInside)];

    fn read(text: &str) -> Json {
        json::read(text.as_bytes(), |_| Ok(())).expect(text)
    }

    /// The members of a document by name.
    fn sorted(value: Json) -> Json {
        match value {
            Json::Object(_) => {
                let mut members: Vec<(String, Json)> = value
                    .into_members()
                    .map(|(name, value)| (name, sorted(value)))
                    .collect();
                members.sort_by(|one, other| one.0.cmp(&other.0));
                Json::Object(members.into_iter().collect())
            }
            other => other,
        }
    }

    fn assert_merged(members: &[ShownMember], shown: &str, patch: &str, expected: &str) {
        let merged = merged(members, read(shown), read(patch));
        assert_eq!(sorted(merged), sorted(read(expected)), "{patch} onto {shown}");
    }

    /// The examples of RFC 7396, appendix A, as the value of a member.
    #[test]
    fn a_member_is_merged_as_rfc_7396_says() {
        for (shown, patch, expected) in [
            (r#"{"a": "b"}"#, r#"{"a": "c"}"#, r#"{"a": "c"}"#),
            (r#"{"a": "b"}"#, r#"{"b": "c"}"#, r#"{"a": "b", "b": "c"}"#),
            (r#"{"a": "b"}"#, r#"{"a": null}"#, "{}"),
            (r#"{"a": "b", "b": "c"}"#, r#"{"a": null}"#, r#"{"b": "c"}"#),
            (r#"{"a": ["b"]}"#, r#"{"a": "c"}"#, r#"{"a": "c"}"#),
            (r#"{"a": "c"}"#, r#"{"a": ["b"]}"#, r#"{"a": ["b"]}"#),
            (
                r#"{"a": {"b": "c"}}"#,
                r#"{"a": {"b": "d", "c": null}}"#,
                r#"{"a": {"b": "d"}}"#,
            ),
            (r#"{"a": [{"b": "c"}]}"#, r#"{"a": [1]}"#, r#"{"a": [1]}"#),
            (r#"["a", "b"]"#, r#"["c", "d"]"#, r#"["c", "d"]"#),
            (r#"{"a": "b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"e": null}"#, r#"{"a": 1}"#, r#"{"e": null, "a": 1}"#),
            ("[1, 2]", r#"{"a": "b", "c": null}"#, r#"{"a": "b"}"#),
            ("{}", r#"{"a": {"bb": {"ccc": null}}}"#, r#"{"a": {"bb": {}}}"#),
        ] {
            let whole = |value: &str| format!(r#"{{"a": {value}}}"#);
            assert_merged(MEMBERS, &whole(shown), &whole(patch), &whole(expected));
        }
    }

    #[test]
    fn null_removes_or_is_a_value_as_the_noun_says() {
        let shown = r#"{"a": 1, "b": 2, "c": {"x": 3, "y": 4}}"#;
        for (patch, expected) in [
            (r#"{"a": null}"#, r#"{"b": 2, "c": {"x": 3, "y": 4}}"#),
            (r#"{"b": null}"#, r#"{"a": 1, "b": null, "c": {"x": 3, "y": 4}}"#),
            (r#"{"c": {"x": null}}"#, r#"{"a": 1, "b": 2, "c": {"x": null, "y": 4}}"#),
            (r#"{"c": null}"#, r#"{"a": 1, "b": 2}"#),
        ] {
            assert_merged(MEMBERS, shown, patch, expected);
        }
    }

    #[test]
    fn a_member_that_is_not_merged_is_as_the_client_sent_it() {
        let shown = r#"{"a": 1, "generation": 7, "name": "host"}"#;
        for (patch, expected) in [
            (r#"{}"#, r#"{"a": 1}"#),
            (r#"{"generation": null}"#, r#"{"a": 1, "generation": null}"#),
            (
                r#"{"generation": 5, "unknown": null}"#,
                r#"{"a": 1, "generation": 5, "unknown": null}"#,
            ),
        ] {
            assert_merged(MEMBERS, shown, patch, expected);
        }
    }

    #[test]
    fn a_patch_that_is_no_object_replaces_the_document() {
        for patch in ["[]", "null", "5", r#""text""#] {
            assert_merged(MEMBERS, r#"{"a": 1}"#, patch, patch);
        }
    }

    #[derive(JsonSchema)]
    #[schemars(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Body {
        generation: Option<i64>,
        /// The text.
        #[schemars(default)]
        kind: String,
        #[schemars(default)]
        amounts: std::collections::BTreeMap<String, i64>,
        #[schemars(default, extend("enum" = ["up", "off"]))]
        state: String,
        items: Vec<String>,
        #[schemars(default)]
        atomic: bool,
        shown: Option<crate::wire::native::Ignored>,
    }

    impl Patched for Body {
        const MERGED: &'static [ShownMember] = &[
            ("kind", Null::Removes),
            ("amounts", Null::Removes),
            ("state", Null::Removes),
            ("items", Null::Removes),
        ];
    }

    #[test]
    fn the_schema_of_a_patch_requires_the_generation_alone_and_has_null_for_members_that_may_be_removed() {
        let schema = schemars::schema_for!(Patch<Body>).to_value();
        assert_eq!(schema["required"], json!(["generation"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        let members = &schema["properties"];
        assert_eq!(members["generation"]["type"], json!(["integer", "null"]));
        assert_eq!(members["kind"]["type"], json!(["string", "null"]));
        assert_eq!(members["kind"]["description"], "The text.");
        let up_or_off = &members["state"]["anyOf"];
        assert_eq!(
            (&up_or_off[0]["enum"], &up_or_off[1]),
            (&json!(["up", "off"]), &json!({"type": "null"}))
        );
        assert_eq!(members["shown"], json!(true));
        assert_eq!(members["amounts"]["type"], json!(["object", "null"]));
        assert_eq!(
            members["amounts"]["additionalProperties"]["type"],
            json!(["integer", "null"])
        );
        // The `PUT` requires the items, and null is no value of `atomic`.
        assert_eq!(members["items"]["type"], "array");
        assert_eq!(members["atomic"]["type"], "boolean");
    }
}
