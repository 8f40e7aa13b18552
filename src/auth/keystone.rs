//! `auth_strategy = keystone`: tokens are validated by an OpenStack Keystone, as keystonemiddleware does it.
//!
//! A validated token is cached, by its SHA-256. For a token that is not in the cache, a thread asks Keystone while the
//! request waits; requests with the same token share one validation. If Keystone does not answer, cached tokens stay
//! valid until they leave the cache. All other requests are refused with 503 at once, and placet alone asks Keystone
//! again, with growing pauses (`recovery.rs`).

mod access_rules;
mod asker;
mod availability;
mod cache;
mod client;
mod failure;
mod identity_service;
mod login;
mod own_login;
mod own_token;
mod recovery;
mod settings;
mod single_flight;
mod slots;
mod statistics;
#[cfg(test)]
mod tests;
mod token;
mod validation;

use std::sync::Arc;

pub use availability::KeystoneState;
use client::Client;
use failure::Failure;
pub use failure::StartError;
use identity_service::IdentityService;
pub use login::{Credentials, LoginDomain, Scope, User};
pub use own_login::OwnLogin;
pub use settings::KeystoneSettings;
pub use statistics::{Call, CallOutcome, Eviction, KeystoneStatistics, LookUp};
use token::ValidToken;
use tokio::runtime::Builder;
use tokio::time::Instant;
use validation::{Validator, Waiter};

use super::{AuthRequest, Denied, UnauthenticatedBody};
use crate::http_client::{self, ConnectionSettings};
use crate::policy::{Caller, ServiceCredentials};

/// The detail of a 503, as in keystonemiddleware.
const UNAVAILABLE: &str = "The Keystone service is temporarily unavailable.";

/// Validates tokens with Keystone.
pub struct Keystone {
    settings: KeystoneSettings,
    validator: Validator,
}

/// The result of reading the service's token in `X-Service-Token`.
enum ServiceToken {
    Absent,
    Invalid,
    Valid {
        token: Arc<ValidToken>,
        /// The service has a role of `service_token_roles`, so the user's token may have expired.
        may_use_expired: bool,
    },
}

impl Keystone {
    /// Starts the thread that asks Keystone. The thread gets the service's own token at once, so that a mistake in the
    /// configuration is in the log before the first request.
    ///
    /// # Errors
    /// A certificate that cannot be used, or no thread.
    pub fn start(settings: KeystoneSettings) -> Result<Keystone, StartError> {
        let validator = Validator::start(&settings)?;
        Ok(Keystone { settings, validator })
    }

    /// Checks that [`Keystone::start`] can use the certificates. Asks nothing.
    ///
    /// # Errors
    /// A certificate that cannot be used.
    pub fn check(connection: &ConnectionSettings) -> Result<(), StartError> {
        Ok(http_client::connections(connection).map(drop)?)
    }

    /// Gets the service's own token, has Keystone validate the token, and returns its roles. Keystone lets every user
    /// validate the user's own token.
    ///
    /// # Errors
    /// A certificate that cannot be used, or why Keystone gives no token or validates none.
    pub fn try_login(settings: &KeystoneSettings) -> Result<Vec<String>, StartError> {
        let client = Client::new(settings, Arc::default(), Arc::default())?;
        let service = IdentityService::new(settings, client);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let validated = runtime.block_on(async {
            let own = service.log_in().await?;
            service.validate(&own.token, false).await
        });
        match validated {
            Ok(Some(token)) => Ok(token.caller.roles.clone()),
            Ok(None) => Err(StartError::Login(Failure::OwnTokenRefused)),
            Err(failure) => Err(StartError::Login(failure)),
        }
    }

    /// Reads the certificates for connections to Keystone again.
    pub fn reload(&self) {
        self.validator.asker.keystone.reload();
    }

    /// The counters, which stay readable after the end of this value.
    pub fn statistics(&self) -> &Arc<KeystoneStatistics> {
        &self.validator.asker.statistics
    }

    /// The state of Keystone for this process.
    pub fn state(&self) -> KeystoneState {
        self.validator.asker.availability.state()
    }

    /// Whether the last question to Keystone failed.
    pub fn is_failing(&self) -> bool {
        self.validator.asker.availability.has_failed()
    }

