//! Compares the snapshot with the tables, to find what foreign writers changed: they leave no record in the change
//! feed.
//!
//! A background task compares slice by slice. A call that is refused because of the snapshot must not wait for that:
//! the room that it needs may have been released long ago. So the comparison of all providers is brought forward before
//! such a refusal, if a foreign writer was noticed lately. It runs at most once a second; calls that wait for it share
//! it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::claims::ClaimFirst;
use super::reads::blocking::{on_blocking_thread, within_timeout};
use super::service::Model;
use super::snapshot::comparison::{self, SLICE_PROVIDERS, SliceResult};
use crate::db::boot_instant::BootInstant;
use crate::db::{DbConnection, ReadPermit, change_feed};
use crate::error::Result;

/// After this time without another sign of it, a foreign writer is taken to have ended. The comparison in the
/// background finds it again.
const FOREIGN_WRITER_MEMORY: Duration = Duration::from_secs(600);
/// The time from the beginning of one early comparison to that of the next.
const EARLY_COMPARISON_INTERVAL: Duration = Duration::from_secs(1);

impl Model {
    /// Compares the first `limit` providers with ids above `after` with the tables, and corrects the snapshot. Blocks
    /// until that is done.
    pub fn compare(&self, after: i32, limit: usize) -> Result<SliceResult> {
        let mut conn = change_feed::connect(&self.database)?;
        Ok(comparison::compare(&self.store, &mut conn, after, limit)?)
    }

    /// Compares all providers with the tables, if a foreign writer was noticed lately. The comparison begins after the
    /// call. Returns whether there was one.
    pub(super) async fn compare_before_refusal(&self, deadline: BootInstant) -> Result<bool> {
        let arrived = BootInstant::now();
        if self.exclusive {
            // The writer's connection alone can tell commits of other programs from those of this process. It does so
            // before each batch.
            self.submit_until(ClaimFirst::new(Vec::new(), None), deadline).await?;
        }
        if !self.store.had_foreign_writes(FOREIGN_WRITER_MEMORY) {
            return Ok(false);
        }
        let compare = async {
            let last_began = Arc::clone(&self.last_comparison).lock_owned().await;
            if last_began.is_some_and(|began| began > arrived) {
                return Ok(true);
            }
            if let Some(began) = *last_began {
                let due = began + EARLY_COMPARISON_INTERVAL;
                tokio::time::sleep(due.saturating_duration_since(BootInstant::now())).await;
            }
            self.compare_all(last_began).await?;
            Ok(true)
        };
        within_timeout(deadline.saturating_duration_since(arrived), compare).await
    }

    /// A comparison that has begun goes on if its caller gives up, and keeps the lock: no second one runs beside it.
    async fn compare_all(&self, mut last_began: OwnedMutexGuard<Option<BootInstant>>) -> Result<()> {
        let store = Arc::clone(&self.store);
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
        on_blocking_thread(&self.database, compare_alone).await
    }
}
