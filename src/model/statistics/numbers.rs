//! All numbers of the model at one moment, for a scrape of the metrics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::prelude::*;

use super::{ClaimStatistics, SnapshotStatistics};
use crate::db::schema::consumers;
use crate::db::{PoolState, WriterStatistics};
use crate::model::Model;
use crate::model::census::Censuses;
use crate::search::Snapshot;

/// The numbers of one process at one moment.
pub struct ModelNumbers {
    pub claims: Arc<ClaimStatistics>,
    pub writer: Arc<WriterStatistics>,
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
const UNKNOWN: u64 = u64::MAX;

/// The number of consumers. The snapshot lacks the number, so a scrape counts the rows if the last count is old enough.
#[derive(Debug)]
pub struct ConsumerCount {
    last: AtomicU64,
    is_counting: AtomicBool,
    due: Mutex<Instant>,
}

impl Default for ConsumerCount {
    fn default() -> ConsumerCount {
        ConsumerCount {
            last: AtomicU64::new(UNKNOWN),
            is_counting: AtomicBool::new(false),
            due: Mutex::new(Instant::now()),
        }
    }
}

impl ConsumerCount {
    fn value(&self) -> Option<u64> {
        Some(self.last.load(Ordering::Relaxed)).filter(|last| *last != UNKNOWN)
    }

    /// Whether a count is due, and no thread is counting.
    fn begin(&self) -> bool {
        let due = *self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due <= Instant::now() && !self.is_counting.swap(true, Ordering::AcqRel)
    }

    fn end(&self, counted: Option<i64>, began: Instant) {
        if let Some(count) = counted.and_then(|count| u64::try_from(count).ok()) {
            self.last.store(count, Ordering::Relaxed);
        }
        let pause = (began.elapsed() * PAUSE_FACTOR).max(MIN_PAUSE);
        *self.due.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + pause;
        self.is_counting.store(false, Ordering::Release);
    }
}

impl Model {
    /// Reads all numbers. Blocks for at most a second, if the database is slow to count the consumers.
    pub fn numbers(&self) -> ModelNumbers {
        self.count_consumers();
        ModelNumbers {
            claims: Arc::clone(&self.claim_statistics),
            writer: Arc::clone(self.writer.statistics()),
            unanswered: self.writer.unanswered(),
            snapshot_statistics: Arc::clone(self.store.statistics()),
            snapshot: self.store.newest(),
            snapshot_age: self.age(),
            is_snapshot_valid: !self.store.is_invalid(),
            pool: self.database.pool_state(),
            consumers: self.consumer_count.value(),
            census: self.census.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Counts the consumers on a thread of its own, which a hanging database may keep.
    fn count_consumers(&self) {
        if !self.consumer_count.begin() {
            return;
        }
        let (database, count) = (self.database.clone(), Arc::clone(&self.consumer_count));
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
            Err(_) => self.consumer_count.end(None, began),
        }
    }
}
