//! `placet db …`, and how the configuration becomes a database.

use std::time::Duration;

use clap::Subcommand;

use super::Failure;
use crate::config::Options;
use crate::db::migrate::Synced;
use crate::db::{Database, Settings};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the database, or upgrade it, or adopt the one that OpenStack Placement made.
    Sync,
    /// Print the revision of OpenStack's tables and, below, that of placet's own.
    Version,
}

impl Command {
    pub fn run(&self, options: &Options) -> Result<(), Failure> {
        let database = open(options)?;
        database.reach()?;
        match self {
            Self::Sync => println!("{}", told(database.sync()?)),
            Self::Version => {
                let version = database.version()?;
                // Without tables, Python's word: scripts around `placement-manage db version` know it.
                println!("{}", version.alembic.as_deref().unwrap_or("None"));
                println!("placet {}", version.placet.as_deref().unwrap_or("None"));
            }
        }
        Ok(())
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
    let commit_timeout = Duration::from_secs(options.placet.commit_timeout);
    let options = &options.placement_database;
    let defaults = Settings::new(options.required()?.reveal());
    let connections = options.max_pool_size.unwrap_or(defaults.max_pool_size);
    let settings = Settings {
        url: defaults.url,
        max_pool_size: connections.saturating_add(options.max_overflow.unwrap_or(0)),
        pool_timeout: options.pool_timeout.map_or(defaults.pool_timeout, Duration::from_secs),
        recycle_time: u64::try_from(options.connection_recycle_time).map_or(Duration::MAX, Duration::from_secs),
        // A command that may wait less than this for its commit may not wait longer for a lock.
        lock_timeout: defaults.lock_timeout.min(commit_timeout),
        max_retries: options.max_retries,
        retry_interval: Duration::from_secs(options.retry_interval),
    };
    Ok(Database::open(&settings)?)
}
