//! `/`: the supported versions.

use serde_json::json;

use super::output;
use crate::version::Version;

/// The version document. The link is relative, and so valid under any path prefix.
pub fn write() -> Vec<u8> {
    output::json(&json!({"versions": [{
        "id": format!("v{}", Version::MIN),
        "max_version": Version::MAX.to_string(),
        "min_version": Version::MIN.to_string(),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": ""}],
    }]}))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_has_the_oldest_and_the_newest_version() {
        assert_eq!(
            String::from_utf8(super::write()).unwrap(),
            r#"{"versions":[{"id":"v1.0","max_version":"1.39","min_version":"1.0","status":"CURRENT","#.to_owned()
                + r#""links":[{"rel":"self","href":""}]}]}"#
        );
    }
}
