//! All numbers of the model at one moment, for a scrape of the metrics.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use diesel::prelude::*;

use super::{ClaimStatistics, SnapshotStatistics};
use crate::db::schema::consumers;
use crate::db::{PoolState, WriterStatistics};
use crate::model::Model;
use crate::model::census::Censuses;
use crate::model::refusals::RefusalLog;
use crate::search::Snapshot;

/// The numbers of one process at one moment.
pub struct ModelNumbers {
    pub claims: Arc<ClaimStatistics>,
    pub refusals: Arc<RefusalLog>,
    pub writer: Arc<WriterStatistics>,
    /// Whether this process does the background work of all processes.
    pub is_leader: bool,
    /// Hosts whose leases are over and held back, if this process leads.
    pub silent_hosts: u64,
    /// Commands without an answer.
    pub unanswered: usize,
    pub snapshot_statistics: Arc<SnapshotStatistics>,
    pub snapshot: Arc<Snapshot>,
    /// The age of the snapshot, at most.
    pub snapshot_age: Duration,
    pub is_snapshot_valid: bool,
    pub pool: PoolState,
    /// `None` before the first count.
    pub consumers: Option<u64>,
    /// `None` before the first census.
    pub census: Censuses,
}

/// How long a scrape waits for the number of consumers.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// The pause after a count, as a multiple of the duration of the last count: counting takes at most 1% of the time.
const PAUSE_FACTOR: u32 = 99;
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The number of consumers. The snapshot lacks the number, so a scrape counts the rows if the last count is old enough.
#[derive(Debug, Default)]
pub struct ConsumerCount(Mutex<LastCount>);

#[derive(Debug, Default)]
struct LastCount {
    number: Option<u64>,
    is_counting: bool,
    /// When the next count is due; `None` before the first count.
    due: Option<Instant>,
}

impl ConsumerCount {
    fn last(&self) -> MutexGuard<'_, LastCount> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a count is due, and no thread is counting.
    fn begin(&self) -> bool {
        let mut last = self.last();
        let begins = !last.is_counting && last.due.is_none_or(|due| due <= Instant::now());
        last.is_counting |= begins;
        begins
    }

    fn end(&self, counted: Option<i64>, began: Instant) {
        let mut last = self.last();
        last.number = counted.and_then(|count| u64::try_from(count).ok()).or(last.number);
        last.due = Some(Instant::now() + (began.elapsed() * PAUSE_FACTOR).max(MIN_PAUSE));
        last.is_counting = false;
    }
}

/// Reads all numbers. Blocks for at most a second, if the database is slow to count the consumers.
pub fn read(model: &Model) -> ModelNumbers {
    count_consumers(model);
    ModelNumbers {
        claims: Arc::clone(&model.claim_statistics),
        refusals: Arc::clone(&model.refusals),
        writer: Arc::clone(model.writer.statistics()),
        is_leader: model.writer.leadership().is_held(),
        silent_hosts: model.silent_hosts.value(),
        unanswered: model.writer.unanswered(),
        snapshot_statistics: Arc::clone(model.store.statistics()),
        snapshot: model.store.newest(),
        snapshot_age: model.age(),
        is_snapshot_valid: !model.store.is_invalid(),
        pool: model.database.pool_state(),
        consumers: model.consumer_count.last().number,
        census: model.census.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    }
}

/// Counts the consumers on a thread of its own, which a hanging database may keep.
fn count_consumers(model: &Model) {
    if !model.consumer_count.begin() {
        return;
    }
    let (database, count) = (model.database.clone(), Arc::clone(&model.consumer_count));
    let (done, counted) = channel();
    let began = Instant::now();
    let spawned = std::thread::Builder::new()
        .name("placet-count".to_owned())
        .spawn(move || {
            let rows = database.ask(|conn| Ok(consumers::table.count().get_result::<i64>(conn)?));
            count.end(rows.ok(), began);
            // The scrape may have gone on without the count.
            let _ = done.send(());
        });
    match spawned {
        // Without an answer the last number counts.
        Ok(_) => drop(counted.recv_timeout(MAX_WAIT)),
        Err(_) => model.consumer_count.end(None, began),
    }
}
