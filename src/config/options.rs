//! All that placet can be told, read once and handed down; there are no globals.
//!
//! The field names are the option names, the sub-structs the sections. Defaults are in the table ([`super::known`]),
//! bounds on the fields. What upstream's options mean is upstream's documentation; here is what placet makes of them.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use validator::Validate;

use super::error::{ConfigError, Result};
use super::layers::Layers;
use super::reader::Reader;
use super::{bounds, mask};

/// The configuration of one process.
#[derive(Debug, Clone, Validate)]
pub struct Options {
    pub default: DefaultSection,
    pub api: Api,
    #[validate(nested)]
    pub placement: Placement,
    #[validate(nested)]
    pub placement_database: PlacementDatabase,
    pub oslo_policy: OsloPolicy,
    pub oslo_middleware: OsloMiddleware,
    pub cors: Cors,
    #[validate(nested)]
    pub placet: Placet,
}

/// `[DEFAULT]`
#[derive(Debug, Clone)]
pub struct DefaultSection {
    /// More log lines, unless the environment variable `RUST_LOG` says which.
    pub debug: bool,
    /// Whether a starting service logs its configuration (at debug level, secrets masked).
    pub log_options: bool,
    /// Where the log goes instead of stderr: `log_file` inside `log_dir`, or `placet.log` there.
    pub log_path: Option<PathBuf>,
}

/// `[api]`
#[derive(Debug, Clone)]
pub struct Api {
    pub auth_strategy: AuthStrategy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthStrategy {
    /// Tokens of an OpenStack Keystone.
    Keystone,
    /// Everybody is who they say they are: for tests and for one's own machine.
    Noauth2,
}

impl fmt::Display for AuthStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keystone => "keystone",
            Self::Noauth2 => "noauth2",
        })
    }
}

/// `[placement]`
#[derive(Debug, Clone, Validate)]
pub struct Placement {
    /// Visit the providers in a new order at each request.
    pub randomize_allocation_candidates: bool,
    /// The project of consumers that were made before microversion 1.8.
    pub incomplete_consumer_project_id: String,
    /// The user of consumers that were made before microversion 1.8.
    pub incomplete_consumer_user_id: String,
    /// How many candidates a request may bring forth; -1: no limit.
    #[validate(range(min = -1, max = 9_007_199_254_740_992_i64))]
    pub max_allocation_candidates: i64,
    /// In what order the candidates of several trees come.
    pub allocation_candidates_generation_strategy: GenerationStrategy,
}

/// `[placement] allocation_candidates_generation_strategy`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenerationStrategy {
    /// All candidates of one tree, then those of the next.
    DepthFirst,
    /// One candidate of each tree in turn.
    BreadthFirst,
}

/// `[placement_database]`
#[derive(Debug, Clone, Validate)]
pub struct PlacementDatabase {
    /// The database's URL, in SQLAlchemy's spelling.
    pub connection: Option<Secret>,
    /// The URL of a copy that may lag; read by what `[placet] slave_routes` names.
    pub slave_connection: Option<Secret>,
    /// Make or upgrade the schema at start.
    pub sync_on_startup: bool,
    /// Whether nothing at all is configured: the database is placet's own file, made and upgraded at start.
    pub embedded: bool,
    /// Seconds after which a connection is closed and made anew; -1: never.
    #[validate(range(min = -1, max = 31_536_000))]
    pub connection_recycle_time: i64,
    /// Connections that read; without it 16.
    #[validate(range(min = 1, max = 10_000))]
    pub max_pool_size: Option<u32>,
    /// As many more under load.
    #[validate(range(min = 0, max = 10_000))]
    pub max_overflow: Option<u32>,
    /// How often a server that does not answer at start is tried; -1: for ever.
    #[validate(range(min = -1, max = 1_000_000))]
    pub max_retries: i64,
    /// Seconds between two tries.
    #[validate(range(min = 0, max = 86_400))]
    pub retry_interval: u64,
    /// Seconds that a reader waits for a connection; without it 30, as in upstream's pool.
    #[validate(range(min = 0, max = 86_400))]
    pub pool_timeout: Option<u64>,
}

impl PlacementDatabase {
    /// The database's URL.
    ///
    /// # Errors
    /// Configured, but without one: as upstream, placet does not guess.
    pub fn required(&self) -> Result<&Secret> {
        self.connection.as_ref().ok_or(ConfigError::NoConnection)
    }

    /// Whether serving may make and upgrade the schema: the embedded file's always, any other's where configured.
    pub fn may_sync(&self) -> bool {
        self.embedded || self.sync_on_startup
    }
}

/// `[oslo_policy]`
#[derive(Debug, Clone)]
pub struct OsloPolicy {
    /// [`OsloPolicy::file`] finds it.
    pub policy_file: String,
    /// [`OsloPolicy::dirs`] finds them.
    pub policy_dirs: Vec<String>,
    /// The rule that stands in for one that a check refers to and that is not there.
    pub policy_default_rule: String,
    /// Without it, whoever the older default rules let in is let in too.
    pub enforce_new_defaults: bool,
    /// Where relative names are looked for: beside the configuration, then in `/etc/placement` and `/etc`.
    pub search_dirs: Vec<PathBuf>,
}

impl OsloPolicy {
    /// The policy file that exists now, if one does.
    pub fn file(&self) -> Option<PathBuf> {
        self.find(&self.policy_file)
    }

    /// The policy directories that exist now.
    pub fn dirs(&self) -> Vec<PathBuf> {
        self.policy_dirs.iter().filter_map(|name| self.find(name)).collect()
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        // An absolute name stays itself when joined.
        self.search_dirs
            .iter()
            .map(|dir| dir.join(name))
            .find(|path| path.exists())
    }
}

