//! The model of one process: readers, and snapshots for searches. Commands are in `commands.rs`. The calls of a noun
//! are functions of the noun's module.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::batch::decide::Rules;
use super::batch::decider::Decider;
use super::census::CensusCell;
use super::explain::KnownReasons;
use super::reads::blocking::{on_blocking_thread, within_timeout};
use super::reads::provider_reads::{ProviderReader, ProviderReads};
use super::reads::reader::Reader;
use super::reads::refusal_checks::RefusalChecks;
use super::reads::unknown_names::Names;
use super::refusals::RefusalLog;
use super::running::Running;
use super::snapshot::comparison::LastComparison;
use super::snapshot::follower::Follower;
use super::snapshot::stamp::Stamp;
use super::snapshot::store::SnapshotStore;
use super::standard;
use super::statistics::{ClaimStatistics, ConsumerCount};
use super::workloads::spec::ReadSpec;
use super::workloads::time::until;
use crate::db::engines::dialect::{self, Precision};
use crate::db::writer::handle::WriterHandle;
use crate::db::writer::{self, WriterSettings};
use crate::db::{Database, Leadership, ReadReplica, ServingLock, SetupError, change_feed};
use crate::error::{Error, Result};
use crate::pools::Pools;
use crate::search::Snapshot;
use crate::statistics::Gauge;

/// The model of one process. Clones share the state.
#[derive(Clone)]
pub struct Model {
    pub(super) database: Database,
    /// Serves the answers that may lag.
    pub(super) replica: Option<ReadReplica>,
    pub(super) store: Arc<SnapshotStore>,
    pub(super) last_comparison: LastComparison,
    pub(super) claim_statistics: Arc<ClaimStatistics>,
    pub refusals: Arc<RefusalLog>,
    pub(super) known_reasons: Arc<KnownReasons>,
    pub(super) consumer_count: Arc<ConsumerCount>,
    pub(super) census: CensusCell,
    /// Hosts whose leases are over and held back, if this process leads.
    pub silent_hosts: Arc<Gauge>,
    pub(super) follower: Follower,
    pub(super) writer: WriterHandle<Decider>,
    pub(super) refusal_checks: RefusalChecks,
    /// Whether only this process serves the database. If so, the change feed is not read.
    pub(super) exclusive: bool,
    /// Whether the database compares names byte by byte.
    pub(super) compares_exactly: bool,
    /// `None` on SQLite: a local read is cheaper than handing the read to a second thread.
    pub(super) provider_reads: Option<Arc<ProviderReads>>,
    /// How long a read waits for the database.
    pub(super) timeout: Duration,
    pub(super) pools: Arc<Pools>,
    /// Reads the spec of a stored workload.
    pub(super) read_spec: ReadSpec,
}

/// The snapshot for a search.
pub struct PreparedSearch {
    pub snapshot: Arc<Snapshot>,
    /// The snapshot's age if the snapshot may be stale, because the database is unreachable or the snapshot is invalid.
    /// `None` if the snapshot is fresh.
    pub stale: Option<Duration>,
    /// The stored name of the provider, if the snapshot lacks the name in the search, and the database takes both names
    /// for equal.
    pub provider_name: Option<String>,
}

impl Model {
    /// Adds missing standard classes and traits, loads the snapshot, and starts the writer and the follower. Without a
    /// `lock`, other processes may serve the same database.
    pub fn start(
        (database, replica): (Database, Option<ReadReplica>),
        settings: &WriterSettings,
        rules: Rules,
        lock: Option<ServingLock>,
        pools: Arc<Pools>,
    ) -> std::result::Result<(Model, Running), SetupError> {
        standard::sync(&mut database.connect()?)?;
        let exclusive = lock.is_some();
        let (follower_database, timeout) = (database.clone(), settings.commit_timeout);
        let (checked_rules, read_spec) = (rules.clone(), rules.read_spec);
        let (writer, (store, follower, compares_exactly), thread) =
            writer::start(database.clone(), settings, move |conn| {
                let compares_exactly = dialect::compares_exactly(conn);
                let data_version = dialect::data_version(conn)?;
                let store = Arc::new(SnapshotStore::load(conn)?);
                let follower = Follower::start(follower_database, store.clone(), exclusive, timeout)?;
                let decider = Decider::new(
                    store.clone(),
                    follower.clone(),
                    exclusive,
                    data_version,
                    rules,
                    Precision::of(conn),
                );
                Ok((decider, (store, follower, compares_exactly)))
            })?;
        let provider_reads = (!exclusive)
            .then(|| ProviderReads::start(&database, store.clone()))
            .transpose()?;
        let refusal_checks = RefusalChecks::start(&database, store.clone(), checked_rules)?;
        let running = Running {
            thread,
            database: database.clone(),
            _lock: lock,
        };
        let model = Model {
            database,
            replica,
            store,
            last_comparison: LastComparison::default(),
            claim_statistics: Arc::default(),
            refusals: Arc::default(),
            known_reasons: Arc::default(),
            consumer_count: Arc::default(),
            census: CensusCell::default(),
            silent_hosts: Arc::default(),
            follower,
            writer,
            refusal_checks,
            exclusive,
            compares_exactly,
            provider_reads: provider_reads.map(Arc::new),
            timeout,
            pools,
            read_spec,
        };
        Ok((model, running))
    }

    /// Whether this process leads.
    pub fn leadership(&self) -> Arc<Leadership> {
        Arc::clone(self.writer.leadership())
    }

    /// The pools in which searches, plans and large bodies are computed.
    pub fn pools(&self) -> &Arc<Pools> {
        &self.pools
    }

