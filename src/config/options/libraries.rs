//! Sections and options of OpenStack's shared libraries that OpenStack Placement does not load, and names from older
//! releases. Whole clouds have these sections in every service's file.

use crate::config::spec::OptionSpec;

/// The section `section` belongs to this library.
pub(in crate::config) struct LibrarySection {
    pub section: &'static str,
    pub library: &'static str,
}

const fn of(section: &'static str, library: &'static str) -> LibrarySection {
    LibrarySection { section, library }
}

/// Sections of libraries. placet uses none of their options, whatever their names.
pub(in crate::config) const SECTIONS: &[LibrarySection] = &[
    of("barbican", "castellan"),
    of("barbican_service_user", "castellan"),
    of("cache", "oslo.cache"),
    of("coordination", "tooz"),
    of("cors.subdomain", "oslo.middleware"),
    of("key_manager", "castellan"),
    of("matchmaker_redis", "oslo.messaging"),
    of("oslo_concurrency", "oslo.concurrency"),
    of("oslo_limit", "oslo.limit"),
    of("oslo_messaging_amqp", "oslo.messaging"),
    of("oslo_messaging_kafka", "oslo.messaging"),
    of("oslo_messaging_metrics", "oslo.messaging"),
    of("oslo_messaging_notifications", "oslo.messaging"),
    of("oslo_messaging_rabbit", "oslo.messaging"),
    of("oslo_messaging_zmq", "oslo.messaging"),
    of("oslo_reports", "oslo.reports"),
    of("oslo_versionedobjects", "oslo.versionedobjects"),
    of("osprofiler", "osprofiler"),
    of("privsep", "oslo.privsep"),
    of("profiler", "osprofiler"),
    of("profiler_jaeger", "osprofiler"),
    of("profiler_otlp", "osprofiler"),
    of("service_user", "keystoneauth"),
    of("ssl", "oslo.service"),
    of("vault", "castellan"),
];

/// The library of a section.
pub(in crate::config) fn library(section: &str) -> Option<&'static str> {
    let found = SECTIONS.iter().find(|each| each.section == section);
    found.map(|each| each.library)
}

const MESSAGES: &str = "it is an option of oslo.messaging, and placement sends no messages";
const SERVICE: &str = "it is an option of oslo.service; [placet] has the options of the listener";
const LEVELS: &str = "the environment variable RUST_LOG, for example RUST_LOG=info,placet::model=debug";
const PLACE_OF_CODE: &str = "placet is a single file, wherever it is installed";
const SYSLOG: &str = "placet logs to stderr, which a service manager takes to the journal or to syslog";
const AUTH_URL: &str = "keystonemiddleware lost it in 2017; its successor is [keystone_authtoken] auth_url";
const LOGIN: &str =
    "keystonemiddleware lost it in 2017; its successors are auth_type, username, password, project_name";
const SIGNED: &str = "keystonemiddleware lost it with signed tokens; Keystone validates each token";
const REMOVED: &str = "oslo.db has no such option any more";

