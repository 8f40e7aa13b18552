//! keystonemiddleware's options, and the options of keystoneauth's password and application credential plugins.

use std::path::PathBuf;

use crate::config::value::Password;

options! {
    /// `[keystone_authtoken]`: with `[api] auth_strategy = keystone`, how tokens are validated.
    KeystoneAuthtoken in "keystone_authtoken" {
        /// The URL of Keystone, where placet gets a token for itself.
        auth_url: Option<String>;
        /// The public URL of Keystone, at which clients get a token, for the header `WWW-Authenticate` of a 401. The
        /// default is `auth_url`.
        www_authenticate_uri: Option<String>, formerly "keystone_authtoken" "auth_uri";
        /// How placet authenticates itself: `password` (or `v3password`) or `v3applicationcredential`.
        auth_type: Option<String>, formerly "keystone_authtoken" "auth_plugin";
        /// Not supported: write the options of the named section into `[keystone_authtoken]`.
        auth_section: Option<String>;
        /// The name of placet's user, usually `placement`.
        username: Option<String>,
            formerly "keystone_authtoken" "user-name", formerly "keystone_authtoken" "user_name";
        /// The id of placet's user, instead of its name and domain.
        user_id: Option<String>;
        /// The name of the user's domain.
        user_domain_name: Option<String>;
        /// The id of the user's domain.
        user_domain_id: Option<String>;
        /// The password of placet's user.
        password: Option<Password>;
        /// The project of placet's own token, usually `service`.
        project_name: Option<String>,
            formerly "keystone_authtoken" "tenant-name", formerly "keystone_authtoken" "tenant_name";
        /// The id of the project, instead of its name and domain.
        project_id: Option<String>,
            formerly "keystone_authtoken" "tenant-id", formerly "keystone_authtoken" "tenant_id";
        /// The name of the project's domain.
        project_domain_name: Option<String>;
        /// The id of the project's domain.
        project_domain_id: Option<String>;
        /// The default domain of user and project, by id.
        default_domain_id: Option<String>;
        /// The default domain of user and project, by name.
        default_domain_name: Option<String>;
        /// The id of a domain as the scope of placet's own token, instead of a project.
        domain_id: Option<String>;
        /// The name of a domain as the scope of placet's own token, instead of a project.
        domain_name: Option<String>;
        /// `all` makes the system the scope of placet's own token, instead of a project.
        system_scope: Option<String>;
        /// A trust as the scope of placet's own token, instead of a project.
        trust_id: Option<String>;
        /// The id of an application credential, with `auth_type = v3applicationcredential`.
        application_credential_id: Option<String>;
        /// The name of an application credential of the user, instead of its id.
        application_credential_name: Option<String>;
        /// The secret of the application credential.
        application_credential_secret: Option<Password>;
        /// The endpoint of Keystone in the catalogue for placet: `internal`, `public` or `admin`.
        interface: String = "internal";
        /// The region of the endpoint. By default, any region.
        region_name: Option<String>;
        /// The authorities for Keystone's certificate, as a PEM file, instead of the system's.
        cafile: Option<PathBuf>;
        /// Do not check Keystone's certificate.
        insecure: bool = false;
        /// A client certificate for Keystone, as a PEM file, with or without its key.
        certfile: Option<PathBuf>;
        /// The key of the client certificate, as a PEM file.
        keyfile: Option<PathBuf>;
        /// How many seconds an attempt of a request to Keystone may take; 0 sets no limit. All attempts together take
        /// at most `[placet] commit_timeout`.
        http_connect_timeout: u64 = 10;
        /// How many times a request without a connection or an answer in time is repeated. While Keystone is down,
        /// further requests are sent once.
        http_request_max_retries: i64 = 3;
        /// For how many seconds a validated token is cached, at most until its expiry. 0 and -1 turn the cache off.
        token_cache_time: i64 = 300;
        /// The roles of which a service's token (`X-Service-Token`) must have at least one. With a valid service's
        /// token the user's token may have expired.
        service_token_roles: Vec<String> = "service";
        /// Refuse a service's token without such a role. With `false` every valid token counts as a service's.
        service_token_roles_required: bool = true;
        /// The type of this service in the catalogue, `placement`. Without the type, tokens of application credentials
        /// with access rules are refused.
        service_type: Option<String>;
        /// Refuse requests without a valid token in the form of OpenStack Placement's errors. If Keystone is down, such
        /// requests are answered with 401 instead of 503.
        delay_auth_decision: bool = false;
    }
}
