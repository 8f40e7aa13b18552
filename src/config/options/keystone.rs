//! keystonemiddleware's options, and those of keystoneauth's password, token and application credential plugins.
//!
//! Keystone authentication is not built yet, and `noauth2` asks no server, so none of them is used.

use crate::config::spec::OptionSpec;

const KEYSTONE: &str = "[api] auth_strategy = noauth2, until keystone authentication is built";
const AUDIT: &str = "placet has no audit middleware; each request is one line of the log";

/// Options that are accepted but not used.
pub(in crate::config) const UNUSED: &[OptionSpec] = &[
    OptionSpec::unused("keystone_authtoken", "application_credential_id", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "application_credential_name", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "application_credential_secret", KEYSTONE).secret(),
    OptionSpec::unused("keystone_authtoken", "auth_section", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "auth_type", KEYSTONE).formerly(&[("keystone_authtoken", "auth_plugin")]),
    OptionSpec::unused("keystone_authtoken", "auth_url", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "auth_version", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "cache", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "cafile", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "certfile", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "default_domain_id", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "default_domain_name", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "delay_auth_decision", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "domain_id", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "domain_name", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "enforce_token_bind", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "http_connect_timeout", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "http_request_max_retries", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "include_service_catalog", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "insecure", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "interface", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "keyfile", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_password", KEYSTONE).secret(),
    OptionSpec::unused("keystone_authtoken", "memcache_pool_conn_get_timeout", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_pool_dead_retry", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_pool_maxsize", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_pool_socket_timeout", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_pool_unused_timeout", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_sasl_enabled", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_secret_key", KEYSTONE).secret(),
    OptionSpec::unused("keystone_authtoken", "memcache_security_strategy", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_tls_allowed_ciphers", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_tls_cafile", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_tls_certfile", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_tls_enabled", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_tls_keyfile", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_use_advanced_pool", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcache_username", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "memcached_servers", KEYSTONE)
        .formerly(&[("keystone_authtoken", "memcache_servers")]),
    OptionSpec::unused("keystone_authtoken", "password", KEYSTONE).secret(),
    OptionSpec::unused("keystone_authtoken", "project_domain_id", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "project_domain_name", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "project_id", KEYSTONE)
        .formerly(&[("keystone_authtoken", "tenant-id"), ("keystone_authtoken", "tenant_id")]),
    OptionSpec::unused("keystone_authtoken", "project_name", KEYSTONE).formerly(&[
        ("keystone_authtoken", "tenant-name"),
        ("keystone_authtoken", "tenant_name"),
    ]),
    OptionSpec::unused("keystone_authtoken", "region_name", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "service_token_roles", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "service_token_roles_required", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "service_type", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "system_scope", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "token", KEYSTONE).secret(),
    OptionSpec::unused("keystone_authtoken", "token_cache_time", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "trust_id", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "user_domain_id", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "user_domain_name", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "user_id", KEYSTONE),
    OptionSpec::unused("keystone_authtoken", "username", KEYSTONE)
        .formerly(&[("keystone_authtoken", "user-name"), ("keystone_authtoken", "user_name")]),
    OptionSpec::unused("keystone_authtoken", "www_authenticate_uri", KEYSTONE),
    OptionSpec::unused("audit_middleware_notifications", "driver", AUDIT),
    OptionSpec::unused("audit_middleware_notifications", "topics", AUDIT),
    OptionSpec::unused("audit_middleware_notifications", "transport_url", AUDIT).secret(),
    OptionSpec::unused("audit_middleware_notifications", "use_oslo_messaging", AUDIT),
];
