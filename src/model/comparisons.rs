//! Compares the snapshot with the tables, to find the changes of foreign writers: a foreign writer leaves no record in
//! the change feed.
//!
//! A background task compares slice by slice. A call that is refused because of the snapshot must not wait for the
//! task: the capacity may have been released long ago. So if a foreign writer was noticed lately, all providers are
//! compared before the refusal. This comparison runs at most once a second, and all waiting calls share the result.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;

use super::Model;
use super::reads::blocking::{on_blocking_thread, within_timeout};
use super::snapshot::comparison::{self, SLICE_PROVIDERS, SliceResult};
use crate::db::boot_instant::BootInstant;
use crate::db::{DbConnection, ReadPermit, change_feed};
use crate::error::Result;

/// A foreign writer is taken to have ended after this time without a further sign. The comparison in the background
/// finds the foreign writer again.
const FOREIGN_WRITER_MEMORY: Duration = Duration::from_secs(600);
/// The time from the beginning of one early comparison to the beginning of the next.
const EARLY_COMPARISON_INTERVAL: Duration = Duration::from_secs(1);

/// Compares the first `limit` providers with ids above `after` with the tables, and corrects the snapshot. Blocks
/// until the comparison is done.
pub fn compare(model: &Model, after: i32, limit: usize) -> Result<SliceResult> {
    let mut conn = change_feed::connect(&model.database)?;
    Ok(comparison::compare(&model.store, &mut conn, after, limit)?)
}

/// Compares all providers with the tables, if a foreign writer was noticed lately. The comparison begins after the
/// call. Returns whether a comparison was made.
pub(super) async fn compare_before_refusal(model: &Model, deadline: BootInstant) -> Result<bool> {
    let arrived = BootInstant::now();
    if model.exclusive {
        // Only the writer's connection can distinguish commits of a foreign writer from commits of this process.
        model.writer.follow(deadline).await?;
    }
    if !model.store.had_foreign_writes(FOREIGN_WRITER_MEMORY) {
        return Ok(false);
    }
    let compare = async {
        let last_began = Arc::clone(&model.last_comparison).lock_owned().await;
        if last_began.is_some_and(|began| began > arrived) {
            return Ok(true);
        }
        if let Some(began) = *last_began {
            let due = began + EARLY_COMPARISON_INTERVAL;
            tokio::time::sleep(due.saturating_duration_since(BootInstant::now())).await;
        }
        compare_all(model, last_began).await?;
        Ok(true)
    };
    within_timeout(deadline.saturating_duration_since(arrived), compare).await
}

/// A running comparison goes on if its caller gives up, and keeps the lock: two comparisons never run at the same
/// time.
async fn compare_all(model: &Model, mut last_began: OwnedMutexGuard<Option<BootInstant>>) -> Result<()> {
    let store = Arc::clone(&model.store);
    let compare = move |conn: &mut DbConnection| {
        let mut after = Some(0);
        while let Some(last) = after {
            after = comparison::compare(&store, conn, last, SLICE_PROVIDERS)?.next;
        }
        Ok(())
    };
    let compare_alone = move |permit: &ReadPermit| {
        let began = BootInstant::now();
        permit.ask(&compare)?;
        *last_began = Some(began);
        Ok(())
    };
    on_blocking_thread(Handle::current(), &model.database, compare_alone).await
}
