//! `[placet]`: placet's own options.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::error::{ConfigError, Result};
use crate::config::value::{OptionValue, choice};

options! {
    /// `[placet]`: what OpenStack Placement leaves to the web server around it, or does not have.
    Placet in "placet" {
        /// Address and port to serve on. Port 0 chooses a free one; the command line's `--bind` overrides it.
        bind: SocketAddr = "127.0.0.1:8778";
        /// The path under which clients see the service, such as `/placement`. It appears in links and in `Location`
        /// headers.
        url_prefix: UrlPrefix = "";
        /// Allow `auth_strategy = noauth2` without `token_file` (no authentication) on an address that other machines
        /// can reach.
        allow_noauth2_anywhere: bool = false;
        /// A PEM file with the server's certificate and the intermediate ones. With it clients must speak TLS, 1.2 or
        /// 1.3. This file, the key and the client CA are read again when they change.
        tls_certificate: Option<PathBuf>;
        /// A PEM file with the private key of `tls_certificate`.
        tls_key: Option<PathBuf>;
        /// A PEM file with the certificates of authorities. With it a client must present a certificate that one of
        /// them has signed. It must still authenticate.
        tls_client_ca: Option<PathBuf>;
        /// The file of the tokens that are accepted, with `auth_strategy = noauth2`. `placet token create` adds to it.
        /// It is read again when it changes. Without it no token is checked.
        token_file: Option<PathBuf>;
        /// The longest request body, for allocations and the reshaper. On other routes it is at most 4 MiB for a list,
        /// and 1 MiB for a single thing. A longer one is answered with 413.
        max_body_size: usize = 33_554_432, 1..=1_073_741_824 bytes;
        /// The most bytes of all request bodies in memory together. Beyond it, a body of more than 64 KiB is answered
        /// with 503.
        max_body_memory: usize = 268_435_456, 1..=2_147_483_647 bytes;
        /// How long requests in flight may take to finish after SIGTERM or SIGINT.
        shutdown_timeout: u64 = 30, 0..=3_600 seconds;
        /// How long the service goes on after SIGTERM or SIGINT before it stops, while `/health/ready` answers 503: as
        /// long as a balancer needs to notice that. A second signal ends this time.
        drain_time: u64 = 0, 0..=3_600 seconds;
        /// How long the database may give no answer until `/health/ready` answers 503. While searches are answered from
        /// memory (`stale_reads_seconds`) it answers 200 and says `degraded`.
        ready_timeout: u64 = 5, 2..=600 seconds;
        /// Timeout for a write, queueing and retries together, for a read that waits for the database, and for a
        /// request that waits for Keystone; then the answer is 503. If the database hangs without closing the
        /// connection, a write times out after twice this.
        commit_timeout: u64 = 10, 1..=600 seconds;
        /// The maximum number of writes that wait or are being written. A further write is answered with 503. As many
        /// again may wait for rows that another transaction has locked.
        queue_size: usize = 1024, 1..=1_000_000;
        /// The maximum number of searches that wait for a processor. When they are more, the caller with the most
        /// waiting searches is answered with 503.
        search_queue_size: usize = 256, 0..=1_000_000;
        /// Threads that serve HTTP. 0 starts one for each core.
        workers: usize = 0, 0..=1_024;
        /// The maximum number of open client connections. A further one closes another: of the address with the most
        /// connections, the one without progress for the longest time. If the process's hard limit of open files is too
        /// low for that, placet accepts as many as fit and logs a warning.
        max_connections: usize = 10_000, 1..=1_000_000;
        /// How long a connection may be idle between requests. Then it is closed.
        keep_alive_timeout: u64 = 75, 1..=86_400 seconds;
        /// Refuse an amount that equals `min_unit` but is not a multiple of `step_size`, as OpenStack Placement's code
        /// does against its specification. Set it while OpenStack Placement serves the same clients.
        strict_step_size: bool = false;
        /// The most candidates in one answer if neither the request's `limit` nor
        /// `[placement] max_allocation_candidates` is lower. A log line says that an answer was cut short.
        max_candidates: usize = 100_000, 1..=100_000_000;
        /// The most candidates of one tree that a search with a rank compares. If a tree has more, its first ones
        /// count, and the answer says that it is not exact.
        max_combinations: usize = 10_000, 1..=100_000_000;
        /// The candidate that a claim by query takes if it names no `rank`: the one that leaves a provider `fullest` or
        /// `emptiest`, the one with the `tightest` sum of free shares, a `random` one, or `any`.
        rank: DefaultRank = "any";
        /// How long the answer to a call of `POST /v1/claims` with an `id` is kept, so that the call can be repeated.
        claim_memory: u64 = 3_600, 60..=2_592_000 seconds;
        /// The time in which every provider in memory is compared once with the tables, to find writes by other
        /// programs. 0 turns the comparison off.
        comparison_interval: u64 = 300, 0..=86_400 seconds;
        /// How often replicas without a place are tried again, if anything has changed since. 0 leaves them to the next
        /// `PUT` of their workload.
        pending_interval: u64 = 10, 0..=86_400 seconds;
        /// The least time between two counts of the replicas without a place and of the broken rules, for the metrics.
        /// A count of all workloads that takes long is followed by a pause of 100 times as long. 0 disables counting.
        census_interval: u64 = 60, 0..=86_400 seconds;
        /// Serve `/metrics`, in Prometheus's text form. If not, requests are not counted.
        metrics: bool = true;
        /// An address and port of their own for `/metrics`, with `/health/live` and `/health/ready`. The metrics are
        /// then not on `bind`. Every client that reaches this port may read them, unless there is a
        /// `metrics_token_file`.
        metrics_bind: Option<SocketAddr>;
        /// A file with the token that `/metrics` requires as `Authorization: Bearer`. It is read for each scrape, and
        /// at start: a file that is missing or empty refuses it. Without this option, and without `metrics_bind`, the
        /// metrics are refused if `auth_strategy` is `keystone` or `token_file` is set.
        metrics_token_file: Option<PathBuf>;
        /// The most aggregates whose inventories the metrics show one by one: those with the most providers.
        metrics_aggregates: usize = 100, 0..=10_000;
        /// Routes that read from `[placement_database] slave_connection` and may therefore lag, such as `GET /usages,
        /// GET /allocations/{consumer_uuid}`.
        slave_routes: Vec<String> = "";
        /// How old an answer to `GET /allocation_candidates` and `GET /resource_providers` may be that comes from
        /// memory while the database is unreachable, or while all tables are read again. It has the headers `Age` and
        /// `placet-stale`, and may lack what was acknowledged since. With 0 the answer is 503 without the database, as
        /// on all other routes, and waits for the tables.
        stale_reads_seconds: u64 = 0, 0..=86_400 seconds;
        /// The form of the log's lines: `text`; `json`, an object a line; or `oslo`, the form of OpenStack's services.
        log_format: LogFormat = "text";
        /// A request that takes at least this time is logged once more as a warning, with where the time went. 0 logs
        /// none.
        slow_request_seconds: u64 = 5, 0..=3_600 seconds;
    }
}

