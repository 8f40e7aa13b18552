//! `placet db …`, and how the configuration becomes a database.

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;

use super::{Failure, data_migrations};
use crate::config::{Options, Secret};
use crate::db::migrate::Synced;
use crate::db::{Database, Replica, Settings};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the database, or upgrade it, or adopt the one that OpenStack Placement made.
    Sync,
    /// Print the revision of OpenStack's tables and, below, that of placet's own.
    Version,
    /// Say that OpenStack's tables are at a revision, `head` or `base`; nothing else is touched.
    Stamp { version: String },
    /// Mend what old releases left undone: providers without a root, allocations without a consumer.
    ///
    /// Exit codes, as those of `placement-manage`: 0, nothing is left to do; 1, with --max-count, something was done;
    /// 2, something failed; 127, --max-count is no positive number.
    #[command(name = "online_data_migrations")]
    OnlineDataMigrations {
        /// Mend at most so many rows, instead of batches of 50 until all is done.
        #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
        max_count: Option<String>,
    },
}

impl Command {
    pub fn run(&self, options: &Options) -> Result<ExitCode, Failure> {
        let database = open(options)?;
        database.reach()?;
        match self {
            Self::Sync => println!("{}", told(database.sync()?)),
            Self::Stamp { version } => database.stamp(version)?,
            Self::OnlineDataMigrations { max_count } => {
                return data_migrations::run(&database, &options.placement, max_count.as_deref());
            }
            Self::Version => {
                let version = database.version()?;
                // Without tables, Python's word: scripts around `placement-manage db version` know it.
                println!("{}", version.alembic.as_deref().unwrap_or("None"));
                println!("placet {}", version.placet.as_deref().unwrap_or("None"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What a sync did, for people.
pub fn told(synced: Synced) -> &'static str {
    match synced {
        Synced::Created => "The database was empty: its tables were made.",
        Synced::Adopted => "OpenStack Placement's database was adopted: placet's own tables were added.",
        Synced::Upgraded => "The database was upgraded.",
        Synced::Current => "The database is current: there was nothing to do.",
    }
}

/// The configured database; nothing is connected yet.
pub fn open(options: &Options) -> Result<Database, Failure> {
    Ok(Database::open(&settings(
        options,
        options.placement_database.required()?,
    ))?)
}

/// How long a request waits for a connection to the copy before it reads the database itself.
const REPLICA_PATIENCE: Duration = Duration::from_secs(2);

/// The configured copy, if any, with a pool as large as the database's own; nothing is connected yet.
pub fn open_replica(options: &Options) -> Result<Option<Replica>, Failure> {
    let url = options.placement_database.slave_connection.as_ref();
    // Not looked at where no route reads it: upstream accepts any URL here, and never uses it.
    let Some(url) = url.filter(|_| !options.placet.slave_routes.is_empty()) else {
        return Ok(None);
    };
    let mut settings = settings(options, url);
    settings.pool_timeout = settings.pool_timeout.min(REPLICA_PATIENCE);
    let rest = settings.retry_interval.max(Duration::from_secs(1));
    Ok(Some(Replica::new(Database::open(&settings)?, rest)))
}

fn settings(options: &Options, url: &Secret) -> Settings {
    let commit_timeout = Duration::from_secs(options.placet.commit_timeout);
    let options = &options.placement_database;
    let defaults = Settings::new(url.reveal());
    let connections = options.max_pool_size.unwrap_or(defaults.max_pool_size);
    Settings {
        url: defaults.url,
        max_pool_size: connections.saturating_add(options.max_overflow.unwrap_or(0)),
        pool_timeout: options.pool_timeout.map_or(defaults.pool_timeout, Duration::from_secs),
        recycle_time: u64::try_from(options.connection_recycle_time).map_or(Duration::MAX, Duration::from_secs),
        // A command that may wait less than this for its commit may not wait longer for a lock.
        lock_timeout: defaults.lock_timeout.min(commit_timeout),
        max_retries: options.max_retries,
        retry_interval: Duration::from_secs(options.retry_interval),
    }
}