    /// Waits for a search of a request that arrives now. At the deadline of a command the search is dropped.
    ///
    /// # Errors
    /// [`Error::Busy`] at the deadline. Errors of the search.
    pub async fn in_time<T>(&self, search: impl Future<Output = Result<T>>) -> Result<T> {
        until(self.writer_deadline(), search).await
    }

    /// A reader for an answer. If the answer `may_lag`, the replica is read, as long as the replica can answer.
    pub fn reader(&self, may_lag: bool) -> Reader {
        Reader {
            database: self.database.clone(),
            replica: self.replica.clone().filter(|_| may_lag),
            timeout: self.timeout,
        }
    }

    /// A reader for an answer about a provider. Compute nodes repeat these requests, so reads of the database are
    /// coalesced.
    pub fn provider_reader(&self, may_lag: bool) -> ProviderReader {
        let reader = self.reader(may_lag);
        let coalesced = self.provider_reads.clone().filter(|_| reader.replica.is_none());
        ProviderReader { reader, coalesced }
    }

    /// A snapshot that shows every change acknowledged before the call, by any process.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>> {
        if self.exclusive && !self.store.is_invalid() {
            return Ok(self.store.newest());
        }
        self.follower.fresh().await
    }

    /// As `snapshot`, for a search: names of the search that the snapshot lacks are looked up in the tables. While the
    /// database is unreachable or the snapshot is invalid, a snapshot of at most `max_age` is used.
    pub async fn prepare_search(&self, names: Names, max_age: Duration) -> Result<PreparedSearch> {
        let (mut snapshot, mut stale) = self.fresh_or_stale(max_age).await?;
        if stale.is_some() && !names.unknown_to(&snapshot, self.compares_exactly).is_empty() {
            if !self.store.is_invalid() {
                return Err(Error::Unavailable {
                    detail: "names that are not known cannot be looked up".into(),
                });
            }
            (snapshot, stale) = (self.snapshot().await?, None);
        }
        let prepared = self.with_names(names, snapshot).await?;
        Ok(PreparedSearch { stale, ..prepared })
    }

    /// As [`Self::prepare_search`], with this snapshot: a newer snapshot is used if the snapshot lacks names.
    pub async fn with_names(&self, names: Names, mut snapshot: Arc<Snapshot>) -> Result<PreparedSearch> {
        let unknown = names.unknown_to(&snapshot, self.compares_exactly);
        let mut provider_name = None;
        if !unknown.is_empty() {
            provider_name = self.look_up(unknown, snapshot).await?;
            // The look-up may have reloaded the catalog.
            snapshot = if self.store.is_invalid() {
                self.follower.fresh().await?
            } else {
                self.store.newest()
            };
        }
        Ok(PreparedSearch {
            snapshot,
            stale: None,
            provider_name,
        })
    }

    /// Looks up names that the snapshot lacks. Returns the stored name of the provider.
    async fn look_up(&self, unknown: Names, snapshot: Arc<Snapshot>) -> Result<Option<String>> {
        let (database, store) = (self.database.clone(), self.store.clone());
        let look_up = on_blocking_thread(Handle::current(), &self.database, move |permit| {
            let look_up = |conn: &mut _| Ok(unknown.look_up(conn, snapshot.catalog())?);
            let (has_foreign_names, provider_name) = permit.read(look_up)?;
            if has_foreign_names {
                store.reload_catalog(&mut change_feed::connect(&database)?)?;
            }
            Ok(provider_name)
        });
        within_timeout(self.timeout, look_up).await
    }

    /// The newest snapshot, for a search that is verified when the search's claim is written. Saves a read of the
    /// change feed. `None` if peers commit, because the claim would often be outdated, or if names are to be looked up.
    pub(super) fn unverified_snapshot(&self, names: &Names) -> Option<(Arc<Snapshot>, Stamp)> {
        let found = self.store.newest_if_idle().filter(|_| !self.exclusive);
        found.filter(|(snapshot, _)| names.unknown_to(snapshot, self.compares_exactly).is_empty())
    }

    /// A fresh snapshot. If the database is unreachable or the snapshot is invalid: the last valid snapshot with its
    /// age, if the age is at most `max_age`.
    async fn fresh_or_stale(&self, max_age: Duration) -> Result<(Arc<Snapshot>, Option<Duration>)> {
        if max_age.is_zero() {
            return Ok((self.snapshot().await?, None));
        }
        let invalid_in_time = async {
            self.store.until_invalid().await;
            if self.age() > max_age {
                std::future::pending::<()>().await;
            }
        };
        let fresh = tokio::select! {
            // The request for a fresh snapshot comes first, because the request starts the reload.
            biased;
            fresh = self.snapshot() => fresh,
            () = invalid_in_time => Err(Error::Unavailable {
                detail: "the tables are being read again".into(),
            }),
        };
        let error = match fresh {
            Ok(snapshot) => return Ok((snapshot, None)),
            Err(error) => error,
        };
        let age = self.age();
        let may_be_stale = matches!(error, Error::Unavailable { .. }) || self.store.is_invalid();
        if may_be_stale && age <= max_age {
            return Ok((self.store.newest(), Some(age)));
        }
        Err(error)
    }

    /// The time since the last moment at which the snapshot showed every acknowledged commit, at most.
    pub(super) fn age(&self) -> Duration {
        if self.exclusive {
            self.store.invalid_time()
        } else {
            self.follower.age()
        }
    }

    /// The number of providers in the snapshot.
    pub fn provider_count(&self) -> usize {
        self.store.newest().len()
    }

    /// The number of SQL statements that this process has sent.
    #[cfg(test)]
    pub fn statements(&self) -> u64 {
        self.database.statements()
    }
}
