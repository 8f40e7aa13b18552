//! Negotiates the microversion of a request: `OpenStack-API-Version: placement 1.27`.

use crate::version::Version;
use crate::wire::integer;

/// Why a version cannot be served, with the sentence for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unserved {
    Malformed(String),
    Unsupported(String),
}

/// Reads the header, which may name several services: the last mention of `placement` counts. Without one the version is
/// the oldest; `latest` is the newest.
pub fn version(header: Option<&str>) -> Result<Version, Unserved> {
    let mentions = header.into_iter().flat_map(|header| header.rsplit(','));
    let wanted = mentions.filter_map(wanted_of_placement).next();
    match wanted {
        None => Ok(Version::MIN),
        Some("latest") => Ok(Version::MAX),
        Some(text) => exact(text),
    }
}

fn wanted_of_placement(mention: &str) -> Option<&str> {
    let (service, version) = mention.trim().split_once(char::is_whitespace)?;
    service.eq_ignore_ascii_case("placement").then(|| version.trim())
}

fn exact(text: &str) -> Result<Version, Unserved> {
    let mut numbers = Vec::new();
    for part in text.splitn(2, '.') {
        numbers.push(integer::decimal(part).ok_or_else(|| malformed(text, &integer::complaint(part)))?);
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

fn malformed(text: &str, why: &str) -> Unserved {
    Unserved::Malformed(format!("Invalid microversion: invalid version string: {text}; {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_among_services() {
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
    fn tells_the_unsupported_from_the_malformed() {
        for text in ["1.40", "0.5", "2.0", "-1.5", "1.99999999999999999999"] {
            let sentence = format!("Invalid microversion: Unacceptable version header: {text}");
            assert_eq!(
                version(Some(&format!("placement {text}"))),
                Err(Unserved::Unsupported(sentence))
            );
        }
        for (text, why) in [
            ("pony.horse", "invalid literal for int() with base 10: 'pony'"),
            ("LATEST", "invalid literal for int() with base 10: 'LATEST'"),
            ("1.2.3", "invalid literal for int() with base 10: '2.3'"),
            ("1", "Version.__new__() missing 1 required positional argument: 'minor'"),
        ] {
            let sentence = format!("Invalid microversion: invalid version string: {text}; {why}");
            assert_eq!(
                version(Some(&format!("placement {text}"))),
                Err(Unserved::Malformed(sentence))
            );
        }
    }
}
