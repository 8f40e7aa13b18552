//! What every worker of the server shares.

use std::time::Duration;

use uuid::Uuid;

use super::cors::Cors;
use crate::auth::Strategy;
use crate::model::Model;
use crate::policy::live::Live;
use crate::search::{self, Interrupt};

/// The service behind the edge.
pub struct Service {
    pub model: Model,
    pub policy: Live,
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
    /// Which pages of other origins may ask from a browser, if any.
    pub cors: Option<Cors>,
    pub search: search::Settings,
    /// How old an answer from memory may be while the database is away.
    pub stale_reads: Duration,
    /// The paths whose GET may read a copy of the database that lags: see `slave_routes`.
    pub slave_routes: Vec<&'static str>,
    /// Whether each search begins somewhere else in the cloud.
    pub randomize: bool,
}

impl Settings {
    /// The settings of one search, which nothing but its own interrupt ends.
    pub fn search(&self) -> search::Settings {
        let seed = if self.randomize { random() } else { self.search.seed };
        search::Settings {
            seed,
            interrupt: Interrupt::default(),
            ..self.search.clone()
        }
    }
}

fn random() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    high ^ low
}

/// How the server listens.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Threads that serve HTTP; 0: one for each core.
    pub workers: usize,
    /// How many connections there may be at once; more wait until one ends.
    pub max_connections: usize,
    /// How long requests in flight may take to finish when the server stops.
    pub shutdown_timeout: Duration,
}
