//! The options that placet accepts and does not use, each with its replacement: of OpenStack Placement, of its
//! libraries, and of libraries that OpenStack Placement does not load. Whole clouds have the sections of libraries in
//! every service's file.

use crate::config::option_spec::OptionSpec;

const CLAIMS_IN_ORDER: &str =
    "claims are decided in order, without conflicts inside a process; [placet] commit_timeout bounds the rest";
const URL: &str = "write them into the URL of connection";
const DURABLE: &str = "placet always commits durably and checks what it writes";
const TRACE: &str = "the environment variable RUST_LOG=placet::db=trace shows the SQL";
const LAZY_CANDIDATES: &str = "candidates are always generated lazily, and equal children are not tried again";
const SCOPES: &str = "scopes are always enforced";
const REMOTE: &str = "placet asks no policy server, and refuses policy files with http: and https: checks";
const NO_BASIC_AUTH: &str = "[api] auth_strategy; placet has no HTTP basic auth";
const HEALTH: &str = "GET /health/ready is for balancers and GET /health/live for supervisors, both without a token";
const TRACING: &str = "this version sends no traces; each request is one line of the log";
const OWN_SECTION: &str = "the option of the same name in [placement_database]";
const CONNECTION: &str = "[placement_database] connection";
const NEWEST_WRITE: &str = "every answer shows every acknowledged write";
const SCHEME: &str = "the scheme of the URL in [placement_database] connection";
const GALERA: &str = "placet waits for other nodes' commits where it must";
const RECONNECT: &str = "lost connections are always replaced";
const RETRIES: &str = "[placet] commit_timeout bounds how long a commit is tried again";
const LEVELS: &str = "the environment variable RUST_LOG, for example RUST_LOG=info,placet::model=debug";
const FORMAT: &str = "[placet] log_format: text, json or oslo";
const SERVICE_MANAGER: &str = "placet logs to stderr, which a service manager takes to the journal or to syslog";
const STDERR: &str = "placet logs to stderr unless log_file or log_dir is set";
const ROTATION: &str = "logrotate, with SIGHUP to placet after it renamed the file (docs/logging.md)";
const INSTANCES: &str = "placement knows no instances";
const RATE: &str = "no log line is dropped; journald limits rates";
const CONFIG_SHOW: &str = "placet config show lists what is deprecated or not used";
const SOURCES: &str = "--config-file, --config-dir and environment variables";
const V3: &str = "placet speaks version 3 of Keystone's API, whatever is set";
const SWIFT: &str = "it names Swift's cache; placet has a cache of its own";
const BIND: &str = "a token that is bound to Kerberos or another mechanism is refused; Keystone makes none since Pike";
const CATALOG: &str = "placet asks for the catalogue if service_type is set, because only access rules need it";
const MEMCACHED: &str = "the cache of tokens is in placet's memory, for token_cache_time and at most 65536 tokens";
const TOKEN: &str = "placet renews its own token, which needs a password or an application credential";
const AUDIT: &str = "placet has no audit middleware; each request is one line of the log";
const MESSAGES: &str = "it is an option of oslo.messaging, and placement sends no messages";
const SERVICE: &str = "it is an option of oslo.service; [placet] has the options of the listener";
const PLACE_OF_CODE: &str = "placet is a single file, wherever it is installed";
const REMOVED: &str = "oslo.db has no such option any more";
const AUTH_URL: &str = "keystonemiddleware lost it in 2017; its successor is [keystone_authtoken] auth_url";
const LOGIN: &str =
    "keystonemiddleware lost it in 2017; its successors are auth_type, username, password, project_name";
const SIGNED: &str = "keystonemiddleware lost it with signed tokens; Keystone validates each token";

