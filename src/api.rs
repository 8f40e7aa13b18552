//! The HTTP layer, which alone knows actix.
//!
//! `http::dispatch` authenticates and authorizes a request and finds its row in the table of [`routes`]. The handler of
//! the row reads the request with `wire`, makes one call to `model`, and writes a reply. An error becomes a refusal.

mod docs;
pub mod handlers;
pub mod http;
mod metrics;
mod openapi;
mod readiness;
mod route;
mod routes;
mod service;

use crate::version::Version;

pub use crate::wire::claims::write_text as write_claim_answer;
pub use crate::wire::workloads::read_stored as read_workload_spec;
pub use http::body::BodyMemory;
pub use http::connections::spare_connections;
pub use http::cors::Cors;
pub use http::front::Front;
pub use http::server::{Listeners, Served, serve};
pub use http::statistics::HttpStatistics;
pub use http::stopping::ignore_other_signals;
pub use http::tls::{LiveTls, PemFile, TlsPems};
pub use metrics::{Metrics, MetricsAccess, ProcessCounters};
pub use routes::{ROUTES, authorized_by, description as openapi, slave_routes, statistics_paths};
pub use service::{HttpSettings, Listen, METRICS_CONNECTIONS, Service};

/// The oldest and the newest microversion.
pub const OLDEST_VERSION: Version = Version::MIN;
pub const NEWEST_VERSION: Version = Version::MAX;

#[cfg(test)]
mod tests;