/// `[cors]`: which pages of other origins may ask from a browser.
#[derive(Debug, Clone)]
pub struct Cors {
    /// Origins such as `https://horizon.example.com`, or `*`; without one there is no CORS.
    pub allowed_origin: Vec<String>,
    pub allow_credentials: bool,
    pub expose_headers: Vec<String>,
    /// Seconds for which a browser may remember what it was told; 0: it is not told.
    pub max_age: i64,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
}

/// `[oslo_middleware]`
#[derive(Debug, Clone)]
pub struct OsloMiddleware {
    /// Believe `X-Forwarded-*`; only right behind a proxy that sets them.
    pub enable_proxy_headers_parsing: bool,
}

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

/// Text that is not for logs: `Debug` shows a database URL without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask::url(&self.0))
    }
}

impl Options {
    /// Reads every option, and checks bounds.
    ///
    /// # Errors
    /// The first value that does not fit.
    pub(super) fn read(layers: &Layers) -> Result<Self> {
        let reader = Reader::new(layers);
        let options = Self {
            default: DefaultSection::read(&reader)?,
            api: Api {
                auth_strategy: reader.choice(
                    "api",
                    "auth_strategy",
                    &[("keystone", AuthStrategy::Keystone), ("noauth2", AuthStrategy::Noauth2)],
                )?,
            },
            placement: Placement::read(&reader)?,
            placement_database: PlacementDatabase::read(&reader)?,
            oslo_policy: OsloPolicy {
                policy_file: reader.text("oslo_policy", "policy_file")?,
                policy_dirs: reader.multi("oslo_policy", "policy_dirs")?,
                policy_default_rule: reader.text("oslo_policy", "policy_default_rule")?,
                enforce_new_defaults: reader.boolean("oslo_policy", "enforce_new_defaults")?,
                search_dirs: layers.search_dirs.clone(),
            },
            oslo_middleware: OsloMiddleware {
                enable_proxy_headers_parsing: reader.boolean("oslo_middleware", "enable_proxy_headers_parsing")?,
            },
            cors: Cors::read(&reader)?,
            placet: Placet::read(&reader)?,
        };
        match options.validate() {
            Ok(()) => Ok(options),
            Err(violations) => Err(bounds::first(&reader, &violations)),
        }
    }
}

impl Cors {
    fn read(reader: &Reader) -> Result<Self> {
        const SECTION: &str = "cors";
        Ok(Self {
            allowed_origin: reader.list(SECTION, "allowed_origin")?,
            allow_credentials: reader.boolean(SECTION, "allow_credentials")?,
            expose_headers: reader.list(SECTION, "expose_headers")?,
            max_age: reader.optional_number(SECTION, "max_age")?.unwrap_or_default(),
            allow_methods: reader.list(SECTION, "allow_methods")?,
            allow_headers: reader.list(SECTION, "allow_headers")?,
        })
    }
}

impl DefaultSection {
    fn read(reader: &Reader) -> Result<Self> {
        const SECTION: &str = "DEFAULT";
        let set = |name| -> Result<Option<PathBuf>> {
            Ok(reader
                .optional_text(SECTION, name)?
                .filter(|text| !text.is_empty())
                .map(PathBuf::from))
        };
        let log_path = match (set("log_dir")?, set("log_file")?) {
            (None, file) => file,
            (Some(dir), file) => Some(dir.join(file.unwrap_or_else(|| "placet.log".into()))),
        };
        Ok(Self {
            debug: reader.boolean(SECTION, "debug")?,
            log_options: reader.boolean(SECTION, "log_options")?,
            log_path,
        })
    }
}

impl Placement {
    fn read(reader: &Reader) -> Result<Self> {
        const SECTION: &str = "placement";
        Ok(Self {
            randomize_allocation_candidates: reader.boolean(SECTION, "randomize_allocation_candidates")?,
            incomplete_consumer_project_id: reader.text(SECTION, "incomplete_consumer_project_id")?,
            incomplete_consumer_user_id: reader.text(SECTION, "incomplete_consumer_user_id")?,
            max_allocation_candidates: reader.number(SECTION, "max_allocation_candidates")?,
            allocation_candidates_generation_strategy: reader.choice(
                SECTION,
                "allocation_candidates_generation_strategy",
                &[
                    ("depth-first", GenerationStrategy::DepthFirst),
                    ("breadth-first", GenerationStrategy::BreadthFirst),
                ],
            )?,
        })
    }
}

impl PlacementDatabase {
    fn read(reader: &Reader) -> Result<Self> {
        const SECTION: &str = "placement_database";
        let url = |name| -> Result<Option<Secret>> {
            let text = reader.optional_text(SECTION, name)?;
            Ok(text.filter(|url| !url.is_empty()).map(Secret::new))
        };
        Ok(Self {
            connection: url("connection")?,
            slave_connection: url("slave_connection")?,
            sync_on_startup: reader.boolean(SECTION, "sync_on_startup")?,
            embedded: reader.unconfigured(),
            connection_recycle_time: reader.number(SECTION, "connection_recycle_time")?,
            max_pool_size: reader.optional_number(SECTION, "max_pool_size")?,
            max_overflow: reader.optional_number(SECTION, "max_overflow")?,
            max_retries: reader.number(SECTION, "max_retries")?,
            retry_interval: reader.number(SECTION, "retry_interval")?,
            pool_timeout: reader.optional_number(SECTION, "pool_timeout")?,
        })
    }
}

impl Placet {
    fn read(reader: &Reader) -> Result<Self> {
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
