//! `placet db …`, and the configured database and replica.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use super::command_line::CommandLine;
use super::{CommandError, data_migrations, stderr, stdout};
use crate::config::{DatabaseUrl, Options, seconds};
use crate::db::connect::url;
use crate::db::schema::migrate::Synced;
use crate::db::{Database, DatabaseSettings, ReadReplica};

#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Create or upgrade the database, or adopt OpenStack Placement's.
    Sync,
    /// Print the schema revision of OpenStack's tables and, on the next line, of placet's own tables.
    Version,
    /// Record a schema revision of OpenStack's tables, `head` or `base`, without changing the tables.
    Stamp { version: String },
    /// Write a backup of an SQLite database to a new file, also while placet serves it.
    ///
    /// For a database on a server it fails, and its message has the command of the server's own tool.
    Backup {
        /// The path of the backup, at which there is no file yet.
        file: PathBuf,
    },
    /// Replace an SQLite database by a backup. Stop placet and every other program that uses it first.
    ///
    /// For a database on a server it fails, and its message has the command of the server's own tool.
    Restore {
        /// The path of the backup. Its log (`FILE-wal`) is used too if there is one.
        file: PathBuf,
    },
    /// Drop placet's own tables, and leave OpenStack Placement's. Stop every placet first.
    ///
    /// Normal limits, workloads and the descriptions of providers are lost, and no allocation.
    Drop,
    /// Complete data of old releases: providers without a root, allocations without a consumer.
    ///
    /// Exit codes, as of `placement-manage`: 0, nothing is left to do; 1, with --max-count, rows were changed;
    /// 2, a migration failed; 127, --max-count is not a positive number.
    #[command(name = "online_data_migrations")]
    OnlineDataMigrations {
        /// Change at most this number of rows, instead of running batches of 50 until all is done.
        #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
        max_count: Option<String>,
    },
}

impl DbCommand {
    pub fn run(&self, options: &Options, line: &CommandLine) -> Result<u8, CommandError> {
        let database = open(options)?;
        match self {
            Self::Backup { file } => {
                database.check_log()?;
                database.back_up(file)?;
                stdout::line(&format!("The backup is complete: {}", file.display()))?;
            }
            Self::Restore { file } => {
                let log = database.restore(file)?;
                let log = log.map_or(String::new(), |log| format!(" and its log {}", log.display()));
                stdout::line(&format!("The database was restored from {}{log}", file.display()))?;
            }
            Self::Sync => {
                let synced = reachable(&database)?.sync()?;
                stdout::line(&format!("{}: {}", database.place(), sync_message(synced)))?;
            }
            Self::Drop => {
                let dropped = reachable(&database)?.drop_own_tables()?;
                stdout::line(&format!(
                    "{}: {dropped} tables of placet were dropped.",
                    database.place()
                ))?;
            }
            Self::Stamp { version } => reachable(&database)?.stamp(version)?,
            Self::OnlineDataMigrations { max_count } => {
                return data_migrations::run(reachable(&database)?, &options.placement, max_count.as_deref());
            }
            Self::Version => {
                let version = reachable(&database)?.version()?;
                // Without tables `placement-manage db version` prints Python's `None`, which scripts expect.
                let alembic = version.alembic.as_deref().unwrap_or("None");
                let placet = version.placet.as_deref().unwrap_or("None");
                stdout::line(&format!("{alembic}\nplacet {placet}"))?;
                if version.alembic.is_none() && version.placet.is_none() {
                    stderr::line(&format!("placet: {}", line.in_message(&no_database(&database))));
                }
            }
        }
        Ok(0)
    }
}

/// The database, once its log was checked and its server answers.
fn reachable(database: &Database) -> Result<&Database, CommandError> {
    database.check_log()?;
    database.wait_until_reachable()?;
    Ok(database)
}

/// Why there is no version.
fn no_database(database: &Database) -> String {
    match database.check_exists() {
        Err(missing) => missing.to_string(),
        Ok(()) => format!(
            "the database {} has no tables yet: run `placet db sync`",
            database.place()
        ),
    }
}

/// The result of a sync, as a sentence for operators.
pub fn sync_message(synced: Synced) -> &'static str {
    match synced {
        Synced::Created => "The database was empty: its tables were created.",
        Synced::Adopted => "OpenStack Placement's database was adopted: placet's own tables were added.",
        Synced::Upgraded => "The database was upgraded.",
        Synced::Current => "The database is up to date: there was nothing to do.",
    }
}

/// The configured database. Does not connect.
pub fn open(options: &Options) -> Result<Database, CommandError> {
    Ok(Database::open(&settings(
        options,
        options.placement_database.required()?,
    ))?)
}

/// A sentence for each ineffective parameter of the databases' URLs.
pub fn url_warnings(options: &Options) -> Vec<String> {
    let urls = [
        ("connection", options.placement_database.connection.as_ref()),
        ("slave_connection", replica_url(options)),
    ];
    let urls = urls.into_iter().filter_map(|(option, url)| Some((option, url?)));
    urls.flat_map(|(option, url)| {
        let warnings = url::warnings(url.reveal()).into_iter();
        warnings.map(move |warning| format!("[placement_database] {option}: {warning}"))
    })
    .collect()
}

/// The URL of the replica. `None` unless a route uses the replica: OpenStack Placement accepts any URL here and never
/// uses the URL.
fn replica_url(options: &Options) -> Option<&DatabaseUrl> {
    let url = options.placement_database.slave_connection.as_ref();
    url.filter(|_| !options.placet.slave_routes.is_empty())
}

/// How long a request waits for a connection to the replica before it uses the primary.
const REPLICA_POOL_TIMEOUT: Duration = Duration::from_secs(2);

/// The configured replica, if any, with a pool as large as the primary's. Does not connect.
pub fn open_replica(options: &Options) -> Result<Option<ReadReplica>, CommandError> {
    let Some(url) = replica_url(options) else {
        return Ok(None);
    };
    let mut settings = settings(options, url);
    settings.pool_timeout = settings.pool_timeout.min(REPLICA_POOL_TIMEOUT);
    let pause = settings.retry_interval.max(Duration::from_secs(1));
    Ok(Some(ReadReplica::new(Database::open(&settings)?, pause)))
}

fn settings(options: &Options, url: &DatabaseUrl) -> DatabaseSettings {
    let commit_timeout = Duration::from_secs(options.placet.commit_timeout);
    let options = &options.placement_database;
    let defaults = DatabaseSettings::new(url.reveal());
    DatabaseSettings {
        max_pool_size: options.connections(),
        pool_timeout: seconds(options.pool_timeout),
        recycle_time: u64::try_from(options.connection_recycle_time).map_or(Duration::MAX, seconds),
        // The commit timeout also limits the wait for a lock.
        lock_timeout: defaults.lock_timeout.min(commit_timeout),
        max_retries: options.max_retries,
        retry_interval: seconds(options.retry_interval),
        ..defaults
    }
}
