//! `[placet]`: placet's own options.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::error::{ConfigError, Result};
use crate::config::value::{ChoiceValue, OptionValue};

options! {
    /// `[placet]`: options without a counterpart in OpenStack Placement, or left to its web server.
    Placet in "placet" {
        /// Address and port to serve on. Port 0 chooses a free port; the command line's `--bind` overrides the option.
        bind: SocketAddr = "127.0.0.1:8778";
        /// The path under which clients see the service, such as `/placement`. Links and `Location` headers begin with
        /// the path.
        url_prefix: UrlPrefix = "";
        /// Allow `auth_strategy = noauth2` without `token_file` (no authentication) on an address for further machines.
        allow_noauth2_anywhere: bool = false;
        /// A PEM file with the server's certificate and the intermediate certificates. With this file clients must
        /// speak TLS, 1.2 or 1.3. This file, the key and the client CA are read again after a change.
        tls_certificate: Option<PathBuf>;
        /// A PEM file with the private key of `tls_certificate`.
        tls_key: Option<PathBuf>;
        /// A PEM file with the certificates of authorities. With this file a client must present a certificate of one
        /// of the authorities, and must still authenticate.
        tls_client_ca: Option<PathBuf>;
        /// The file of the accepted tokens, with `auth_strategy = noauth2`. `placet token create` adds tokens. The file
        /// is read again after a change. Without a file no token is checked.
        token_file: Option<PathBuf>;
        /// The longest request body, for allocations and the reshaper. On all further routes at most 4 MiB for a list,
        /// and 1 MiB for a single thing. A longer body is answered with 413.
        max_body_size: usize = 33_554_432, 1..=1_073_741_824 bytes;
        /// The most bytes of all request bodies in memory together. Beyond this limit, a body of more than 64 KiB is
        /// answered with 503.
        max_body_memory: usize = 268_435_456, 1..=2_147_483_647 bytes;
        /// How long requests in flight may take to finish after SIGTERM or SIGINT.
        shutdown_timeout: u64 = 30, 0..=3_600 seconds;
        /// How long the service goes on after SIGTERM or SIGINT before stopping, while `/health/ready` answers 503:
        /// until balancers have noticed the 503. A second signal ends this time.
        drain_time: u64 = 0, 0..=3_600 seconds;
        /// How long the database may give no answer until `/health/ready` answers 503. While searches are answered from
        /// memory (`stale_reads_seconds`), the answer is 200 with `degraded`.
        ready_timeout: u64 = 5, 2..=600 seconds;
        /// Timeout for a write, queueing and retries together, for a search until its first byte, for a read that waits
        /// for the database, and for a request that waits for Keystone; the answer after the timeout is 503. If the
        /// database hangs without closing the connection, a write times out after twice this time.
        commit_timeout: u64 = 10, 1..=600 seconds;
        /// The maximum number of writes that wait. Beyond this number, the caller with the most waiting writes is
        /// answered with 503. Large writes (more than 256 rows), and writes that wait for rows which foreign
        /// transactions have locked, have the same maximum each, and take no place from other writes.
        queue_size: usize = 1024, 1..=1_000_000;
        /// The maximum number of searches that wait for a processor. Beyond this number, the caller with the most
        /// waiting searches is answered with 503.
        search_queue_size: usize = 256, 0..=1_000_000;
        /// Threads that serve HTTP. 0 starts a thread for each core.
        workers: usize = 0, 0..=1_024;
        /// The maximum number of open client connections. A further connection closes a connection of the address with
        /// the most connections: the longest without progress. An address has at most half of all connections. A proxy
        /// is a single address, so set at least twice the connections of the proxy. If the process's hard limit of open
        /// files is too low, placet accepts a smaller number and logs a warning.
        max_connections: usize = 10_000, 1..=1_000_000;
        /// How long a connection may be idle between requests, before the service closes the connection.
        keep_alive_timeout: u64 = 75, 1..=86_400 seconds;
        /// Refuse an amount that equals `min_unit` but is not a multiple of `step_size`, as OpenStack Placement's code
        /// does against its specification. Set this while OpenStack Placement serves the same clients.
        strict_step_size: bool = false;
        /// The most candidates in one answer if neither the request's `limit` nor
        /// `[placement] max_allocation_candidates` is lower. A log line reports a cut answer.
        max_candidates: usize = 100_000, 1..=100_000_000;
        /// The most candidates of one tree that a search with a rank compares. Of a tree with more, only the first
        /// count, and the answer says so with `exact`.
        max_combinations: usize = 10_000, 1..=100_000_000;
        /// The candidate of a claim by query without a `rank`: it leaves a provider `fullest` or `emptiest`, has the
        /// `tightest` sum of free shares, is `random`, or is `any`.
        rank: DefaultRank = "any";
        /// How long the answer to a call of `POST /v1/claims` with an `id` is kept for a repeated call.
        claim_memory: u64 = 3_600, 60..=2_592_000 seconds;
        /// The time for comparing every provider in memory with the tables, to find writes by foreign programs. 0 turns
        /// the comparison off.
        comparison_interval: u64 = 300, 0..=86_400 seconds;
        /// How often replicas without a place are tried again, if anything has changed since. 0 leaves the replicas to
        /// the next `PUT` of their workload.
        pending_interval: u64 = 10, 0..=86_400 seconds;
        /// The least time between two counts of the replicas without a place and of the broken rules, for the metrics.
        /// After a long count of all workloads, the pause is 100 times the count's duration. 0 disables counting.
        census_interval: u64 = 60, 0..=86_400 seconds;
        /// Serve `/metrics`, in Prometheus's text form. With `false`, requests are not counted.
        metrics: bool = true;
        /// A separate address and port for `/metrics`, with `/health/live` and `/health/ready`. The metrics are not on
        /// `bind` in this case. Every client that reaches this port may read the metrics, unless there is a
        /// `metrics_token_file`.
        metrics_bind: Option<SocketAddr>;
        /// A file with the token that `/metrics` requires as `Authorization: Bearer`, read for each scrape and at
        /// start: a missing or empty file refuses the scrape or the start. Without this option and `metrics_bind`, the
        /// metrics are refused if `auth_strategy` is `keystone` or `token_file` is set.
        metrics_token_file: Option<PathBuf>;
        /// The number of aggregates with their own inventories in the metrics: the aggregates with the most providers.
        metrics_aggregates: usize = 100, 0..=10_000;
        /// Routes that read from `[placement_database] slave_connection` and may therefore lag, such as `GET /usages,
        /// GET /allocations/{consumer_uuid}`.
        slave_routes: Vec<String> = "";
        /// How old an answer to `GET /allocation_candidates` and `GET /resource_providers` from memory may be, while
        /// the database is unreachable or all tables are read again. The answer has the headers `Age` and
        /// `placet-stale`, and may lack later acknowledged writes. With 0 the answer is 503 without the database, as on
        /// all further routes, and waits for the tables.
        stale_reads_seconds: u64 = 0, 0..=86_400 seconds;
        /// The form of the log's lines: `text`; `json`, an object a line; or `oslo`, the form of OpenStack's services.
        log_format: LogFormat = "text";
        /// A request that takes at least this time is logged once more as a warning, with the times of its parts. 0
        /// logs no request.
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

impl ChoiceValue for DefaultRank {
    const WORDS: &'static str = "any, fullest, emptiest, tightest, random";
    const VALUES: &'static [Self] = &[Self::Any, Self::Fullest, Self::Emptiest, Self::Tightest, Self::Random];
}

/// `[placet] log_format`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
    Oslo,
}

impl ChoiceValue for LogFormat {
    const WORDS: &'static str = "text, json, oslo";
    const VALUES: &'static [Self] = &[Self::Text, Self::Json, Self::Oslo];
}

/// A path without a slash at its end: empty, or like `/placement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPrefix(pub String);

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
