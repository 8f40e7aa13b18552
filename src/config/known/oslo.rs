//! oslo.policy, oslo.middleware and oslo.db.

use super::Known;

const REMOTE: &str = "placet asks no policy server, and refuses policy files with http: and https: checks";
const SCOPES: &str = "scopes are always enforced";
const OWN_SECTION: &str = "the option of the same name in [placement_database]";
const ASYNC: &str = "[placement_database] connection";
const RETRIES: &str = "[placet] commit_timeout bounds how long a commit is tried again";
const HEALTH: &str = "GET / answers without a token, whether or not a healthcheck is configured";
const TRACING: &str = "this version sends no traces; each request is one line of the log";

pub(super) const ROWS: &[Known] = &[
    Known::honoured("oslo_policy", "policy_file", "policy.yaml"),
    Known::honoured("oslo_policy", "policy_dirs", "policy.d").multi(),
    Known::honoured("oslo_policy", "policy_default_rule", "default"),
    Known::honoured("oslo_policy", "enforce_new_defaults", "true"),
    // Gone from oslo.policy, and still in files.
    Known::unused("oslo_policy", "enforce_scope", SCOPES),
    Known::unused("oslo_policy", "remote_content_type", REMOTE),
    Known::unused("oslo_policy", "remote_ssl_verify_server_crt", REMOTE),
    Known::unused("oslo_policy", "remote_ssl_ca_crt_file", REMOTE),
    Known::unused("oslo_policy", "remote_ssl_client_crt_file", REMOTE),
    Known::unused("oslo_policy", "remote_ssl_client_key_file", REMOTE),
    Known::unused("oslo_policy", "remote_timeout", REMOTE),
    Known::honoured("oslo_middleware", "enable_proxy_headers_parsing", "false"),
    Known::unused("oslo_middleware", "max_request_body_size", "[placet] max_body_size"),
    Known::unused(
        "oslo_middleware",
        "http_basic_auth_user_file",
        "[api] auth_strategy; placet has no HTTP basic auth",
    ),
    // The defaults are those of OpenStack Placement's own, not the library's.
    Known::optional("cors", "allowed_origin"),
    Known::honoured("cors", "allow_credentials", "true"),
    Known::honoured(
        "cors",
        "expose_headers",
        "X-Auth-Token,X-Openstack-Request-Id,X-Subject-Token,X-Service-Token,OpenStack-API-Version",
    ),
    Known::honoured("cors", "max_age", "3600"),
    Known::honoured("cors", "allow_methods", "GET,PUT,POST,DELETE,PATCH"),
    Known::honoured(
        "cors",
        "allow_headers",
        "X-Auth-Token,X-Openstack-Request-Id,X-Identity-Status,X-Roles,X-Service-Catalog,X-User-Id,X-Tenant-Id,\
         OpenStack-API-Version",
    ),
    Known::unused("healthcheck", "detailed", HEALTH),
    Known::unused("healthcheck", "backends", HEALTH),
    Known::unused("healthcheck", "allowed_source_ranges", HEALTH),
    Known::unused("healthcheck", "ignore_proxied_requests", HEALTH),
    Known::unused("healthcheck", "disable_by_file_path", HEALTH),
    Known::unused("healthcheck", "disable_by_file_paths", HEALTH),
    Known::unused("healthcheck", "enable_by_file_paths", HEALTH),
    Known::unused("oslo_middleware_tracing", "enabled", TRACING),
    Known::unused("oslo_middleware_tracing", "otlp_endpoint", TRACING),
    Known::unused("oslo_middleware_tracing", "otlp_protocol", TRACING),
    Known::unused("oslo_middleware_tracing", "service_name", TRACING),
    Known::unused("oslo_middleware_tracing", "sampling_rate", TRACING),
    Known::unused("oslo_middleware_tracing", "insecure", TRACING),
    // Upstream registers oslo.db's own section, too, and reads its copy of it, [placement_database], alone.
    Known::unused("database", "connection", OWN_SECTION).secret(),
    Known::unused("database", "slave_connection", OWN_SECTION).secret(),
    Known::unused("database", "asyncio_connection", ASYNC).secret(),
    Known::unused("database", "asyncio_slave_connection", ASYNC).secret(),
    Known::unused(
        "database",
        "synchronous_reader",
        "every answer shows every acknowledged write",
    ),
    Known::unused(
        "database",
        "backend",
        "the scheme of the URL in [placement_database] connection",
    ),
    Known::unused("database", "sqlite_synchronous", OWN_SECTION),
    Known::unused("database", "mysql_sql_mode", OWN_SECTION),
    Known::unused(
        "database",
        "mysql_wsrep_sync_wait",
        "placet waits for other nodes' commits where it must",
    ),
    Known::unused("database", "connection_recycle_time", OWN_SECTION),
    Known::unused("database", "max_pool_size", OWN_SECTION),
    Known::unused("database", "max_retries", OWN_SECTION),
    Known::unused("database", "retry_interval", OWN_SECTION),
    Known::unused("database", "max_overflow", OWN_SECTION),
    Known::unused("database", "connection_debug", OWN_SECTION),
    Known::unused("database", "connection_trace", OWN_SECTION),
    Known::unused("database", "pool_timeout", OWN_SECTION),
    Known::unused("database", "connection_parameters", OWN_SECTION),
    Known::unused("database", "use_db_reconnect", "lost connections are always made anew"),
    Known::unused("database", "db_retry_interval", RETRIES),
    Known::unused("database", "db_inc_retry_interval", RETRIES),
    Known::unused("database", "db_max_retry_interval", RETRIES),
    Known::unused("database", "db_max_retries", RETRIES),
];