    /// The caller of a request. Identity headers of the client, such as `X-Roles`, are never read.
    ///
    /// # Errors
    /// [`Denied`].
    pub async fn authenticate(&self, request: &AuthRequest<'_>) -> Result<Arc<Caller>, Denied> {
        let Some(text) = (request.header)("x-auth-token").or_else(|| (request.header)("x-storage-token")) else {
            return Err(self.unauthenticated());
        };
        let wait = Waiter {
            client: request.client,
            deadline: Instant::now() + self.settings.limit,
        };
        let service = self.service_token(request, wait).await?;
        if matches!(service, ServiceToken::Invalid) && !self.settings.delay_auth_decision {
            return Err(self.unauthenticated());
        }
        let may_use_expired = matches!(
            service,
            ServiceToken::Valid {
                may_use_expired: true,
                ..
            }
        );
        let token = self.validate(text.trim(), may_use_expired, wait).await?;
        let token = token.ok_or_else(|| self.unauthenticated())?;
        // keystonemiddleware, with a delayed decision, lifts the access rules for an invalid service token too.
        let has_service_token = matches!(service, ServiceToken::Valid { .. });
        if !self.is_allowed(&token, request, has_service_token) {
            return Err(self.unauthenticated());
        }
        Ok(match service {
            ServiceToken::Valid { token: service, .. } if self.is_service(&service) => with_service(&token, &service),
            _ => Arc::clone(&token.caller),
        })
    }

    async fn service_token(&self, request: &AuthRequest<'_>, wait: Waiter<'_>) -> Result<ServiceToken, Denied> {
        let Some(text) = (request.header)("x-service-token").filter(|text| !text.is_empty()) else {
            return Ok(ServiceToken::Absent);
        };
        let Some(token) = self.validate(text.trim(), false, wait).await? else {
            return Ok(ServiceToken::Invalid);
        };
        if !self.is_service(&token) {
            return Ok(ServiceToken::Invalid);
        }
        Ok(ServiceToken::Valid {
            may_use_expired: self.has_service_role(&token),
            token,
        })
    }

    /// The token; `None` if the token is not valid now.
    async fn validate(
        &self,
        text: &str,
        may_use_expired: bool,
        wait: Waiter<'_>,
    ) -> Result<Option<Arc<ValidToken>>, Denied> {
        match self.validator.validate(text, may_use_expired, wait).await {
            Ok(token) => Ok(token),
            // The decision is delayed until the request is found to have no user: 401.
            Err(_) if self.settings.delay_auth_decision => Ok(None),
            Err(_) => Err(Denied::Unavailable {
                detail: UNAVAILABLE.to_owned(),
            }),
        }
    }

    fn has_service_role(&self, token: &ValidToken) -> bool {
        let required = &self.settings.service_token_roles;
        token.caller.roles.iter().any(|role| required.contains(role))
    }

    /// Whether a valid token counts as a service's token.
    fn is_service(&self, token: &ValidToken) -> bool {
        !self.settings.service_token_roles_required || self.has_service_role(token)
    }

    /// Whether the access rules of the token, if it has any, allow the request.
    fn is_allowed(&self, token: &ValidToken, request: &AuthRequest<'_>, has_service_token: bool) -> bool {
        let Some(rules) = &token.access_rules else { return true };
        match &self.settings.service_type {
            Some(own) => rules.allow(own, request.method, request.path, has_service_token),
            None => {
                log::warn!(
                    "A token with access rules is refused: set [keystone_authtoken] service_type, so that they can be \
                     checked"
                );
                false
            }
        }
    }

    fn unauthenticated(&self) -> Denied {
        let body = if self.settings.delay_auth_decision {
            UnauthenticatedBody::Placement
        } else {
            UnauthenticatedBody::Middleware
        };
        Denied::Unauthenticated {
            www_authenticate: Some(format!("Keystone uri=\"{}\"", self.settings.www_authenticate_uri)),
            body,
        }
    }
}

/// The user's credentials, with the credentials of the service that forwards the request.
fn with_service(user: &ValidToken, service: &ValidToken) -> Arc<Caller> {
    let from = &service.caller;
    Arc::new(Caller {
        // As in keystonemiddleware, whose header for the scope is set once more for the service.
        system_scope: from.system_scope.clone(),
        service: ServiceCredentials {
            user_id: from.user_id.clone(),
            user_domain_id: from.user_domain_id.clone(),
            project_id: from.project_id.clone(),
            project_domain_id: from.project_domain_id.clone(),
            roles: from.roles.clone(),
        },
        ..Caller::clone(&user.caller)
    })
}
