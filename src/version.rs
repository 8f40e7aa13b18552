//! The microversions of OpenStack's Placement API that placet serves: 1.0 to 1.39.
//!
//! Only four places may depend on the version of a request: the route table, the reply, and the reading and the writing
//! half of `wire` (ARCHITECTURE.md, rule 1). All other code knows only the newest form. A version that changed only the
//! schema of a request has no constant here: its step in `src/wire/schemas/` describes the change.

use std::fmt;
use std::str::FromStr;

/// The key of a schema's step in the native API, which has no microversions.
pub const NATIVE_STEP: &str = "v1";

/// A microversion `1.minor`. The major number is always 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    minor: u16,
}

impl Version {
    pub const MIN: Version = Version::new(0);
    pub const MAX: Version = Version::new(39);

    pub const fn new(minor: u16) -> Self {
        Version { minor }
    }

    pub const fn minor(self) -> u16 {
        self.minor
    }

    /// The previous version. The oldest one returns itself.
    pub const fn before(self) -> Self {
        Version::new(self.minor.saturating_sub(1))
    }

    /// All versions that placet serves, oldest first.
    pub fn all() -> impl Iterator<Item = Version> {
        (Self::MIN.minor..=Self::MAX.minor).map(Version::new)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// The reason why a text is not a version that placet serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadVersion {
    /// Not of the form `digits.digits`.
    Malformed,
    /// Well formed, but outside of `MIN..=MAX`.
    Unsupported,
}

impl FromStr for Version {
    type Err = BadVersion;

    /// Parses `1.27`. `latest` is not a version; `api/http/negotiate.rs` resolves it.
    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let (major, minor) = text.split_once('.').ok_or(BadVersion::Malformed)?;
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(major) || !is_number(minor) {
            return Err(BadVersion::Malformed);
        }
        let minor: u16 = minor.parse().map_err(|_| BadVersion::Unsupported)?;
        let version = Version::new(minor);
        if major.trim_start_matches('0') != "1" || version > Self::MAX {
            return Err(BadVersion::Unsupported);
        }
        Ok(version)
    }
}

/// `GET`/`PUT /resource_providers/{uuid}/aggregates`.
pub const AGGREGATES: Version = Version::new(1);
/// `/resource_classes`.
pub const RESOURCE_CLASSES: Version = Version::new(2);
/// `DELETE /resource_providers/{uuid}/inventories`.
pub const DELETE_INVENTORIES: Version = Version::new(5);
/// `/traits` and the traits of a provider.
pub const TRAITS: Version = Version::new(6);
/// `PUT /resource_classes/{name}` creates or confirms a class and has no body; earlier it renames one.
pub const ENSURE_RESOURCE_CLASS: Version = Version::new(7);
/// `GET /usages`.
pub const TOTAL_USAGES: Version = Version::new(9);
/// `GET /allocation_candidates`.
pub const ALLOCATION_CANDIDATES: Version = Version::new(10);
/// The `allocations` link of a provider.
pub const ALLOCATIONS_LINK: Version = Version::new(11);
/// Allocations are an object keyed by provider; answers contain the owners.
pub const ALLOCATIONS_DICT: Version = Version::new(12);
/// `POST /allocations`.
pub const POST_ALLOCATIONS: Version = Version::new(13);
/// Parent and root of a provider, and the `in_tree` filter of the list.
pub const NESTED_PROVIDERS: Version = Version::new(14);
/// `last-modified` and `cache-control` headers.
pub const LAST_MODIFIED: Version = Version::new(15);
/// `required` on `GET /allocation_candidates`, and traits in its summaries.
pub const CANDIDATES_REQUIRED: Version = Version::new(17);
/// The aggregates API contains the provider's generation.
pub const AGGREGATES_GENERATION: Version = Version::new(19);
/// `POST /resource_providers` answers with the provider.
pub const POST_PROVIDER_BODY: Version = Version::new(20);
/// Forbidden traits (`!TRAIT`).
pub const FORBIDDEN_TRAITS: Version = Version::new(22);
/// The `code` of an error.
pub const ERROR_CODES: Version = Version::new(23);
/// `member_of` may be repeated.
pub const REPEATED_MEMBER_OF: Version = Version::new(24);
/// `reserved` may equal `total`.
pub const RESERVED_EQUAL_TOTAL: Version = Version::new(26);
/// Summaries contain all classes of a provider.
pub const ALL_CLASSES_IN_SUMMARIES: Version = Version::new(27);
/// Consumer generations.
pub const CONSUMER_GENERATION: Version = Version::new(28);
/// Nested trees in candidates; parent and root in summaries.
pub const NESTED_CANDIDATES: Version = Version::new(29);
/// `POST /reshaper`.
pub const RESHAPER: Version = Version::new(30);
/// Forbidden aggregates (`member_of=!…`).
pub const FORBIDDEN_AGGREGATES: Version = Version::new(32);
/// `mappings` of candidates and claims.
pub const MAPPINGS: Version = Version::new(34);
/// `same_subtree`, and groups without resources.
pub const SAME_SUBTREE: Version = Version::new(36);
/// Providers may change or lose their parent.
pub const REPARENT: Version = Version::new(37);
/// Consumer types.
pub const CONSUMER_TYPES: Version = Version::new(38);
/// `required=in:…`, and `required` may be repeated.
pub const ANY_TRAITS: Version = Version::new(39);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_versions_are_parsed() {
        for v in Version::all() {
            assert_eq!(v.to_string().parse(), Ok(v));
        }
        assert_eq!("1.40".parse::<Version>(), Err(BadVersion::Unsupported));
        assert_eq!("2.0".parse::<Version>(), Err(BadVersion::Unsupported));
        assert_eq!("1.99999999".parse::<Version>(), Err(BadVersion::Unsupported));
        for text in ["", "1", "1.", ".1", "1.x", "latest", "1.2.3", "-1.2"] {
            assert_eq!(text.parse::<Version>(), Err(BadVersion::Malformed), "{text}");
        }
    }
}
