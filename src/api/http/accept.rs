//! The `Accept` header of a request, parsed as tolerantly as in WebOb.

/// An `Accept` header, parsed once.
#[derive(Debug, Clone)]
pub struct Accept {
    pub text: String,
    /// The quality of HTML, from 0 to 1; 0 is not acceptable.
    pub html: f32,
    /// The quality of JSON.
    pub json: f32,
    /// The quality of lines of JSON.
    pub lines: f32,
}

#[derive(Debug, PartialEq)]
struct MediaRange<'a> {
    kind: &'a str,
    subtype: &'a str,
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
        let ranges = ranges(text);
        Accept {
            text: text.to_owned(),
            html: quality(ranges.as_deref(), "text", "html"),
            json: quality(ranges.as_deref(), "application", "json"),
            lines: quality(ranges.as_deref(), "application", "x-ndjson"),
        }
    }
}

/// The quality of `kind/subtype`: of the most specific ranges the first decides. A header that cannot be parsed accepts
/// everything.
fn quality(ranges: Option<&[MediaRange<'_>]>, kind: &str, subtype: &str) -> f32 {
    let Some(ranges) = ranges else { return 1.0 };
    let is_kind = |range: &&MediaRange<'_>| range.kind.eq_ignore_ascii_case(kind);
    let is_exact = |range: &&MediaRange<'_>| is_kind(range) && range.subtype.eq_ignore_ascii_case(subtype);
    let exact = ranges.iter().find(|range| is_exact(range) && !range.has_parameters);
    let of_kind = || ranges.iter().find(|range| is_kind(range) && range.subtype == "*");
    let of_all = || ranges.iter().find(|range| range.kind == "*" && range.subtype == "*");
    exact
        .or_else(of_kind)
        .or_else(of_all)
        .map_or(0.0, |range| range.quality)
}

/// The ranges of the header, or `None` if the grammar (RFC 7231) does not cover the whole header.
fn ranges(text: &str) -> Option<Vec<MediaRange<'_>>> {
    let mut items = split(text, ',');
    // After a comma at the beginning the grammar has a second comma.
    if text.starts_with(',') && items.nth(1) != Some("") {
        return None;
    }
    items.filter(|item| !item.is_empty()).map(range).collect()
}

/// The parts of a text between separators that are not in quotes, without the blanks around each part.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = text.split(move |c: char| {
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = is_quoted && c == '\\' && !is_escaped;
        c == separator && !is_quoted
    });
    parts.map(|part| part.trim_matches([' ', '\t']))
}

/// Type, subtype, parameters, and the quality with its extensions.
fn range(text: &str) -> Option<MediaRange<'_>> {
    let mut parts = split(text, ';');
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let (mut has_parameters, mut quality) = (false, None);
    for part in parts {
        let pair = part.split_once('=');
        let (name, value) = pair.map_or((part, None), |(name, value)| (name, Some(value)));
        match (quality, value) {
            (None, None) => return None,
            (None, Some(value)) if name.eq_ignore_ascii_case("q") => quality = Some(quality_of(value)?),
            (None, Some(_)) => has_parameters = true,
            (Some(_), _) => {}
        }
        if !is_token(name) || !value.is_none_or(is_word) {
            return None;
        }
    }
    (is_token(kind) && is_token(subtype)).then(|| MediaRange {
        kind,
        subtype,
        has_parameters,
        quality: quality.unwrap_or(1.0),
    })
}

/// A number from 0 to 1 with at most three decimals.
fn quality_of(text: &str) -> Option<f32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = whole.len() == 1 && decimals.len() <= 3 && is_digits(whole) && is_digits(decimals);
    let quality = text.parse::<f32>().ok();
    quality.filter(|quality| is_number && *quality <= 1.0)
}

fn is_token(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(is_allowed)
}

