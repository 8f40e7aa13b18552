//! oslo.policy and oslo.middleware: policy files, the proxy in front, and CORS.

use std::path::PathBuf;

use crate::config::error::Result;
use crate::config::reader::Reader;

/// `[oslo_policy]`
#[derive(Debug, Clone)]
pub struct OsloPolicy {
    /// [`OsloPolicy::file`] finds it.
    pub policy_file: String,
    /// [`OsloPolicy::dirs`] finds them.
    pub policy_dirs: Vec<String>,
    /// The rule that stands in for one that a check refers to and that is not there.
    pub policy_default_rule: String,
    /// Without it, whoever the older default rules let in is let in too.
    pub enforce_new_defaults: bool,
    /// Where relative names are looked for: beside the configuration, then in `/etc/placement` and `/etc`.
    pub search_dirs: Vec<PathBuf>,
}

impl OsloPolicy {
    pub(super) fn read(reader: &Reader, search_dirs: Vec<PathBuf>) -> Result<Self> {
        const SECTION: &str = "oslo_policy";
        Ok(Self {
            policy_file: reader.text(SECTION, "policy_file")?,
            policy_dirs: reader.multi(SECTION, "policy_dirs")?,
            policy_default_rule: reader.text(SECTION, "policy_default_rule")?,
            enforce_new_defaults: reader.boolean(SECTION, "enforce_new_defaults")?,
            search_dirs,
        })
    }

    /// The policy file that exists now, if one does.
    pub fn file(&self) -> Option<PathBuf> {
        self.find(&self.policy_file)
    }

    /// The policy directories that exist now.
    pub fn dirs(&self) -> Vec<PathBuf> {
        self.policy_dirs.iter().filter_map(|name| self.find(name)).collect()
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        // An absolute name stays itself when joined.
        self.search_dirs
            .iter()
            .map(|dir| dir.join(name))
            .find(|path| path.exists())
    }
}

/// `[cors]`: which pages of other origins may ask from a browser.
#[derive(Debug, Clone)]
pub struct Cors {
    /// Origins such as `https://horizon.example.com`, or `*`; without one there is no CORS.
    pub allowed_origin: Vec<String>,
    pub allow_credentials: bool,
    pub expose_headers: Vec<String>,
    /// Seconds for which a browser may remember what it was told; 0: it is not told.
    pub max_age: i64,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
}

impl Cors {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        const SECTION: &str = "cors";
        Ok(Self {
            allowed_origin: reader.list(SECTION, "allowed_origin")?,
            allow_credentials: reader.boolean(SECTION, "allow_credentials")?,
            expose_headers: reader.list(SECTION, "expose_headers")?,
            max_age: reader.optional_number(SECTION, "max_age")?.unwrap_or_default(),
            allow_methods: reader.list(SECTION, "allow_methods")?,
            allow_headers: reader.list(SECTION, "allow_headers")?,
        })
    }
}

/// `[oslo_middleware]`
#[derive(Debug, Clone)]
pub struct OsloMiddleware {
    /// Believe `X-Forwarded-*`; only right behind a proxy that sets them.
    pub enable_proxy_headers_parsing: bool,
}

impl OsloMiddleware {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        Ok(Self {
            enable_proxy_headers_parsing: reader.boolean("oslo_middleware", "enable_proxy_headers_parsing")?,
        })
    }
}
