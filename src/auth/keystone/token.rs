//! Keystone's answer about a token, read into the caller's credentials.

use std::sync::Arc;
use std::time::SystemTime;

use chrono::DateTime;
use serde::Deserialize;

use super::access_rules::{AccessRule, AccessRules};
use crate::policy::{Caller, ServiceCredentials};

/// A token that Keystone validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidToken {
    pub caller: Arc<Caller>,
    pub expires: SystemTime,
    /// `None` if the token may make any request.
    pub access_rules: Option<AccessRules>,
}

impl ValidToken {
    pub fn has_expired(&self) -> bool {
        self.expires <= SystemTime::now()
    }
}

/// An answer of Keystone about a token: of `GET` and of `POST /v3/auth/tokens`.
#[derive(Deserialize)]
pub struct TokenAnswer {
    pub token: Token,
}

#[derive(Deserialize)]
pub struct Token {
    expires_at: String,
    user: TokenEntity,
    project: Option<TokenEntity>,
    domain: Option<TokenEntity>,
    system: Option<System>,
    #[serde(default)]
    roles: Vec<TokenRole>,
    is_admin_project: Option<bool>,
    #[serde(default)]
    pub catalog: Vec<CatalogService>,
    application_credential: Option<ApplicationCredential>,
    bind: Option<serde_json::Map<String, serde_json::Value>>,
}

/// A user, a project or a domain.
#[derive(Deserialize)]
struct TokenEntity {
    id: String,
    domain: Option<TokenDomain>,
}

#[derive(Deserialize)]
struct TokenDomain {
    id: Option<String>,
}

#[derive(Deserialize)]
struct System {
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
struct TokenRole {
    name: String,
}

#[derive(Deserialize)]
struct ApplicationCredential {
    access_rules: Option<Vec<AccessRule>>,
}

#[derive(Deserialize)]
pub struct CatalogService {
    #[serde(rename = "type")]
    pub service_type: String,
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
}

#[derive(Deserialize)]
pub struct Endpoint {
    pub interface: String,
    pub region: Option<String>,
    pub region_id: Option<String>,
    pub url: String,
}

impl TokenAnswer {
    /// # Errors
    /// The answer does not follow Keystone's API.
    pub fn read(body: &[u8]) -> Result<TokenAnswer, String> {
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }
}

impl Token {
    /// # Errors
    /// `expires_at` is no time.
    pub fn expires(&self) -> Result<SystemTime, String> {
        let time = DateTime::parse_from_rfc3339(&self.expires_at);
        time.map(SystemTime::from)
            .map_err(|error| format!("expires_at = {}: {error}", self.expires_at))
    }

    /// # Errors
    /// The token has no valid time, or is bound to a mechanism that placet does not speak.
    pub fn validate(self) -> Result<ValidToken, String> {
        if self.bind.as_ref().is_some_and(|bind| !bind.is_empty()) {
            return Err("it is bound to another mechanism of authentication, which placet does not support".to_owned());
        }
        let expires = self.expires()?;
        let rules = self
            .application_credential
            .and_then(|credential| credential.access_rules);
        let services = self.catalog.into_iter().map(|service| service.service_type);
        let access_rules = rules.map(|rules| AccessRules {
            rules,
            services: services.collect(),
        });
        let domain_of = |named: Option<TokenEntity>| {
            let (id, domain) = named.map_or((None, None), |named| (Some(named.id), named.domain));
            (id, domain.and_then(|domain| domain.id))
        };
        let (user_id, user_domain_id) = domain_of(Some(self.user));
        let (project_id, project_domain_id) = domain_of(self.project);
        let caller = Caller {
            user_id,
            user_domain_id,
            project_id,
            project_domain_id,
            domain_id: self.domain.map(|domain| domain.id),
            system_scope: self.system.filter(|system| system.all).map(|_| "all".to_owned()),
            roles: self.roles.into_iter().map(|role| role.name).collect(),
            is_admin_project: self.is_admin_project.unwrap_or(true),
            service: ServiceCredentials::default(),
            host: None,
        };
        Ok(ValidToken {
            caller: Arc::new(caller),
            expires,
            access_rules,
        })
    }
}
