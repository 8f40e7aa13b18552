//! What a client accepts: the `Accept` header, read as tolerantly as WebOb reads it.

/// An `Accept` header.
#[derive(Debug, Clone)]
pub struct Accept {
    text: String,
    /// `None`: not readable, which accepts everything.
    ranges: Option<Vec<Range>>,
}

#[derive(Debug, Clone)]
struct Range {
    kind: String,
    subtype: String,
    /// With a parameter of its own, such as `version=1`, a range matches nothing that placet has.
    special: bool,
    quality: f32,
}

impl Accept {
    /// Reads the header. One that is missing or accepts everything asks for JSON, so that errors come as JSON too.
    pub fn read(header: Option<&str>) -> Accept {
        let text = match header.map(str::trim) {
            None | Some("" | "*/*") => "application/json",
            Some(text) => text,
        };
        let ranges = text
            .split(',')
            .map(str::trim)
            .filter(|range| !range.is_empty())
            .map(Range::read)
            .collect();
        Accept {
            text: text.to_owned(),
            ranges,
        }
    }

    /// The header's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How much `kind/subtype` is wanted, 0 for not at all. The most specific range decides.
    pub fn quality(&self, kind: &str, subtype: &str) -> f32 {
        let Some(ranges) = &self.ranges else { return 1.0 };
        let matching = |range: &&Range| !range.special && range.specificity(kind, subtype).is_some();
        ranges
            .iter()
            .filter(matching)
            .max_by_key(|range| range.specificity(kind, subtype))
            .map_or(0.0, |range| range.quality)
    }

    /// Whether a JSON answer will do.
    pub fn accepts_json(&self) -> bool {
        self.quality("application", "json") > 0.0
    }
}

impl Range {
    fn read(text: &str) -> Option<Range> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        if !is_token(kind) || !is_token(subtype) || (kind == "*" && subtype != "*") {
            return None;
        }
        let mut range = Range {
            kind: kind.to_ascii_lowercase(),
            subtype: subtype.to_ascii_lowercase(),
            special: false,
            quality: 1.0,
        };
        for part in parts {
            let (name, value) = part.split_once('=')?;
            if name.eq_ignore_ascii_case("q") {
                range.quality = value.parse().ok().filter(|q| (0.0..=1.0).contains(q))?;
                break;
            }
            range.special = true;
        }
        Some(range)
    }

    /// How closely the range describes `kind/subtype`; `None` where it does not.
    fn specificity(&self, kind: &str, subtype: &str) -> Option<u8> {
        match (self.kind.as_str(), self.subtype.as_str()) {
            ("*", _) => Some(0),
            (k, "*") if k == kind => Some(1),
            (k, s) if k == kind && s == subtype => Some(2),
            _ => None,
        }
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_will_do_where_the_header_lets_it() {
        for header in [
            None,
            Some(""),
            Some("*/*"),
            Some("application/json"),
            Some("Application/JSON;q=0.1"),
            Some("application/*"),
            Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            Some("!!not a header"),
        ] {
            assert!(Accept::read(header).accepts_json(), "{header:?}");
        }
        for header in [
            "text/plain",
            "text/html,application/xhtml+xml,application/xml;q=0.9",
            "application/json;q=0",
            "application/json;version=1",
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