/// The PEM files of the listener.
#[derive(Debug, Clone)]
pub struct TlsPaths {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub client_ca: Option<PathBuf>,
}

impl Placet {
    /// The files for TLS, if clients must speak TLS.
    ///
    /// # Errors
    /// The certificate or the key is missing.
    pub fn tls(&self) -> Result<Option<TlsPaths>> {
        let missing = |set, missing| Err(ConfigError::IncompleteTls { set, missing });
        match (&self.tls_certificate, &self.tls_key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsPaths {
                certificate: certificate.clone(),
                key: key.clone(),
                client_ca: self.tls_client_ca.clone(),
            })),
            (Some(_), None) => missing("tls_certificate", "tls_key"),
            (None, Some(_)) => missing("tls_key", "tls_certificate"),
            (None, None) if self.tls_client_ca.is_some() => missing("tls_client_ca", "tls_certificate"),
            (None, None) => Ok(None),
        }
    }
}

/// `[placet] rank`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultRank {
    /// The first candidate found.
    Any,
    Fullest,
    Emptiest,
    Tightest,
    Random,
}

impl OptionValue for DefaultRank {
    const KIND: &'static str = "any, fullest, emptiest, tightest, random";

    fn from_text(text: &str) -> std::result::Result<Option<Self>, String> {
        let ranks = [
            ("any", Self::Any),
            ("fullest", Self::Fullest),
            ("emptiest", Self::Emptiest),
            ("tightest", Self::Tightest),
            ("random", Self::Random),
        ];
        choice(text, &ranks)
    }
}

/// `[placet] log_format`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
    Oslo,
}

impl OptionValue for LogFormat {
    const KIND: &'static str = "text, json, oslo";

    fn from_text(text: &str) -> std::result::Result<Option<Self>, String> {
        choice(
            text,
            &[("text", Self::Text), ("json", Self::Json), ("oslo", Self::Oslo)],
        )
    }
}

/// A path without a slash at its end: empty, or like `/placement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPrefix(String);

impl OptionValue for UrlPrefix {
    const KIND: &'static str = "path";

    /// `/` and the empty text both mean the root.
    fn from_text(text: &str) -> std::result::Result<Option<Self>, String> {
        let prefix = text.trim_end_matches('/');
        let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
        if (prefix.is_empty() || prefix.starts_with('/')) && !prefix.contains("//") && prefix.chars().all(plain) {
            Ok(Some(Self(prefix.to_owned())))
        } else {
            Err("must be empty or a path like /placement".to_owned())
        }
    }
}

impl fmt::Display for UrlPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
