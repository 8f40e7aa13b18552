//! `/v1/limits`.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bad_request;
use super::native::{
    NoParameters, Noun, NounOperation, Null, Nullable, PageLimit, Patch, Patched, ShownMember, Text, read_body,
    read_merge_patch, read_query,
};
use super::output::json;
use crate::error::Result;
use crate::model::limits::{Limit, Page, Set};
use crate::search::NormalLimit;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "limits",
    about: "The normal limit of a resource class: how far it may be used as a rule, below the capacity of each inventory. \
        What lies between the two is room for bad days.",
    fields: &[("class", "The resource class, such as `VCPU`.")],
    operations: &[
        NounOperation::new::<ListParameters>(
            "GET /v1/limits",
            "List the limits of resource classes",
            "The classes whose limit was ever set, by name, at most `limit` (1000 by default) after the class `after`. \
            `next` is the `after` of the next page, or null.",
        )
        .answer::<LimitList>(),
        NounOperation::new::<NoParameters>(
            "GET /v1/limits/{class}",
            "Show the limit of a resource class",
            "`generation` is null if the limit was never set, and `normal` is null if there is none.",
        )
        .answer::<LimitAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "ClassNotFound"]),
        NounOperation::new::<SetParameters>(
            "PUT /v1/limits/{class}",
            "Set the limit of a resource class",
            "`{\"buffer\": \"0.15\"}` keeps 15 % of the capacity of each inventory free: the normal limit is the \
            capacity less that share, computed exactly and rounded down. `\"physical\"` is `total - reserved`, so \
            that the allocation ratio is used only if need be. `null` removes the limit. Claims of `POST /v1/claims` \
            go over the normal limit only if their purpose allows it; OpenStack's routes know the capacity alone. \
            `generation` is the one that was read, and null for a limit that was never set. With `dry_run=true` \
            nothing is written. The limit belongs to the name: it stays if the class is deleted and created again.",
        )
        .body::<SetBody>()
        .answer::<LimitAnswer>()
        .refusals(SET_REFUSALS),
        NounOperation::new::<SetParameters>(
            "PATCH /v1/limits/{class}",
            "Change the limit of a resource class",
            "A JSON merge patch (RFC 7396) of the answer to `GET`. The result is read as the body of `PUT`: checks, \
            `dry_run` and answer are the same. `generation` is required as in `PUT`. Without `normal` the limit stays, \
            and `null` removes the limit. The body is `application/json` or `application/merge-patch+json`.",
        )
        .body::<Patch<SetBody>>()
        .answer::<LimitAnswer>()
        .refusals(SET_REFUSALS),
    ],
};

const SET_REFUSALS: &[&str] = &["BadRequest", "DuplicateQueryKey", "ClassNotFound", "StaleGeneration"];

