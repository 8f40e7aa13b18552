//! Negotiates the microversion of a request: `OpenStack-API-Version: placement 1.27`.

use crate::version::Version;
use crate::wire::integer;

/// A version that cannot be served, with the sentence for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unserved {
    Malformed(String),
    Unsupported(String),
}

/// Reads the header, which may name several services: the last mention of `placement` counts. Without a mention, the
/// version is the oldest. `latest` is the newest.
pub fn version(header: Option<&str>) -> Result<Version, Unserved> {
    let mentions = header.into_iter().flat_map(|header| header.rsplit(','));
    let requested = mentions.filter_map(placement_version).next();
    match requested {
        None => Ok(Version::MIN),
        Some("latest") => Ok(Version::MAX),
        Some(text) => parse(text),
    }
}

fn placement_version(mention: &str) -> Option<&str> {
    let (service, version) = mention.trim().split_once(char::is_whitespace)?;
    service.eq_ignore_ascii_case("placement").then(|| version.trim())
}

fn parse(text: &str) -> Result<Version, Unserved> {
    let mut numbers = Vec::new();
    for part in text.splitn(2, '.') {
        numbers.push(integer::decimal(part).ok_or_else(|| malformed(text, &integer::error_message(part)))?);
    }
    let [major, minor] = numbers[..] else {
        return Err(malformed(
            text,
            "Version.__new__() missing 1 required positional argument: 'minor'",
        ));
    };
    let known = Version::all().find(|version| major == 1 && minor == i64::from(version.minor()));
    known.ok_or_else(|| Unserved::Unsupported(format!("Invalid microversion: Unacceptable version header: {text}")))
}

fn malformed(text: &str, reason: &str) -> Unserved {
    Unserved::Malformed(format!(
        "Invalid microversion: invalid version string: {text}; {reason}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_placement_is_found_among_services() {
        for (header, minor) in [
            (None, 0),
            (Some(""), 0),
            (Some("placement"), 0),
            (Some("compute 2.90"), 0),
            (Some("placement 1.7"), 7),
            (Some("placement latest"), 39),
            (Some("PLACEMENT   1.15 "), 15),
            (Some("compute 2.1, placement latest"), 39),
            (Some("placement 1.3,placement 1.15"), 15),
            (Some("placement 1.3, compute 2.1"), 3),
            (Some("placement 1. 15"), 15),
            (Some("placement 01.0_15"), 15),
        ] {
            assert_eq!(version(header), Ok(Version::new(minor)), "{header:?}");
        }
    }

    #[test]
    fn unsupported_and_malformed_versions_are_distinguished() {
        for text in ["1.40", "0.5", "2.0", "-1.5", "1.99999999999999999999"] {
            let sentence = format!("Invalid microversion: Unacceptable version header: {text}");
            assert_eq!(
                version(Some(&format!("placement {text}"))),
                Err(Unserved::Unsupported(sentence))
            );
        }
        for (text, reason) in [
            ("pony.horse", "invalid literal for int() with base 10: 'pony'"),
            ("LATEST", "invalid literal for int() with base 10: 'LATEST'"),
            ("1.2.3", "invalid literal for int() with base 10: '2.3'"),
            ("1", "Version.__new__() missing 1 required positional argument: 'minor'"),
        ] {
            let sentence = format!("Invalid microversion: invalid version string: {text}; {reason}");
            assert_eq!(
                version(Some(&format!("placement {text}"))),
                Err(Unserved::Malformed(sentence))
            );
        }
    }
}
