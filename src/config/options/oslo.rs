//! The options of oslo.policy, oslo.middleware and oslo.db: policy files, the proxy in front, and CORS.

use std::path::PathBuf;

use crate::config::option_spec::OptionSpec;
use crate::config::reader::OptionReader;
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
        search_dirs: Vec<PathBuf> = OptionReader::search_dirs;
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

const REMOTE: &str = "placet asks no policy server, and refuses policy files with http: and https: checks";
const SCOPES: &str = "scopes are always enforced";
const OWN_SECTION: &str = "the option of the same name in [placement_database]";
const ASYNC: &str = "[placement_database] connection";
const RETRIES: &str = "[placet] commit_timeout bounds how long a commit is tried again";
const HEALTH: &str = "GET /health/ready is for balancers and GET /health/live for supervisors, both without a token";
const TRACING: &str = "this version sends no traces; each request is one line of the log";

/// Options that are accepted but not used.
pub const UNUSED: &[OptionSpec] = &[
    // oslo.policy has dropped the option; configuration files still have the option.
    OptionSpec::unused("oslo_policy", "enforce_scope", SCOPES),
    OptionSpec::unused(
        "oslo_policy",
        "remote_content_type remote_ssl_verify_server_crt remote_ssl_ca_crt_file remote_ssl_client_crt_file \
         remote_ssl_client_key_file remote_timeout",
        REMOTE,
    ),
    OptionSpec::unused("oslo_middleware", "max_request_body_size", "[placet] max_body_size"),
    OptionSpec::unused(
        "oslo_middleware",
        "http_basic_auth_user_file",
        "[api] auth_strategy; placet has no HTTP basic auth",
    ),
    OptionSpec::unused(
        "healthcheck",
        "detailed backends allowed_source_ranges ignore_proxied_requests disable_by_file_path \
         disable_by_file_paths enable_by_file_paths",
        HEALTH,
    ),
    OptionSpec::unused(
        "oslo_middleware_tracing",
        "enabled otlp_endpoint otlp_protocol service_name sampling_rate insecure",
        TRACING,
    ),
    // OpenStack Placement registers oslo.db's section too, but reads only the copy, [placement_database].
    OptionSpec::unused("database", "connection slave_connection", OWN_SECTION).secret(),
    OptionSpec::unused("database", "asyncio_connection asyncio_slave_connection", ASYNC).secret(),
    OptionSpec::unused(
        "database",
        "synchronous_reader",
        "every answer shows every acknowledged write",
    ),
    OptionSpec::unused(
        "database",
        "backend",
        "the scheme of the URL in [placement_database] connection",
    ),
    OptionSpec::unused("database", "sqlite_synchronous mysql_sql_mode", OWN_SECTION),
    OptionSpec::unused(
        "database",
        "mysql_wsrep_sync_wait",
        "placet waits for other nodes' commits where it must",
    ),
    OptionSpec::unused(
        "database",
        "connection_recycle_time max_pool_size max_retries retry_interval max_overflow connection_debug \
         connection_trace pool_timeout connection_parameters",
        OWN_SECTION,
    ),
    OptionSpec::unused("database", "use_db_reconnect", "lost connections are always replaced"),
    OptionSpec::unused(
        "database",
        "db_retry_interval db_inc_retry_interval db_max_retry_interval db_max_retries",
        RETRIES,
    ),
];