/// In the order in which notes about the options are shown.
pub const UNUSED: &[OptionSpec] = &[
    OptionSpec::unused("placement", "allocation_conflict_retry_count", CLAIMS_IN_ORDER),
    OptionSpec::unused("placement_database", "connection_parameters", URL),
    OptionSpec::unused("placement_database", "sqlite_synchronous mysql_sql_mode", DURABLE),
    OptionSpec::unused("placement_database", "connection_debug connection_trace", TRACE),
    OptionSpec::unused("workarounds", "optimize_for_wide_provider_trees", LAZY_CANDIDATES),
    OptionSpec::unused("DEFAULT", "tempdir", "placet writes no temporary files"),
    // oslo.policy has dropped the option; configuration files still have the option.
    OptionSpec::unused("oslo_policy", "enforce_scope", SCOPES),
    OptionSpec::unused(
        "oslo_policy",
        "remote_content_type remote_ssl_verify_server_crt remote_ssl_ca_crt_file remote_ssl_client_crt_file \
         remote_ssl_client_key_file remote_timeout",
        REMOTE,
    ),
    OptionSpec::unused("oslo_middleware", "max_request_body_size", "[placet] max_body_size"),
    OptionSpec::unused("oslo_middleware", "http_basic_auth_user_file", NO_BASIC_AUTH),
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
    OptionSpec::unused("database", "asyncio_connection asyncio_slave_connection", CONNECTION).secret(),
    OptionSpec::unused("database", "synchronous_reader", NEWEST_WRITE),
    OptionSpec::unused("database", "backend", SCHEME),
    OptionSpec::unused("database", "sqlite_synchronous mysql_sql_mode", OWN_SECTION),
    OptionSpec::unused("database", "mysql_wsrep_sync_wait", GALERA),
    OptionSpec::unused(
        "database",
        "connection_recycle_time max_pool_size max_retries retry_interval max_overflow connection_debug \
         connection_trace pool_timeout connection_parameters",
        OWN_SECTION,
    ),
    OptionSpec::unused("database", "use_db_reconnect", RECONNECT),
    OptionSpec::unused(
        "database",
        "db_retry_interval db_inc_retry_interval db_max_retry_interval db_max_retries",
        RETRIES,
    ),
    OptionSpec::unused("DEFAULT", "log_config_append", LEVELS)
        .formerly(&[("DEFAULT", "log-config"), ("DEFAULT", "log_config")]),
    OptionSpec::unused("DEFAULT", "log_date_format", FORMAT),
    OptionSpec::unused("DEFAULT", "use_syslog use_journal syslog_log_facility", SERVICE_MANAGER),
    OptionSpec::unused("DEFAULT", "use_json", FORMAT),
    OptionSpec::unused("DEFAULT", "use_stderr", STDERR),
    OptionSpec::unused("DEFAULT", "log_color", FORMAT),
    OptionSpec::unused(
        "DEFAULT",
        "log_rotate_interval log_rotate_interval_type max_logfile_count max_logfile_size_mb log_rotation_type",
        ROTATION,
    ),
    OptionSpec::unused(
        "DEFAULT",
        "logging_context_format_string logging_default_format_string logging_debug_format_suffix \
         logging_exception_prefix logging_user_identity_format",
        FORMAT,
    ),
    OptionSpec::unused("DEFAULT", "default_log_levels", LEVELS),
    OptionSpec::unused("DEFAULT", "publish_errors", "placet sends no notifications"),
    OptionSpec::unused("DEFAULT", "instance_format instance_uuid_format", INSTANCES),
    OptionSpec::unused(
        "DEFAULT",
        "rate_limit_interval rate_limit_burst rate_limit_except_level",
        RATE,
    ),
    OptionSpec::unused("DEFAULT", "fatal_deprecations", CONFIG_SHOW),
    OptionSpec::unused("DEFAULT", "config_source", SOURCES),
    OptionSpec::unused("DEFAULT", "shell_completion", "it belongs to Python's command line"),
    OptionSpec::unused("keystone_authtoken", "auth_version", V3),
    OptionSpec::unused("keystone_authtoken", "cache", SWIFT),
    OptionSpec::unused("keystone_authtoken", "enforce_token_bind", BIND),
    OptionSpec::unused("keystone_authtoken", "include_service_catalog", CATALOG),
    OptionSpec::unused("keystone_authtoken", "memcache_password", MEMCACHED).secret(),
    OptionSpec::unused(
        "keystone_authtoken",
        "memcache_pool_conn_get_timeout memcache_pool_dead_retry memcache_pool_maxsize \
         memcache_pool_socket_timeout memcache_pool_unused_timeout memcache_sasl_enabled",
        MEMCACHED,
    ),
    OptionSpec::unused("keystone_authtoken", "memcache_secret_key", MEMCACHED).secret(),
    OptionSpec::unused(
        "keystone_authtoken",
        "memcache_security_strategy memcache_tls_allowed_ciphers memcache_tls_cafile memcache_tls_certfile \
         memcache_tls_enabled memcache_tls_keyfile memcache_use_advanced_pool memcache_username",
        MEMCACHED,
    ),
    OptionSpec::unused("keystone_authtoken", "memcached_servers", MEMCACHED)
        .formerly(&[("keystone_authtoken", "memcache_servers")]),
    OptionSpec::unused("keystone_authtoken", "token", TOKEN).secret(),
    OptionSpec::unused("audit_middleware_notifications", "driver topics", AUDIT),
    OptionSpec::unused("audit_middleware_notifications", "transport_url", AUDIT).secret(),
    OptionSpec::unused("audit_middleware_notifications", "use_oslo_messaging", AUDIT),
    OptionSpec::unused("DEFAULT", "transport_url", MESSAGES).secret(),
    OptionSpec::unused(
        "DEFAULT",
        "control_exchange rpc_backend rpc_response_timeout rpc_conn_pool_size rpc_ping_enabled \
         conn_pool_min_size conn_pool_ttl executor_thread_pool_size notification_driver notification_topics",
        MESSAGES,
    ),
    OptionSpec::unused(
        "DEFAULT",
        "api_paste_config backdoor_port backdoor_socket client_socket_timeout graceful_shutdown_timeout \
         log_options_interval max_header_line run_external_periodic_tasks tcp_keepidle wsgi_default_pool_size \
         wsgi_keep_alive wsgi_log_format wsgi_server_debug",
        SERVICE,
    ),
    OptionSpec::unused("DEFAULT", "bindir", PLACE_OF_CODE),
    OptionSpec::unused("DEFAULT", "use_eventlog use_syslog_rfc_format", SERVICE_MANAGER),
    OptionSpec::unused("DEFAULT", "verbose", LEVELS),
    OptionSpec::unused("DEFAULT", "watch_log_file", "SIGHUP has placet open its log file again"),
    OptionSpec::unused("placement", "policy_file", "[oslo_policy] policy_file"),
    OptionSpec::unused("placement_database", "backend", "the scheme of the URL in connection"),
    OptionSpec::unused("placement_database", "asyncio_connection", CONNECTION).secret(),
    OptionSpec::unused("placement_database", "min_pool_size mysql_enable_ndb", REMOVED),
    OptionSpec::unused("placement_database", "mysql_wsrep_sync_wait", GALERA),
    OptionSpec::unused("placement_database", "use_db_reconnect", RECONNECT),
    OptionSpec::unused("placement_database", "use_tpool", REMOVED),
    OptionSpec::unused("database", "min_pool_size mysql_enable_ndb use_tpool", REMOVED),
    OptionSpec::unused("keystone_authtoken", "auth_interface", "[keystone_authtoken] interface"),
    OptionSpec::unused(
        "keystone_authtoken",
        "identity_uri auth_host auth_port auth_protocol auth_admin_prefix",
        AUTH_URL,
    ),
    OptionSpec::unused("keystone_authtoken", "admin_user", LOGIN),
    OptionSpec::unused("keystone_authtoken", "admin_password", LOGIN).secret(),
    OptionSpec::unused("keystone_authtoken", "admin_tenant_name", LOGIN),
    OptionSpec::unused("keystone_authtoken", "admin_token", LOGIN).secret(),
    OptionSpec::unused(
        "keystone_authtoken",
        "signing_dir revocation_cache_time check_revocations_for_cached hash_algorithms",
        SIGNED,
    ),
];

