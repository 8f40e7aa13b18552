//! The state that all workers of the server share, and its settings.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::http::body::BodyMemory;
use super::http::cors::Cors;
use super::http::statistics::HttpStatistics;
use super::http::tls::LiveTls;
use crate::auth::Authenticator;
use crate::model::Model;
use crate::model::census::Census;
use crate::model::workloads::PendingWorkloads;
use crate::policy::live::LivePolicy;
use crate::search::{self, Interrupt, SharedOrder};

/// The state that all workers share.
pub struct Service {
    pub model: Model,
    pub policy: LivePolicy,
    pub auth: Authenticator,
    pub bodies: Arc<BodyMemory>,
    pub settings: HttpSettings,
    pub statistics: Arc<HttpStatistics>,
}

/// Settings of the HTTP layer.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The path under which clients see the service, such as `/placement`; empty for the root. It is in links and
    /// `Location`.
    pub url_prefix: String,
    /// The maximum length of a request body in bytes, on any route.
    pub max_body_size: usize,
    /// The scheme of the listener's URLs: `https` with TLS.
    pub scheme: &'static str,
    /// Whether `Forwarded` and `X-Forwarded-…` are trusted.
    pub parse_proxy_headers: bool,
    /// Which origins may use the API from a browser, if any.
    pub cors: Option<Cors>,
    pub search: search::SearchSettings,
    /// `[placet] rank`: of claims by query that name none.
    pub rank: Option<search::Rank>,
    /// The maximum age of an answer from memory while the database is unreachable.
    pub stale_reads: Duration,
    /// How long the database may be silent while the service is ready.
    pub ready_timeout: Duration,
    /// A request that takes at least this time is logged as slow; 0 for none.
    pub slow_request: Duration,
    /// The paths whose GET may read a replica that lags: see `slave_routes`.
    pub slave_routes: Vec<&'static str>,
    /// Whether each search visits the providers in another order, even if its answer is whole.
    pub randomize: bool,
}

/// A sample of at least as many candidates shares the order of its search with others. Of smaller ones schedulers often
/// take the first, which should differ, and their texts are few.
const LARGE_SAMPLE: usize = 100;

impl HttpSettings {
    /// The settings of the search for `request`, with an interrupt of its own. If its answer has a limit, it is another
    /// sample each time: schedulers that are answered at the same time would otherwise choose the same provider.
    pub fn search(&self, request: &search::Request) -> search::SearchSettings {
        let limit = request.limit.into_iter().chain(self.search.max).min();
        if self.randomize || limit.is_some() {
            let settings = self.shuffled_search();
            let large = limit.filter(|limit| *limit >= LARGE_SAMPLE);
            let order = large.map(|limit| self.shared_order(limit));
            return search::SearchSettings { order, ..settings };
        }
        search::SearchSettings {
            interrupt: Interrupt::default(),
            ..self.search.clone()
        }
    }

    /// The order that samples of this size share in this second.
    fn shared_order(&self, sample: usize) -> SharedOrder {
        let second = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        SharedOrder {
            seed: self.search.seed ^ second,
            sample,
        }
    }

    /// The settings of one search with a seed of its own, by which it chooses among equal candidates.
    pub fn shuffled_search(&self) -> search::SearchSettings {
        search::SearchSettings {
            seed: rand::random(),
            interrupt: Interrupt::default(),
            ..self.search.clone()
        }
    }

    /// The workloads with pending replicas, which a background task places.
    ///
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn pending_workloads(&self, model: Model) -> std::io::Result<PendingWorkloads> {
        PendingWorkloads::new(model, self.workload_search())
    }

    /// # Errors
    /// If the process has no file descriptors left.
    pub fn census(&self, model: Model) -> std::io::Result<Census> {
        Census::new(model, self.workload_search())
    }

    /// A search for the places of workloads: over all hosts.
    pub fn workload_search(&self) -> search::SearchSettings {
        search::SearchSettings {
            max: None,
            ceiling: usize::MAX,
            ..self.shuffled_search()
        }
    }
}

/// The maximum number of connections of one worker to the port of the metrics: a scraper and a balancer have a few.
pub const METRICS_CONNECTIONS: usize = 64;

/// How the server listens.
#[derive(Clone)]
pub struct Listen {
    /// Threads that serve HTTP; 0: one for each core.
    pub workers: usize,
    /// The maximum number of connections; each further one closes another.
    pub max_connections: usize,
    /// The most threads on which requests of one worker wait for the database.
    pub waiting_threads: usize,
    /// How long the service goes on, and is not ready, after a stop signal.
    pub drain_time: Duration,
    /// How long requests in flight may take to finish after a stop signal.
    pub shutdown_timeout: Duration,
    /// How long a connection may be idle between requests.
    pub keep_alive_timeout: Duration,
    /// Whether another process keeps the listening socket, and hands it to the next one.
    pub is_inherited: bool,
    /// The certificates, if clients speak TLS.
    pub tls: Option<Arc<LiveTls>>,
    /// Called at SIGHUP, before the policy is loaded again.
    pub on_hangup: Arc<dyn Fn() + Send + Sync>,
}
