//! What every worker of the server shares.

use std::net::SocketAddr;
use std::time::Duration;

use crate::auth::Strategy;
use crate::model::Model;
use crate::policy::Policy;

/// The service behind the edge.
pub struct Service {
    pub model: Model,
    pub policy: Policy,
    pub auth: Strategy,
    pub settings: Settings,
}

/// How the edge behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the service is mounted, such as `/placement`; empty for the root. It is in every link and `Location`.
    pub url_prefix: String,
    /// The longest body that is read, in bytes.
    pub max_body_size: usize,
    /// Whether `Forwarded` and `X-Forwarded-…` are believed.
    pub parse_proxy_headers: bool,
    /// How a search reads `step_size` (ARCHITECTURE.md, rule 2).
    pub strict_step_size: bool,
    /// The most candidates that one request is answered with.
    pub max_candidates: usize,
}

/// Where and how the server listens.
#[derive(Debug, Clone)]
pub struct Listen {
    pub addresses: Vec<SocketAddr>,
    pub workers: usize,
    /// How long requests in flight may take to finish when the server stops.
    pub shutdown_timeout: Duration,
}
