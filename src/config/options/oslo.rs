//! The options of oslo.policy, oslo.middleware and oslo.db: policy files, the proxy in front, and CORS.

use std::path::PathBuf;

use crate::config::raw::RawConfig;
use crate::config::value::Repeated;

options! {
    /// `[oslo_policy]`
    OsloPolicy in "oslo_policy" {
        /// The policy file. A relative name is searched in the directories of the configuration, and in
        /// `/etc/placement` and `/etc`.
        policy_file: String = "policy.yaml";
        /// Directories of more policy files, searched like `policy_file`. Their rules override the rules of the file.
        policy_dirs: Repeated = "policy.d";
        /// The rule that replaces an unknown rule named in a check.
        policy_default_rule: String = "default";
        /// Whether the current default rules alone hold. With `false` the older default rules may also allow a request.
        enforce_new_defaults: bool = true;
    }
    with {
        /// The directories for relative names. The first match wins.
        search_dirs: Vec<PathBuf> = |raw: &RawConfig| raw.search_dirs.clone();
    }
}

options! {
    /// `[oslo_middleware]`
    OsloMiddleware in "oslo_middleware" {
        /// Trust the headers `Forwarded` and `X-Forwarded-*`. Set this only if every request passes a proxy that sets
        /// the headers.
        enable_proxy_headers_parsing: bool = false;
    }
}

// The defaults are OpenStack Placement's own, not oslo.middleware's.
options! {
    /// `[cors]`: the pages of foreign origins that may use the API from a browser.
    Cors in "cors" {
        /// Origins such as `https://horizon.example.com`, or `*`. Without an origin there is no CORS.
        allowed_origin: Vec<String>;
        /// Whether a browser may send credentials.
        allow_credentials: bool = true;
        /// Response headers for reading by a page.
        expose_headers: Vec<String> =
            "X-Auth-Token,X-Openstack-Request-Id,X-Subject-Token,X-Service-Token,OpenStack-API-Version";
        /// For how many seconds a browser may cache the answer to a preflight request. 0 leaves the header out.
        max_age: Option<i64> = 3600;
        /// Methods for use by a page.
        allow_methods: Vec<String> = "GET,PUT,POST,DELETE,PATCH";
        /// Request headers for use by a page.
        allow_headers: Vec<String> =
            "X-Auth-Token,X-Openstack-Request-Id,X-Identity-Status,X-Roles,X-Service-Catalog,X-User-Id,X-Tenant-Id,\
             OpenStack-API-Version";
    }
}

impl OsloPolicy {
    /// The policy file, if it exists now.
    pub fn file(&self) -> Option<PathBuf> {
        self.find(&self.policy_file)
    }

    /// The policy directories that exist now.
    pub fn dirs(&self) -> Vec<PathBuf> {
        self.policy_dirs.0.iter().filter_map(|name| self.find(name)).collect()
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        // An absolute name stays unchanged when joined.
        self.search_dirs
            .iter()
            .map(|dir| dir.join(name))
            .find(|path| path.exists())
    }
}
