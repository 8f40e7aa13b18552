//! The `Accept` header of a request, parsed as tolerantly as in WebOb.

/// An `Accept` header.
#[derive(Debug, Clone)]
pub struct Accept {
    text: String,
    /// `None` if the header cannot be parsed; such a header accepts everything.
    ranges: Option<Vec<Range>>,
}

#[derive(Debug, Clone)]
struct Range {
    kind: String,
    subtype: String,
    /// Parameters as in `version=1`. A range with parameters matches nothing in placet.
    has_parameters: bool,
    quality: f32,
}

impl Accept {
    /// Parses the header. A missing header and `*/*` are read as JSON, so errors are JSON too.
    pub fn read(header: Option<&str>) -> Accept {
        let text = match header.map(str::trim) {
            None | Some("" | "*/*") => "application/json",
            Some(text) => text,
        };
        Accept {
            text: text.to_owned(),
            ranges: AcceptParser { rest: text }.ranges(),
        }
    }

    /// The header's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The quality (0 to 1) of `kind/subtype`; 0 is not acceptable. The most specific range decides.
    pub fn quality(&self, kind: &str, subtype: &str) -> f32 {
        let Some(ranges) = &self.ranges else { return 1.0 };
        // Of two equally specific ranges the first decides, and `max_by_key` returns the last.
        let matching = ranges
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

/// Parses the header by the grammar of RFC 7231. Each part returns `None` if the part is absent.
struct AcceptParser<'a> {
    rest: &'a str,
}

impl<'a> AcceptParser<'a> {
    /// The whole header, or `None` if the grammar does not cover the whole header.
    fn ranges(&mut self) -> Option<Vec<Range>> {
        let mut ranges: Vec<Range> = Vec::new();
        if self.rest.is_empty() {
            return Some(ranges);
        }
        if !self.take(",") {
            ranges.push(self.range()?);
        }
        loop {
            self.skip_blanks();
            if self.rest.is_empty() {
                return Some(ranges);
            }
            if !self.take(",") {
                return None;
            }
            self.skip_blanks();
            if !self.rest.is_empty() && !self.rest.starts_with(',') {
                ranges.push(self.range()?);
            }
        }
    }

    fn range(&mut self) -> Option<Range> {
        let kind = self.token()?.to_ascii_lowercase();
        let subtype = self.after("/", Self::token)?.to_ascii_lowercase();
        let mut range = Range {
            kind,
            subtype,
            has_parameters: false,
            quality: 1.0,
        };
        while self.next_parameter() {
            if self.take("q=") || self.take("Q=") {
                range.quality = self.quality()?;
                while self.next_parameter() {
                    self.token()?;
                    if self.take("=") {
                        self.word()?;
                    }
                }
                break;
            }
            self.token()?;
            self.after("=", Self::word)?;
            range.has_parameters = true;
        }
        Some(range)
    }

    /// Skips the semicolon before a parameter, if any.
    fn next_parameter(&mut self) -> bool {
        let before = self.rest;
        self.skip_blanks();
        if self.take(";") {
            self.skip_blanks();
            return true;
        }
        self.rest = before;
        false
    }

    /// 0 to 1, with at most three digits after the point.
    fn quality(&mut self) -> Option<f32> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fits = match whole {
            "0" => fraction.bytes().all(|b| b.is_ascii_digit()),
            "1" => fraction.bytes().all(|b| b == b'0'),
            _ => false,
        };
        self.rest = rest;
        number.parse().ok().filter(|_| fits && fraction.len() <= 3)
    }

    /// A token or a quoted string.
    fn word(&mut self) -> Option<&'a str> {
        if !self.rest.starts_with('"') {
            return self.token();
        }
        let mut escaped = true;
        let end = self.rest.find(|c: char| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        let (word, rest) = self.rest.split_at(end + 1);
        self.rest = rest;
        Some(word)
    }

    fn token(&mut self) -> Option<&'a str> {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let end = self.rest.find(|c| !is_token(c)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!token.is_empty()).then_some(token)
    }

    fn after<T>(&mut self, mark: &str, part: fn(&mut Self) -> Option<T>) -> Option<T> {
        self.take(mark).then(|| part(self))?
    }

    fn take(&mut self, mark: &str) -> bool {
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }
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