/// A token or a text in quotes.
fn is_word(text: &str) -> bool {
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let unescaped = quoted.map(|text| text.replace(r"\\", "").replace(r#"\""#, ""));
    is_token(text) || unescaped.is_some_and(|text| !text.contains('"') && !text.ends_with('\\'))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use regex::Regex;

    use super::*;
    use crate::tests::proptest_config;

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
            assert!(Accept::read(header).json > 0.0, "{header:?}");
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
            assert_eq!(Accept::read(Some(header)).json, 0.0, "{header}");
        }
    }

    #[test]
    fn the_most_specific_range_decides() {
        let ranges = ranges("*/*;q=0.1, text/*;q=0.5, text/html;q=0.9");
        assert_eq!(quality(ranges.as_deref(), "text", "html"), 0.9);
        assert_eq!(quality(ranges.as_deref(), "text", "plain"), 0.5);
        assert_eq!(quality(ranges.as_deref(), "application", "json"), 0.1);
    }

    /// The grammar of a range as a pattern: exact, but slow on long headers.
    fn range_pattern() -> String {
        let (token, semicolon) = (r"[!#$%&'*+\-.^_`|~0-9A-Za-z]", r"[ \t]*;[ \t]*");
        let word = format!(r#"(?:{token}+|"(?:[^"\\]|\\.)*")"#);
        let name_but_q = format!(r"(?:[qQ]{token}+|[!#$%&'*+\-.^_`|~0-9A-PR-Za-pr-z]{token}*)");
        let quality = r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?";
        format!(
            "({token}+)/({token}+)((?:{semicolon}{name_but_q}={word})*)\
             (?:{semicolon}[qQ]=({quality})(?:{semicolon}{token}+(?:={word})?)*)?"
        )
    }

    fn compiled(pattern: &str) -> Regex {
        Regex::new(&format!("(?s){pattern}")).expect("a pattern")
    }

    /// As [`ranges`], by the pattern.
    fn ranges_by_pattern(text: &str) -> Option<Vec<MediaRange<'_>>> {
        static RANGE: LazyLock<Regex> = LazyLock::new(|| compiled(&range_pattern()));
        static HEADER: LazyLock<Regex> = LazyLock::new(|| {
            let (range, blanks) = (range_pattern(), r"[ \t]*");
            compiled(&format!("^(?:,|{range})(?:{blanks},(?:{blanks}{range})?)*{blanks}$"))
        });
        let found = RANGE.captures_iter(text).map(|range| MediaRange {
            kind: range.get(1).map_or("", |kind| kind.as_str()),
            subtype: range.get(2).map_or("", |subtype| subtype.as_str()),
            has_parameters: !range[3].is_empty(),
            quality: range
                .get(4)
                .map_or(1.0, |quality| quality.as_str().parse().expect("a number")),
        });
        HEADER.is_match(text).then(|| found.collect())
    }

    const PARTS: &[&str] = &[
        "a/b",
        "text/html",
        "*/*",
        ";v=1",
        ";v",
        ";v=\"x\"",
        ";v=\"a/b,\\\"é;\\\\\"",
        ";q=0",
        ";Q=0.5",
        ";q=1.000",
        ";q=1.001",
        ";q=0.1e1",
        ",",
        ", ",
        ",",
        ";",
        "q",
        "=",
        "/",
        "\"",
        "\\",
        " ",
        "\t",
        "0",
        ".",
        "é",
    ];

    #[test]
    fn the_ranges_are_those_of_the_grammar() {
        let headers = vec(select(PARTS), 1..8).prop_map(|parts| parts.concat());
        proptest!(proptest_config(4_000, 100_000), |(header in headers)| {
            let text = header.trim();
            prop_assert_eq!(ranges(text), if text.is_empty() { Some(Vec::new()) } else { ranges_by_pattern(text) });
        });
    }

    /// Each refusal looked at the whole header several times, by two patterns: 60 KB took a worker 100 ms.
    #[test]
    fn a_long_header_is_parsed_once() {
        let accept = Accept::read(Some(&"a/b,".repeat(15_000)));
        assert_eq!((accept.html, accept.json), (0.0, 0.0));
        assert_eq!(ranges(&"a/b,".repeat(15_000)).map(|ranges| ranges.len()), Some(15_000));
    }
}