impl Patched for SetBody {
    const MERGED: &'static [ShownMember] = &[("normal", Null::IsValue)];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The most limits of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The class after which the page begins.
    after: Option<Text<1, 255>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetParameters {
    /// `true`: nothing is written. The answer is the limit as foreseen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetBody {
    /// The resource class. If given, the class of the path.
    resource_class: Option<Text<1, 255>>,
    /// The generation that the client has read, or `null` for a limit that was never set. If the limit has a newer
    /// generation, the request is refused with 409.
    generation: Nullable<i64>,
    /// The normal limit: an object with a `buffer`, `physical`, or `null` for none.
    normal: Nullable<Normal>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Normal {
    Physical,
    Buffer(BufferShare),
}

impl<'de> Deserialize<'de> for Normal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Normal, D::Error> {
        deserializer.deserialize_any(NormalVisitor)
    }
}

struct NormalVisitor;

impl<'de> Visitor<'de> for NormalVisitor {
    type Value = Normal;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("physical, an object with a buffer")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Normal, E> {
        match text {
            "physical" => Ok(Normal::Physical),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> std::result::Result<Normal, A::Error> {
        let body = BufferBody::deserialize(MapAccessDeserializer::new(members))?;
        Ok(Normal::Buffer(body.buffer))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferBody {
    buffer: BufferShare,
}

/// A buffer, as a decimal.
#[derive(JsonSchema)]
#[schemars(inline, with = "String", description = "")]
#[schemars(extend("pattern" = r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$"))]
#[schemars(extend("description" = "The share of the capacity that is kept free, as a decimal from `0` to `1`."))]
struct BufferShare(NormalLimit);

impl<'de> Deserialize<'de> for BufferShare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<BufferShare, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse() {
            Ok(buffer @ NormalLimit::Buffer(_)) => Ok(BufferShare(buffer)),
            _ => Err(D::Error::custom(format_args!(
                "{text:?} is no share; write a decimal from \"0\" to \"1\" with at most six decimals, such as \"0.15\""
            ))),
        }
    }
}

impl Serialize for BufferShare {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[derive(Serialize, JsonSchema)]
struct LimitAnswer<'a> {
    /// The resource class.
    resource_class: &'a str,
    /// A number that increases when the limit changes; `null` if the limit was never set.
    generation: Option<i64>,
    /// The normal limit: an object with a `buffer`, `physical`, or `null` for none.
    normal: Option<Normal>,
}

#[derive(Serialize, JsonSchema)]
struct LimitList<'a> {
    /// The limits, by class.
    limits: Vec<LimitAnswer<'a>>,
    /// The `after` of the next page; `null` on the last page.
    next: Option<&'a str>,
}

/// Reads the query string of `GET /v1/limits`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_list(query: &str) -> Result<Page> {
    let ListParameters { limit, after } = read_query(query)?;
    Ok(Page {
        limit: limit.get(),
        after: after.map(|class| class.0),
    })
}

/// Reads `PUT /v1/limits/{class}`, and whether the request is a dry run.
///
/// # Errors
/// The first wrong member, by path.
pub fn read_set(class: &str, query: &str, body: &[u8]) -> Result<(Set, bool)> {
    let SetParameters { dry_run } = read_query(query)?;
    Ok((set(class, read_body(body)?)?, dry_run))
}

/// Reads `PATCH /v1/limits/{class}` as the `PUT` that the patch of the shown limit stands for, and whether the request
/// is a dry run.
///
/// # Errors
/// As of [`read_set`].
pub fn read_patch(shown: &Limit, query: &str, body: &[u8]) -> Result<(Set, bool)> {
    let SetParameters { dry_run } = read_query(query)?;
    let Patch(body) = read_merge_patch(&write_one(shown), body)?;
    Ok((set(&shown.class, body)?, dry_run))
}

fn set(class: &str, body: SetBody) -> Result<Set> {
    if let Some(Text(given)) = body.resource_class.filter(|given| given.0 != class) {
        return bad_request(format!(
            "resource_class: {given:?} differs from {class}, the class of the path. Leave resource_class out, or send \
             the request to the path of the other class."
        ));
    }
    Ok(Set {
        class: class.to_owned(),
        generation: body.generation.0,
        normal: body.normal.0.map(|normal| match normal {
            Normal::Physical => NormalLimit::Physical,
            Normal::Buffer(share) => share.0,
        }),
    })
}

fn answer(limit: &Limit) -> LimitAnswer<'_> {
    LimitAnswer {
        resource_class: &limit.class,
        generation: limit.generation,
        normal: limit.normal.map(|normal| match normal {
            NormalLimit::Physical => Normal::Physical,
            buffer @ NormalLimit::Buffer(_) => Normal::Buffer(BufferShare(buffer)),
        }),
    }
}

/// Writes a limit.
pub fn write_one(limit: &Limit) -> Vec<u8> {
    json(&answer(limit))
}

