//! The state shared by all workers of the HTTP server, and the server's settings.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::http::body::BodyMemory;
use super::http::cors::Cors;
use super::http::lists::KnownPages;
use super::http::statistics::HttpStatistics;
use super::http::tls::LiveTls;
use crate::auth::Authenticator;
use crate::model::Model;
use crate::model::census::Census;
use crate::model::refusals::RefusalExplainer;
use crate::model::workloads::PendingWorkloads;
use crate::policy::live::LivePolicy;
use crate::search::{self, Interrupt, SharedOrder};

/// The state shared by all workers.
pub struct Service {
    pub model: Model,
    pub policy: LivePolicy,
    pub auth: Authenticator,
    pub bodies: Arc<BodyMemory>,
    pub settings: HttpSettings,
    pub statistics: Arc<HttpStatistics>,
    pub known_pages: KnownPages,
}

/// Settings of the HTTP layer.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The path of the service for clients, such as `/placement`; empty for the root. Links and `Location` begin with
    /// the path.
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
    /// `[placet] rank`: the rank for claims by query without a rank.
    pub rank: Option<search::Rank>,
    /// The maximum age of an answer from memory while the database is unreachable.
    pub stale_reads: Duration,
    /// How long the database may be silent while the service is ready.
    pub ready_timeout: Duration,
    /// A request is logged as slow from this time on; 0: no request is.
    pub slow_request: Duration,
    /// The paths whose GET may read from a lagging replica: see `slave_routes`.
    pub slave_routes: Vec<&'static str>,
    /// Whether each search visits the providers in a random order, even without a limit on the answer.
    pub randomize: bool,
}

/// From this limit on, samples share an order of the search. Schedulers often take the first candidate of a small
/// sample, so small samples should begin differently. A small sample also has few texts to share.
const LARGE_SAMPLE: usize = 100;

impl HttpSettings {
    /// The settings of the search for `request`, with a new interrupt. Each answer with a limit is a new sample:
    /// concurrent schedulers would otherwise choose the same provider.
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

    /// The order shared by the samples of this size in this second.
    fn shared_order(&self, sample: usize) -> SharedOrder {
        let second = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        SharedOrder {
            seed: self.search.seed ^ second,
            sample,
        }
    }

    /// The settings of a search with a random seed, which decides between equal candidates.
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

    /// The explainer of searches without a candidate, for a background task.
    pub fn refusal_explainer(&self, model: &Model) -> RefusalExplainer {
        RefusalExplainer::new(Arc::clone(&model.refusals), self.workload_search())
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

/// The most connections of a worker to the port of the metrics: a scraper and a balancer have a few.
pub const METRICS_CONNECTIONS: usize = 64;

/// How the server listens.
#[derive(Clone)]
pub struct Listen {
    /// The number of threads for HTTP; 0: the number of cores.
    pub workers: usize,
    /// The most client connections; each further connection closes an open connection.
    pub max_connections: usize,
    /// The most threads on which requests of a worker wait for the database.
    pub waiting_threads: usize,
    /// How long the service goes on, and is not ready, after a stop signal.
    pub drain_time: Duration,
    /// How long requests in flight may take to finish after a stop signal.
    pub shutdown_timeout: Duration,
    /// How long a connection may be idle between requests.
    pub keep_alive_timeout: Duration,
    /// Whether another process, such as systemd, keeps the listening socket, and hands the socket to the next placet.
    pub is_inherited: bool,
    /// The certificates, if clients speak TLS.
    pub tls: Option<Arc<LiveTls>>,
    /// Called at SIGHUP, before the policy is loaded again.
    pub on_hangup: Arc<dyn Fn() + Send + Sync>,
}
