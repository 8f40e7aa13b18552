//! Sections and options of OpenStack's shared libraries that OpenStack Placement does not load, and names from older
//! releases. Whole clouds have these sections in every service's file.

use crate::config::option_spec::OptionSpec;

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
pub const UNUSED: &[OptionSpec] = &[
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
    OptionSpec::unused("DEFAULT", "use_eventlog use_syslog_rfc_format", SYSLOG),
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
    OptionSpec::unused("placement_database", "min_pool_size mysql_enable_ndb", REMOVED),
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
