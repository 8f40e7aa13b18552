//! keystonemiddleware's options, and those of keystoneauth's password, token and application credential plugins.
//!
//! Keystone authentication is not built yet, and `noauth2` asks nobody, so nothing here is used.

use super::Known;

const KEYSTONE: &str = "[api] auth_strategy = noauth2, until keystone authentication is built";
const AUDIT: &str = "placet has no audit middleware; each request is one line of the log";

pub(super) const ROWS: &[Known] = &[
    Known::unused("keystone_authtoken", "application_credential_id", KEYSTONE),
    Known::unused("keystone_authtoken", "application_credential_name", KEYSTONE),
    Known::unused("keystone_authtoken", "application_credential_secret", KEYSTONE).secret(),
    Known::unused("keystone_authtoken", "auth_section", KEYSTONE),
    Known::unused("keystone_authtoken", "auth_type", KEYSTONE).formerly(&[("keystone_authtoken", "auth_plugin")]),
    Known::unused("keystone_authtoken", "auth_url", KEYSTONE),
    Known::unused("keystone_authtoken", "auth_version", KEYSTONE),
    Known::unused("keystone_authtoken", "cache", KEYSTONE),
    Known::unused("keystone_authtoken", "cafile", KEYSTONE),
    Known::unused("keystone_authtoken", "certfile", KEYSTONE),
    Known::unused("keystone_authtoken", "default_domain_id", KEYSTONE),
    Known::unused("keystone_authtoken", "default_domain_name", KEYSTONE),
    Known::unused("keystone_authtoken", "delay_auth_decision", KEYSTONE),
    Known::unused("keystone_authtoken", "domain_id", KEYSTONE),
    Known::unused("keystone_authtoken", "domain_name", KEYSTONE),
    Known::unused("keystone_authtoken", "enforce_token_bind", KEYSTONE),
    Known::unused("keystone_authtoken", "http_connect_timeout", KEYSTONE),
    Known::unused("keystone_authtoken", "http_request_max_retries", KEYSTONE),
    Known::unused("keystone_authtoken", "include_service_catalog", KEYSTONE),
    Known::unused("keystone_authtoken", "insecure", KEYSTONE),
    Known::unused("keystone_authtoken", "interface", KEYSTONE),
    Known::unused("keystone_authtoken", "keyfile", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_password", KEYSTONE).secret(),
    Known::unused("keystone_authtoken", "memcache_pool_conn_get_timeout", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_pool_dead_retry", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_pool_maxsize", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_pool_socket_timeout", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_pool_unused_timeout", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_sasl_enabled", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_secret_key", KEYSTONE).secret(),
    Known::unused("keystone_authtoken", "memcache_security_strategy", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_tls_allowed_ciphers", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_tls_cafile", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_tls_certfile", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_tls_enabled", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_tls_keyfile", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_use_advanced_pool", KEYSTONE),
    Known::unused("keystone_authtoken", "memcache_username", KEYSTONE),
    Known::unused("keystone_authtoken", "memcached_servers", KEYSTONE)
        .formerly(&[("keystone_authtoken", "memcache_servers")]),
    Known::unused("keystone_authtoken", "password", KEYSTONE).secret(),
    Known::unused("keystone_authtoken", "project_domain_id", KEYSTONE),
    Known::unused("keystone_authtoken", "project_domain_name", KEYSTONE),
    Known::unused("keystone_authtoken", "project_id", KEYSTONE)
        .formerly(&[("keystone_authtoken", "tenant-id"), ("keystone_authtoken", "tenant_id")]),
    Known::unused("keystone_authtoken", "project_name", KEYSTONE).formerly(&[
        ("keystone_authtoken", "tenant-name"),
        ("keystone_authtoken", "tenant_name"),
    ]),
    Known::unused("keystone_authtoken", "region_name", KEYSTONE),
    Known::unused("keystone_authtoken", "service_token_roles", KEYSTONE),
    Known::unused("keystone_authtoken", "service_token_roles_required", KEYSTONE),
    Known::unused("keystone_authtoken", "service_type", KEYSTONE),
    Known::unused("keystone_authtoken", "system_scope", KEYSTONE),
    Known::unused("keystone_authtoken", "token", KEYSTONE).secret(),
    Known::unused("keystone_authtoken", "token_cache_time", KEYSTONE),
    Known::unused("keystone_authtoken", "trust_id", KEYSTONE),
    Known::unused("keystone_authtoken", "user_domain_id", KEYSTONE),
    Known::unused("keystone_authtoken", "user_domain_name", KEYSTONE),
    Known::unused("keystone_authtoken", "user_id", KEYSTONE),
    Known::unused("keystone_authtoken", "username", KEYSTONE)
        .formerly(&[("keystone_authtoken", "user-name"), ("keystone_authtoken", "user_name")]),
    Known::unused("keystone_authtoken", "www_authenticate_uri", KEYSTONE),
    Known::unused("audit_middleware_notifications", "driver", AUDIT),
    Known::unused("audit_middleware_notifications", "topics", AUDIT),
    Known::unused("audit_middleware_notifications", "transport_url", AUDIT).secret(),
    Known::unused("audit_middleware_notifications", "use_oslo_messaging", AUDIT),
];