/// Sections by library, with blanks between the sections. placet uses none of their options, whatever their names.
const SECTIONS: &[(&str, &str)] = &[
    ("castellan", "barbican barbican_service_user key_manager vault"),
    ("keystoneauth", "service_user"),
    ("oslo.cache", "cache"),
    ("oslo.concurrency", "oslo_concurrency"),
    ("oslo.limit", "oslo_limit"),
    (
        "oslo.messaging",
        "matchmaker_redis oslo_messaging_amqp oslo_messaging_kafka oslo_messaging_metrics \
         oslo_messaging_notifications oslo_messaging_rabbit oslo_messaging_zmq",
    ),
    ("oslo.middleware", "cors.subdomain"),
    ("oslo.privsep", "privsep"),
    ("oslo.reports", "oslo_reports"),
    ("oslo.service", "ssl"),
    ("oslo.versionedobjects", "oslo_versionedobjects"),
    ("osprofiler", "osprofiler profiler profiler_jaeger profiler_otlp"),
    ("tooz", "coordination"),
];

/// The library of a section.
pub fn library(section: &str) -> Option<&'static str> {
    let has_section = |(_, sections): &&(&str, &str)| sections.split(' ').any(|each| each == section);
    SECTIONS.iter().find(has_section).map(|(library, _)| *library)
}
