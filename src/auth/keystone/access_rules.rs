//! Access rules of application credentials: which requests a token may make, by service, method and path.
//!
//! Rules compare the path in one spelling, because a route is found by the decoded path: an encoded slash divides
//! segments as a plain slash does.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The characters that are encoded in a path before rules are compared with the path, as in keystonemiddleware.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// The access rules of one token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRules {
    pub rules: Vec<AccessRule>,
    /// The types of the services in the token's catalogue.
    pub services: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct AccessRule {
    pub service: String,
    pub method: String,
    /// `*` and `{name}` stand for a segment or a part of it, `**` for any text.
    pub path: String,
}

impl AccessRules {
    /// Whether a request to the service of type `own` is allowed. A request with a service's token is made by a service
    /// on behalf of the user. The service has checked the user's own request.
    pub fn allow(&self, own: &str, method: &str, path: &str, has_service_token: bool) -> bool {
        if !self.services.iter().any(|service| service == own) {
            log::warn!(
                "A token with access rules is refused: [keystone_authtoken] service_type = {own} is no service type of \
                 its catalogue"
            );
            return false;
        }
        let path = one_spelling(path);
        let allows = |rule: &AccessRule| rule.service == own && rule.method == method && matches(&rule.path, &path);
        has_service_token || self.rules.iter().any(allows)
    }
}

/// The decoded path, encoded again only as far as necessary.
fn one_spelling(path: &str) -> String {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    percent_encode(&decoded, ENCODED).to_string()
}

#[derive(Clone, Copy)]
enum Piece {
    Literal(char),
    /// One or more characters without a slash.
    Segment,
    /// Any text, even an empty one.
    Any,
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let tag = rest.strip_prefix('{').and_then(|tail| tail.find('}'));
        let (piece, length) = match (first, tag) {
            ('{', Some(end)) => (Some(Piece::Segment), end + 2),
            ('*', _) if rest.starts_with("**") => (Some(Piece::Any), 2),
            ('*', _) => (Some(Piece::Segment), 1),
            // A brace without its other half is dropped, as in keystonemiddleware.
            ('{' | '}', _) => (None, 1),
            _ => (Some(Piece::Literal(first)), first.len_utf8()),
        };
        pieces.extend(piece);
        rest = &rest[length..];
    }
    pieces
}

/// Whether the pattern matches the whole path. The states of the pattern are followed side by side, so no pattern takes
/// long.
fn matches(pattern: &str, path: &str) -> bool {
    let pieces = pieces(pattern);
    // Which beginnings of the pattern match the text so far; and whether a segment has begun.
    let mut states = vec![false; pieces.len() + 1];
    let mut begun = vec![false; pieces.len() + 1];
    states[0] = true;
    skip_any(&pieces, &mut states);
    for c in path.chars() {
        let mut next = vec![false; pieces.len() + 1];
        let mut next_begun = vec![false; pieces.len() + 1];
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Literal(literal) => next[at + 1] |= states[at] && *literal == c,
                Piece::Segment if c != '/' && (states[at] || begun[at]) => {
                    next_begun[at] = true;
                    next[at + 1] = true;
                }
                Piece::Segment => {}
                Piece::Any => next[at] |= states[at],
            }
        }
        skip_any(&pieces, &mut next);
        (states, begun) = (next, next_begun);
    }
    states[pieces.len()]
}

/// `**` also matches nothing.
fn skip_any(pieces: &[Piece], states: &mut [bool]) {
    for (at, piece) in pieces.iter().enumerate() {
        if matches!(piece, Piece::Any) && states[at] {
            states[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_segments_and_whole_paths() {
        for (pattern, path, expected) in [
            ("/usages", "/usages", true),
            ("/usages", "/usages/", false),
            ("/usages", "/x/usages", false),
            ("/a.b", "/axb", false),
            ("/resource_providers/*", "/resource_providers/1", true),
            ("/resource_providers/*", "/resource_providers/", false),
            ("/resource_providers/*", "/resource_providers/1/usages", false),
            (
                "/resource_providers/{uuid}/usages",
                "/resource_providers/1-2/usages",
                true,
            ),
            (
                "/resource_providers/{uuid}/usages",
                "/resource_providers//usages",
                false,
            ),
            ("/resource_providers/**", "/resource_providers/1/usages", true),
            ("/resource_providers/**", "/resource_providers/", true),
            ("/resource_providers/**", "/resource_provider", false),
            ("/**/usages", "/a/b/usages", true),
            ("/**/usages", "/a/b/usage", false),
            ("**", "", true),
            ("/x*y", "/xy", false),
            ("/x*y", "/xay", true),
            ("/x{", "/x", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        // Backtracking would take for ever: the text has a thousand places for each of fifty pieces.
        assert!(!matches(&"**a".repeat(50), &"ab".repeat(1_000)));
    }

    #[test]
    fn a_path_is_compared_as_it_is_routed() {
        for (path, expected) in [
            (
                "/resource_providers/1%2Finventories",
                "/resource_providers/1/inventories",
            ),
            ("/resource_providers%2f1", "/resource_providers/1"),
            ("/%75sages", "/usages"),
            ("/traits/A%20%c3%a9%0a", "/traits/A%20%C3%A9%0A"),
            ("/a-b_c.d~!$&'()*+,;=:@%40", "/a-b_c.d~!$&'()*+,;=:@@"),
            ("/%252F%zz", "/%252F%25zz"),
        ] {
            assert_eq!(one_spelling(path), expected, "{path}");
        }
    }

    #[test]
    fn a_rule_names_service_method_and_path() {
        let rules = AccessRules {
            rules: vec![AccessRule {
                service: "placement".into(),
                method: "GET".into(),
                path: "/usages".into(),
            }],
            services: vec!["placement".into(), "compute".into()],
        };
        assert!(rules.allow("placement", "GET", "/usages", false));
        assert!(rules.allow("placement", "GET", "/%75sages", false));
        assert!(!rules.allow("placement", "PUT", "/usages", false));
        assert!(!rules.allow("placement", "GET", "/traits", false));
        assert!(!rules.allow("compute", "GET", "/usages", false));
        // On behalf of a user, a service may make every request to a service in the catalogue.
        assert!(rules.allow("placement", "GET", "/traits", true));
        assert!(!rules.allow("network", "GET", "/usages", true));
    }
}
