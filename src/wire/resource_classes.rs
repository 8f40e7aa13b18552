//! Parses the requests to `/resource_classes`, and serializes the answers.

use serde::Serialize;

use super::bad_request;
use super::output::{Link, json};
use super::steps::Steps;
use super::value::{Json, Object};
use crate::error::Result;
use crate::model::resource_classes::{Create, Ensure, Rename, ResourceClass};
use crate::version::Version;

static NAME: Steps = Steps::of_body(include_str!("schemas/resource_classes.json"), "name");

fn name(version: Version, body: &[u8]) -> Result<String> {
    Ok(NAME.read(version, body)?.field("name").text().to_owned())
}

/// Reads `POST /resource_classes`.
pub fn read_create(version: Version, body: &[u8]) -> Result<Create> {
    let name = name(version, body)?;
    // As a Python pattern, the schema accepts a final line feed. A `Location` header cannot contain a line feed.
    if name.ends_with('\n') {
        return bad_request("The name of a resource class cannot end with a line feed.");
    }
    Ok(Create { name })
}

/// Reads `PUT /resource_classes/{name}` before 1.7, which renames the class.
pub fn read_rename(version: Version, from: &str, body: &[u8]) -> Result<Rename> {
    Ok(Rename {
        from: from.to_owned(),
        to: name(version, body)?,
    })
}

/// Reads `PUT /resource_classes/{name}` from 1.7 on, which has no body. The name in the path is validated with the
/// schema of a body.
pub fn read_ensure(version: Version, name: &str) -> Result<Ensure> {
    let body: Object = [("name".to_owned(), Json::String(name.into()))].into_iter().collect();
    NAME.validate(version, &Json::Object(body))?;
    Ok(Ensure { name: name.to_owned() })
}

#[derive(Serialize)]
struct One<'a> {
    name: &'a str,
    links: [Link<'static>; 1],
}

#[derive(Serialize)]
struct List<'a> {
    resource_classes: Vec<One<'a>>,
}

fn one<'a>(prefix: &str, name: &'a str) -> One<'a> {
    let href = format!("{prefix}/resource_classes/{name}");
    One {
        name,
        links: [Link { rel: "self", href }],
    }
}

/// Writes a single class. `prefix` is the path prefix of the service.
pub fn write_one(prefix: &str, name: &str) -> Vec<u8> {
    json(&one(prefix, name))
}

/// Writes a list of classes.
pub fn write_list(prefix: &str, classes: &[ResourceClass]) -> Vec<u8> {
    json(&List {
        resource_classes: classes.iter().map(|class| one(prefix, &class.name)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_custom_classes_can_be_created() {
        let version = Version::new(7);
        assert_eq!(
            read_create(version, br#"{"name": "CUSTOM_A"}"#).unwrap().name,
            "CUSTOM_A"
        );
        assert_eq!(read_ensure(version, "CUSTOM_A").unwrap().name, "CUSTOM_A");
        let rename = read_rename(Version::new(2), "CUSTOM_A", br#"{"name": "CUSTOM_B"}"#).unwrap();
        assert_eq!((rename.from.as_str(), rename.to.as_str()), ("CUSTOM_A", "CUSTOM_B"));
        let refusal = read_ensure(version, "VCPU").unwrap_err().to_string();
        assert!(
            refusal.starts_with("JSON does not validate: 'VCPU' does not match '^CUSTOM_[A-Z0-9_]+$'"),
            "{refusal}"
        );
        assert!(read_ensure(version, "CUSTOM_A\", \"name\": \"CUSTOM_B").is_err());
    }

    #[test]
    fn writes_classes_with_their_links() {
        assert_eq!(
            String::from_utf8(write_one("/placement", "VCPU")).unwrap(),
            r#"{"name":"VCPU","links":[{"rel":"self","href":"/placement/resource_classes/VCPU"}]}"#
        );
        let class = ResourceClass {
            name: Arc::from("VCPU"),
            modified: None,
        };
        assert_eq!(
            String::from_utf8(write_list("", &[class])).unwrap(),
            r#"{"resource_classes":[{"name":"VCPU","links":[{"rel":"self","href":"/resource_classes/VCPU"}]}]}"#
        );
    }
}
