//! The `Accept` header of a request, parsed as tolerantly as in WebOb.

use std::sync::LazyLock;

use regex::Regex;

/// An `Accept` header.
#[derive(Debug, Clone)]
pub struct Accept {
    text: String,
}

#[derive(Debug)]
struct Range {
    kind: String,
    subtype: String,
    /// Parameters as in `version=1`. A range with parameters matches nothing in placet.
    has_parameters: bool,
    quality: f32,
}

impl Accept {
    /// Reads the header. A missing header and `*/*` are read as JSON, so errors are JSON too.
    pub fn read(header: Option<&str>) -> Accept {
        let text = match header.map(str::trim) {
            None | Some("" | "*/*") => "application/json",
            Some(text) => text,
        };
        Accept { text: text.to_owned() }
    }

    /// The header's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The quality (0 to 1) of `kind/subtype`; 0 is not acceptable. The most specific range decides. A header that
    /// cannot be parsed accepts everything.
    pub fn quality(&self, kind: &str, subtype: &str) -> f32 {
        let Some(found) = ranges(&self.text) else { return 1.0 };
        // Of two equally specific ranges the first decides, and `max_by_key` returns the last.
        let matching = found
            .iter()
            .rev()
            .filter(|range| range.specificity(kind, subtype).is_some());
        matching
            .max_by_key(|range| range.specificity(kind, subtype))
            .map_or(0.0, |range| range.quality)
    }

    /// Whether a JSON answer is acceptable.
    pub fn accepts_json(&self) -> bool {
        self.quality("application", "json") > 0.0
    }
}

impl Range {
    /// How specifically the range matches `kind/subtype`; `None` without a match.
    fn specificity(&self, kind: &str, subtype: &str) -> Option<u8> {
        match (self.kind.as_str(), self.subtype.as_str()) {
            (k, s) if k == kind && s == subtype && !self.has_parameters => Some(2),
            (k, s) if k == kind && s == subtype => None,
            (k, "*") if k == kind => Some(1),
            ("*", "*") => Some(0),
            _ => None,
        }
    }
}

/// The characters of a token.
const TOKEN: &str = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]";

/// The grammar of a range (RFC 7231): type, subtype, parameters, and the quality with its extensions.
fn range_pattern() -> String {
    let semicolon = r"[ \t]*;[ \t]*";
    let word = format!(r#"(?:{TOKEN}+|"(?:[^"\\]|\\.)*")"#);
    let name_but_q = format!(r"(?:[qQ]{TOKEN}+|[!#$%&'*+\-.^_`|~0-9A-PR-Za-pr-z]{TOKEN}*)");
    let quality = r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?";
    format!(
        "({TOKEN}+)/({TOKEN}+)((?:{semicolon}{name_but_q}={word})*)\
         (?:{semicolon}[qQ]=({quality})(?:{semicolon}{TOKEN}+(?:={word})?)*)?"
    )
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(&format!("(?s){pattern}")).expect("a constant pattern that the tests compile")
}

/// The ranges of the header, or `None` if the grammar does not cover the whole header.
fn ranges(text: &str) -> Option<Vec<Range>> {
    static RANGE: LazyLock<Regex> = LazyLock::new(|| compiled(&range_pattern()));
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        let (range, blanks) = (range_pattern(), r"[ \t]*");
        compiled(&format!("^(?:,|{range})(?:{blanks},(?:{blanks}{range})?)*{blanks}$"))
    });
    let found = RANGE.captures_iter(text).map(|range| Range {
        kind: range[1].to_ascii_lowercase(),
        subtype: range[2].to_ascii_lowercase(),
        has_parameters: !range[3].is_empty(),
        quality: range
            .get(4)
            .and_then(|quality| quality.as_str().parse().ok())
            .unwrap_or(1.0),
    });
    HEADER.is_match(text).then(|| found.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_acceptable_if_the_header_allows_it() {
        for header in [
            None,
            Some(""),
            Some("*/*"),
            Some("application/json"),
            Some("Application/JSON;q=0.1"),
            Some("application/*"),
            Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            Some("!!not a header"),
            Some("application/json;q =0.5"),
            Some("application/json;q=0.0001"),
            Some("text/html;q=1.001"),
            Some(",application/json ;q=0.5;x;y=\"z\","),
            Some("*/*;version=1"),
            Some("application/json, application/json;q=0"),
        ] {
            assert!(Accept::read(header).accepts_json(), "{header:?}");
        }
        for header in [
            "text/plain",
            "text/html,application/xhtml+xml,application/xml;q=0.9",
            "application/json;q=0",
            "application/json;version=1",
            "application/json;a=\"b;q=0\\\"\"",
            "*/json",
            "application/json;q=0., application/json",
            "application/json;q=0, */*",
        ] {
            assert!(!Accept::read(Some(header)).accepts_json(), "{header}");
        }
    }

    #[test]
    fn the_most_specific_range_decides() {
        let accept = Accept::read(Some("*/*;q=0.1, text/*;q=0.5, text/html;q=0.9"));
        assert_eq!(accept.quality("text", "html"), 0.9);
        assert_eq!(accept.quality("text", "plain"), 0.5);
        assert_eq!(accept.quality("application", "json"), 0.1);
    }
}