/// Writes a page of limits. `next` is the class after which the next page begins.
pub fn write_list(limits: &[Limit], next: Option<&str>) -> Vec<u8> {
    json(&LimitList {
        limits: limits.iter().map(answer).collect(),
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::compare_nulls;

    fn read(body: &str) -> Result<Set> {
        read_set("VCPU", "", body.as_bytes()).map(|(set, _)| set)
    }

    #[test]
    fn a_limit_is_a_buffer_or_physical_or_none() {
        let normal = |text: &str| {
            read(&format!(r#"{{"generation": null, "normal": {text}}}"#))
                .unwrap()
                .normal
        };
        assert_eq!(normal(r#"{"buffer": "0.15"}"#), Some(NormalLimit::Buffer(150_000)));
        assert_eq!(normal(r#""physical""#), Some(NormalLimit::Physical));
        assert_eq!(normal("null"), None);
    }

    #[test]
    fn both_at_once_and_what_is_no_share_are_refused() {
        for wrong in [
            r#"{"buffer": "0.15", "physical": true}"#,
            r#"{"buffer": "0.15", "overbooking": "0.2"}"#,
            r#"{"buffer": "1.2"}"#,
            r#"{"buffer": "-0.1"}"#,
            r#"{"buffer": 0.15}"#,
            r#"{"buffer": "physical"}"#,
            r#"{"physical": null}"#,
            r#"{"overbooking": "-1.0"}"#,
            "{}",
            "0.15",
            r#""all""#,
        ] {
            let refused = read(&format!(r#"{{"generation": 1, "normal": {wrong}}}"#));
            assert!(refused.is_err(), "{wrong}: {refused:?}");
        }
        assert!(read(r#"{"normal": null}"#).is_err());
        assert!(read(r#"{"generation": 1}"#).is_err());
    }

    #[test]
    fn writes_what_can_be_read_again() {
        for normal in [Some(NormalLimit::Buffer(150_000)), Some(NormalLimit::Physical), None] {
            let limit = Limit {
                class: "VCPU".to_owned(),
                generation: Some(3),
                normal,
            };
            let written = String::from_utf8(write_one(&limit)).unwrap();
            let set = read(&written).unwrap();
            assert_eq!((set.normal, set.generation), (normal, Some(3)), "{written}");
        }
    }

    #[test]
    fn another_class_than_that_of_the_path_is_refused() {
        let refused = read(r#"{"resource_class": "DISK_GB", "generation": 3, "normal": null}"#).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.starts_with("resource_class: \"DISK_GB\" differs from VCPU"),
            "{refused}"
        );
    }

    #[test]
    fn a_patch_changes_what_it_names_and_has_the_refusals_of_a_put() {
        let shown = Limit {
            class: "VCPU".to_owned(),
            generation: Some(3),
            normal: Some(NormalLimit::Buffer(150_000)),
        };
        compare_nulls::<SetBody>(&write_one(&shown));
        let patched = |body: &str| read_patch(&shown, "", body.as_bytes()).map(|(set, _)| (set.generation, set.normal));
        for (body, generation, normal) in [
            (r#"{"generation": 3}"#, Some(3), Some(NormalLimit::Buffer(150_000))),
            (r#"{"generation": 2, "normal": null}"#, Some(2), None),
            (
                r#"{"generation": null, "normal": "physical"}"#,
                None,
                Some(NormalLimit::Physical),
            ),
            (
                r#"{"generation": 3, "normal": {"buffer": "0.2"}, "resource_class": "VCPU"}"#,
                Some(3),
                Some(NormalLimit::Buffer(200_000)),
            ),
        ] {
            assert_eq!(patched(body).unwrap(), (generation, normal), "{body}");
        }
        for (body, sentence) in [
            ("{}", "generation is required."),
            ("[]", "The body: a list is not an object."),
            (
                r#"{"generation": 3, "buffer": null}"#,
                "buffer is unknown; the members are resource_class, generation, normal.",
            ),
            (
                r#"{"generation": 3, "normal": "buffer"}"#,
                "normal: \"buffer\" is not physical, an object with a buffer or null.",
            ),
            (
                r#"{"generation": 3, "normal": 1}"#,
                "normal: 1 is not physical, an object with a buffer or null.",
            ),
            (
                r#"{"generation": 3, "normal": {"physical": 1}}"#,
                "normal.physical is unknown; the members are buffer.",
            ),
            (
                r#"{"generation": 3, "normal": {"buffer": null}}"#,
                "normal.buffer is required.",
            ),
        ] {
            assert_eq!(patched(body).unwrap_err().to_string(), sentence, "{body}");
        }
    }
}
