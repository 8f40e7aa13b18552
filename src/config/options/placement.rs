//! What OpenStack Placement itself registers: how clients say who they are, what a search brings forth, and the database.

use std::fmt;

use validator::Validate;

use super::Secret;
use crate::config::error::{ConfigError, Result};
use crate::config::reader::Reader;

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

impl Api {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        Ok(Self {
            auth_strategy: reader.choice(
                "api",
                "auth_strategy",
                &[("keystone", AuthStrategy::Keystone), ("noauth2", AuthStrategy::Noauth2)],
            )?,
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

impl Placement {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
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

impl PlacementDatabase {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
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
