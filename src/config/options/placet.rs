//! placet's own section. Its rows are in `known/placet.rs`.

use std::net::SocketAddr;

use validator::Validate;

use crate::config::error::Result;
use crate::config::reader::Reader;

/// `[placet]`: what OpenStack Placement leaves to the web server around it, or does not have.
#[derive(Debug, Clone, Validate)]
pub struct Placet {
    /// Where HTTP is served; port 0 takes a free one.
    pub bind: SocketAddr,
    /// The path under which clients see the service, `''` or like `/placement`: it is in links and `Location`.
    pub url_prefix: String,
    /// Serve without authentication on an address that other machines reach.
    pub allow_noauth2_anywhere: bool,
    /// Bytes of a request's body; more is 413.
    #[validate(range(min = 1, max = 1_073_741_824))]
    pub max_body_size: usize,
    /// Seconds that requests in flight get to finish after SIGTERM or SIGINT.
    #[validate(range(min = 0, max = 3_600))]
    pub shutdown_timeout: u64,
    /// Seconds for which a command may wait for its turn and is tried again, both together; then 503.
    #[validate(range(min = 1, max = 600))]
    pub commit_timeout: u64,
    /// Commands that may wait at the writer; one more is 503.
    #[validate(range(min = 1, max = 1_000_000))]
    pub queue_size: usize,
    /// HTTP threads; 0: one for each core.
    #[validate(range(min = 0, max = 1_024))]
    pub workers: usize,
    /// Connections at once; more wait. The limit of open files must be higher.
    #[validate(range(min = 1, max = 1_000_000))]
    pub max_connections: usize,
    /// Refuse an amount equal to `min_unit` that is no multiple of `step_size`, as OpenStack Placement's code does
    /// against its specification. For a rolling switch from it.
    pub strict_step_size: bool,
    /// How many candidates an answer holds at most where `[placement] max_allocation_candidates` is -1.
    #[validate(range(min = 1, max = 100_000_000))]
    pub max_candidates: usize,
    /// Seconds in which every provider in memory is compared with the tables once; 0: never.
    #[validate(range(min = 0, max = 86_400))]
    pub comparison_interval: u64,
    /// Seconds for which searches may be answered from memory while the database is away; 0: not at all, they are 503.
    #[validate(range(min = 0, max = 86_400))]
    pub stale_reads_seconds: u64,
    /// Routes such as `GET /usages` that are read by `[placement_database] slave_connection`, and may lag.
    pub slave_routes: Vec<String>,
}

impl Placet {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        const SECTION: &str = "placet";
        Ok(Self {
            bind: reader.parsed(SECTION, "bind", |text| {
                let localhost = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
                let address = localhost.as_deref().unwrap_or(text);
                address
                    .parse()
                    .map_err(|_| "must be ADDRESS:PORT, like 127.0.0.1:8778 or [::1]:8778".to_owned())
            })?,
            url_prefix: reader.parsed(SECTION, "url_prefix", url_prefix)?,
            allow_noauth2_anywhere: reader.boolean(SECTION, "allow_noauth2_anywhere")?,
            max_body_size: reader.number(SECTION, "max_body_size")?,
            shutdown_timeout: reader.number(SECTION, "shutdown_timeout")?,
            commit_timeout: reader.number(SECTION, "commit_timeout")?,
            queue_size: reader.number(SECTION, "queue_size")?,
            workers: reader.number(SECTION, "workers")?,
            max_connections: reader.number(SECTION, "max_connections")?,
            strict_step_size: reader.boolean(SECTION, "strict_step_size")?,
            max_candidates: reader.number(SECTION, "max_candidates")?,
            comparison_interval: reader.number(SECTION, "comparison_interval")?,
            stale_reads_seconds: reader.number(SECTION, "stale_reads_seconds")?,
            slave_routes: reader.list(SECTION, "slave_routes")?,
        })
    }
}

/// `/` and the empty text are both the root; one slash at the end is not kept.
fn url_prefix(text: &str) -> std::result::Result<String, String> {
    let prefix = text.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    if (prefix.is_empty() || prefix.starts_with('/')) && !prefix.contains("//") && prefix.chars().all(plain) {
        Ok(prefix.to_owned())
    } else {
        Err("must be empty or a path like /placement".to_owned())
    }
}
