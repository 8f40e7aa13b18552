//! The options that OpenStack Placement itself registers: authentication, searches, and the database.

use std::fmt;

use crate::config::error::{ConfigError, Result};
use crate::config::raw::RawConfig;
use crate::config::value::{ChoiceValue, DatabaseUrl};

options! {
    /// `[api]`
    Api in "api" {
        /// How clients authenticate. With `keystone`, tokens are validated as `[keystone_authtoken]` says. With
        /// `noauth2` no token is checked, unless `[placet] token_file` is set: `admin` may do everything, and every
        /// further token has no role.
        auth_strategy: AuthStrategy = "keystone", formerly "DEFAULT" "auth_strategy";
    }
}

options! {
    /// `[placement]`
    Placement in "placement" {
        /// Visit the providers in a new order in each request, even if the answer is whole. An answer with a limit is a
        /// new sample in any case.
        randomize_allocation_candidates: bool = false;
        /// The project of consumers that requests before microversion 1.8 create, because these name none.
        incomplete_consumer_project_id: String = "00000000-0000-0000-0000-000000000000";
        /// The user of consumers that requests before microversion 1.8 create, because these name none.
        incomplete_consumer_user_id: String = "00000000-0000-0000-0000-000000000000";
        /// The most candidates that one request may produce. -1 means no limit but `[placet] max_candidates`.
        max_allocation_candidates: i64 = -1;
        /// The order of candidates of several trees: tree after tree (`depth-first`), or one candidate of each tree in
        /// turn (`breadth-first`).
        allocation_candidates_generation_strategy: GenerationStrategy = "depth-first";
    }
}

options! {
    /// `[placement_database]`
    PlacementDatabase in "placement_database" {
        /// The URL of the database, as SQLAlchemy writes it.
        connection: Option<DatabaseUrl>;
        /// The URL of a replica of the database, for the routes in `[placet] slave_routes`.
        slave_connection: Option<DatabaseUrl>;
        /// The age in seconds at which a connection is replaced before its next use. 0 replaces a connection each time,
        /// -1 never.
        connection_recycle_time: i64 = 3600, formerly "placement_database" "idle_timeout";
        /// The number of connections for reads. 0 means no limit but 100.
        max_pool_size: i64 = 16;
        /// How many times placet retries if the database server does not answer at start. -1 means without limit.
        max_retries: i64 = 10;
        /// The seconds between two attempts at start, and between two attempts to reach an unreachable replica.
        retry_interval: u64 = 10;
        /// The number of connections beyond `max_pool_size` under load. -1 means no limit but 100 in all.
        max_overflow: i64 = 0;
        /// How many seconds a read waits for a connection, but no longer than `[placet] commit_timeout`.
        pool_timeout: u64 = 30;
        /// Create or upgrade the tables at start. Otherwise run `placet db sync`.
        sync_on_startup: bool = false;
    }
    with {
        /// Whether nothing is configured: the database is placet's file, created and upgraded at start.
        embedded: bool = RawConfig::unconfigured;
    }
}

/// The limit of connections for reads if the options set none.
const UNLIMITED_CONNECTIONS: i64 = 100;
/// The limit of connections for reads in any case.
const MAX_CONNECTIONS: i64 = 10_000;

impl PlacementDatabase {
    /// The database's URL.
    ///
    /// # Errors
    /// The configuration has no URL. As in OpenStack Placement there is no default.
    pub fn required(&self) -> Result<&DatabaseUrl> {
        self.connection.as_ref().ok_or(ConfigError::NoConnection)
    }

    /// The most connections that are open for reads.
    pub fn connections(&self) -> u32 {
        let wanted = match self.max_pool_size.saturating_add(self.max_overflow) {
            _ if self.is_unlimited() => self.max_pool_size.max(UNLIMITED_CONNECTIONS),
            sum => sum,
        };
        u32::try_from(wanted.clamp(1, MAX_CONNECTIONS)).expect("the bounds are small")
    }

    /// As in oslo.db: an empty pool has no limit, and neither has a negative overflow.
    fn is_unlimited(&self) -> bool {
        self.max_pool_size <= 0 || self.max_overflow < 0
    }

    /// A sentence if fewer connections are opened than the options allow.
    pub fn limit_warning(&self) -> Option<String> {
        let (size, overflow, connections) = (self.max_pool_size, self.max_overflow, self.connections());
        let options = format!("[placement_database] max_pool_size = {size} and max_overflow = {overflow}");
        let is_lowered = size.saturating_add(overflow) > i64::from(connections);
        let no_limit = if self.is_unlimited() { " set no limit" } else { "" };
        (is_lowered || self.is_unlimited())
            .then(|| format!("{options}{no_limit}: placet opens at most {connections} connections for reads"))
    }

    /// Whether serving may create and upgrade the schema: always for the embedded file, otherwise if configured.
    pub fn may_sync(&self) -> bool {
        self.embedded || self.sync_on_startup
    }
}

/// `[api] auth_strategy`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthStrategy {
    /// An OpenStack Keystone checks tokens.
    Keystone,
    /// No token is checked. For tests and first steps.
    Noauth2,
}

impl ChoiceValue for AuthStrategy {
    const WORDS: &'static str = "keystone, noauth2";
    const VALUES: &'static [Self] = &[Self::Keystone, Self::Noauth2];
}

impl fmt::Display for AuthStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keystone => "keystone",
            Self::Noauth2 => "noauth2",
        })
    }
}

/// `[placement] allocation_candidates_generation_strategy`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenerationStrategy {
    /// All candidates of a tree, and after these the candidates of the next tree.
    DepthFirst,
    /// One candidate of each tree in turn.
    BreadthFirst,
}

impl ChoiceValue for GenerationStrategy {
    const WORDS: &'static str = "depth-first, breadth-first";
    const VALUES: &'static [Self] = &[Self::DepthFirst, Self::BreadthFirst];
}
