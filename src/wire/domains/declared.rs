//! A declared domain in bodies and answers: `/v1/domains/{dimension}/{path}`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::domains::{DeclaredDomain, DeclaredKey, Delete, Set};
use crate::search::{Domain, domain_path};
use crate::wire::bad_request;
use crate::wire::native::{
    Null, Nullable, Patch, Patched, ShownMember, Text, Uuid, read_body, read_merge_patch, read_query,
};
use crate::wire::output::json;
use crate::wire::providers::{check_dimension, check_levels};
use crate::wire::text_form::mistake_of_path;

/// The most characters of the path of a declared domain: MariaDB's index takes no longer key.
const MAX_PATH: usize = 255;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetDomainParameters {
    /// `true`: nothing is written. The answer is the domain as foreseen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteDomainParameters {
    /// The generation known to the client. If the domain has a newer generation, the request is refused with 409.
    generation: Option<i64>,
    /// `true`: nothing is written.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainBody {
    /// The dimension. If given, the dimension of the path.
    dimension: Option<Text<1, 255>>,
    /// The path of the domain. If given, the path in the URL.
    path: Option<Text<1, MAX_PATH>>,
    /// The generation known to the client, or `null` for a domain without an aggregate. If the domain has a newer
    /// generation, the request is refused with 409.
    generation: Nullable<i64>,
    /// The uuid of the aggregate whose members are in the domain.
    aggregate: Uuid,
}

impl Patched for DomainBody {
    const MERGED: &'static [ShownMember] = &[("aggregate", Null::IsValue)];
}

#[derive(Serialize, JsonSchema)]
pub struct DeclaredAnswer<'a> {
    /// The dimension.
    dimension: &'a str,
    /// The path of the domain.
    path: &'a str,
    /// A number. The number increases when the aggregate changes.
    generation: i64,
    /// The uuid of the aggregate whose members are in the domain.
    aggregate: &'a str,
}

/// Reads the domain of a path.
///
/// # Errors
/// Every mistake in the texts.
pub fn read_domain(dimension: &str, path: &str) -> Result<Domain> {
    let mut mistakes = Vec::new();
    let path = domain_path(path);
    check_dimension("dimension", dimension, &mut mistakes);
    check_levels("path", path, MAX_PATH, &mut mistakes);
    if let Some(mistake) = mistake_of_path(path) {
        mistakes.push(format!("path: a level of the path {mistake}"));
    }
    refuse(&mistakes)?;
    Ok(Domain {
        dimension: dimension.into(),
        path: path.into(),
    })
}

/// Reads `PUT /v1/domains/{dimension}/{path}`, and whether the request is a dry run.
///
/// # Errors
/// The first wrong member, by path.
pub fn read_set(domain: &Domain, query: &str, body: &[u8]) -> Result<(Set, bool)> {
    let SetDomainParameters { dry_run } = read_query(query)?;
    Ok((set(domain, read_body(body)?)?, dry_run))
}

/// Reads `PATCH /v1/domains/{dimension}/{path}` as a `PUT` of the patched domain, and whether the request is a dry run.
///
/// # Errors
/// As of [`read_set`].
pub fn read_patch(shown: &DeclaredDomain, query: &str, body: &[u8]) -> Result<(Set, bool)> {
    let SetDomainParameters { dry_run } = read_query(query)?;
    let Patch(body) = read_merge_patch(&write_declared(shown), body)?;
    Ok((set(&shown.domain, body)?, dry_run))
}

fn set(domain: &Domain, body: DomainBody) -> Result<Set> {
    let mut mistakes = Vec::new();
    let mut compare = |member: &str, given: Option<&str>, known: &str| {
        if let Some(given) = given.filter(|given| *given != known) {
            mistakes.push(format!(
                "{member}: {given:?} differs from {known:?}, the {member} in the URL"
            ));
        }
    };
    let path = body.path.as_ref().map(|path| domain_path(&path.0));
    compare(
        "dimension",
        body.dimension.as_ref().map(|text| text.0.as_str()),
        &domain.dimension,
    );
    compare("path", path, &domain.path);
    refuse(&mistakes)?;
    Ok(Set {
        key: DeclaredKey::new(domain),
        generation: body.generation.0,
        aggregate: body.aggregate.0,
    })
}

/// Reads the query string of `DELETE /v1/domains/{dimension}/{path}`, and whether the request is a dry run.
///
/// # Errors
/// The first wrong parameter.
pub fn read_delete(domain: &Domain, query: &str) -> Result<(Delete, bool)> {
    let DeleteDomainParameters { generation, dry_run } = read_query(query)?;
    let key = DeclaredKey::new(domain);
    Ok((Delete { key, generation }, dry_run))
}

fn refuse(mistakes: &[String]) -> Result<()> {
    if mistakes.is_empty() {
        return Ok(());
    }
    bad_request(format!("{}.", mistakes.join("; ")))
}

/// Writes a declared domain.
pub fn write_declared(shown: &DeclaredDomain) -> Vec<u8> {
    json(&DeclaredAnswer {
        dimension: &shown.domain.dimension,
        path: &shown.domain.path,
        generation: shown.row.generation,
        aggregate: &shown.row.aggregate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::domains::DomainRow;
    use crate::wire::tests::compare_nulls;

    const AGGREGATE: &str = "0123abcd-4567-89ab-cdef-0123456789ab";

    fn shown() -> DeclaredDomain {
        DeclaredDomain {
            domain: read_domain("fault", "az1/r1/").unwrap(),
            row: DomainRow {
                generation: 3,
                aggregate: AGGREGATE.to_owned(),
            },
        }
    }

    #[test]
    fn a_shown_domain_can_be_sent_back_and_a_patch_keeps_the_aggregate() {
        let written = write_declared(&shown());
        compare_nulls::<DomainBody>(&written);
        let (sent_back, _) = read_set(&shown().domain, "", &written).unwrap();
        let (patched, _) = read_patch(&shown(), "", br#"{"generation": 3}"#).unwrap();
        for set in [sent_back, patched] {
            let read = (set.key.domain(), set.generation, set.aggregate.as_str());
            assert_eq!(read, (shown().domain, Some(3), AGGREGATE));
        }
    }

    #[test]
    fn wrong_texts_in_the_url_and_other_names_in_the_body_are_refused() {
        for (dimension, path, sentence) in [
            ("host", "r1", "dimension is built in: each host is a domain of its own."),
            ("a b", "r1", "dimension: a dimension begins with a letter or _"),
            ("fault", "a//b", "path: a level of the path is empty, because of //."),
            ("fault", "/", "path has 0 characters; from 1 to 255 are allowed."),
            (
                "fault",
                "a /b",
                "path: a level of the path begins or ends with white space.",
            ),
        ] {
            let refused = read_domain(dimension, path).unwrap_err().to_string();
            assert!(refused.starts_with(sentence), "{refused}");
        }
        assert!(read_domain("fault", &"x".repeat(256)).is_err());
        let body = format!(r#"{{"dimension": "upgrade", "path": "az1", "generation": 1, "aggregate": "{AGGREGATE}"}}"#);
        let refused = read_set(&shown().domain, "", body.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            refused,
            "dimension: \"upgrade\" differs from \"fault\", the dimension in the URL; path: \"az1\" differs from \
             \"az1/r1\", the path in the URL."
        );
    }
}