/// Options of libraries in sections that OpenStack Placement has too, and former options of its libraries.
pub(in crate::config) const UNUSED: &[OptionSpec] = &[
    OptionSpec::unused("DEFAULT", "transport_url", MESSAGES).secret(),
    OptionSpec::unused("DEFAULT", "control_exchange", MESSAGES),
    OptionSpec::unused("DEFAULT", "rpc_backend", MESSAGES),
    OptionSpec::unused("DEFAULT", "rpc_response_timeout", MESSAGES),
    OptionSpec::unused("DEFAULT", "rpc_conn_pool_size", MESSAGES),
    OptionSpec::unused("DEFAULT", "rpc_ping_enabled", MESSAGES),
    OptionSpec::unused("DEFAULT", "conn_pool_min_size", MESSAGES),
    OptionSpec::unused("DEFAULT", "conn_pool_ttl", MESSAGES),
    OptionSpec::unused("DEFAULT", "executor_thread_pool_size", MESSAGES),
    OptionSpec::unused("DEFAULT", "notification_driver", MESSAGES),
    OptionSpec::unused("DEFAULT", "notification_topics", MESSAGES),
    OptionSpec::unused("DEFAULT", "api_paste_config", SERVICE),
    OptionSpec::unused("DEFAULT", "backdoor_port", SERVICE),
    OptionSpec::unused("DEFAULT", "backdoor_socket", SERVICE),
    OptionSpec::unused("DEFAULT", "client_socket_timeout", SERVICE),
    OptionSpec::unused("DEFAULT", "graceful_shutdown_timeout", SERVICE),
    OptionSpec::unused("DEFAULT", "log_options_interval", SERVICE),
    OptionSpec::unused("DEFAULT", "max_header_line", SERVICE),
    OptionSpec::unused("DEFAULT", "run_external_periodic_tasks", SERVICE),
    OptionSpec::unused("DEFAULT", "tcp_keepidle", SERVICE),
    OptionSpec::unused("DEFAULT", "wsgi_default_pool_size", SERVICE),
    OptionSpec::unused("DEFAULT", "wsgi_keep_alive", SERVICE),
    OptionSpec::unused("DEFAULT", "wsgi_log_format", SERVICE),
    OptionSpec::unused("DEFAULT", "wsgi_server_debug", SERVICE),
    OptionSpec::unused("DEFAULT", "bindir", PLACE_OF_CODE),
    OptionSpec::unused("DEFAULT", "use_eventlog", SYSLOG),
    OptionSpec::unused("DEFAULT", "use_syslog_rfc_format", SYSLOG),
    OptionSpec::unused("DEFAULT", "verbose", LEVELS),
    OptionSpec::unused("DEFAULT", "watch_log_file", "SIGHUP has placet open its log file again"),
    OptionSpec::unused("placement", "policy_file", "[oslo_policy] policy_file"),
    OptionSpec::unused("placement_database", "backend", "the scheme of the URL in connection"),
    OptionSpec::unused(
        "placement_database",
        "asyncio_connection",
        "[placement_database] connection",
    )
    .secret(),
    OptionSpec::unused("placement_database", "min_pool_size", REMOVED),
    OptionSpec::unused("placement_database", "mysql_enable_ndb", REMOVED),
    OptionSpec::unused(
        "placement_database",
        "mysql_wsrep_sync_wait",
        "placet waits for other nodes' commits where it must",
    ),
    OptionSpec::unused(
        "placement_database",
        "use_db_reconnect",
        "lost connections are always replaced",
    ),
    OptionSpec::unused("placement_database", "use_tpool", REMOVED),
    OptionSpec::unused("database", "min_pool_size", REMOVED),
    OptionSpec::unused("database", "mysql_enable_ndb", REMOVED),
    OptionSpec::unused("database", "use_tpool", REMOVED),
    OptionSpec::unused("keystone_authtoken", "auth_interface", "[keystone_authtoken] interface"),
    OptionSpec::unused("keystone_authtoken", "identity_uri", AUTH_URL),
    OptionSpec::unused("keystone_authtoken", "auth_host", AUTH_URL),
    OptionSpec::unused("keystone_authtoken", "auth_port", AUTH_URL),
    OptionSpec::unused("keystone_authtoken", "auth_protocol", AUTH_URL),
    OptionSpec::unused("keystone_authtoken", "auth_admin_prefix", AUTH_URL),
    OptionSpec::unused("keystone_authtoken", "admin_user", LOGIN),
    OptionSpec::unused("keystone_authtoken", "admin_password", LOGIN).secret(),
    OptionSpec::unused("keystone_authtoken", "admin_tenant_name", LOGIN),
    OptionSpec::unused("keystone_authtoken", "admin_token", LOGIN).secret(),
    OptionSpec::unused("keystone_authtoken", "signing_dir", SIGNED),
    OptionSpec::unused("keystone_authtoken", "revocation_cache_time", SIGNED),
    OptionSpec::unused("keystone_authtoken", "check_revocations_for_cached", SIGNED),
    OptionSpec::unused("keystone_authtoken", "hash_algorithms", SIGNED),
];
