//! Reads rows for the snapshot without the store's lock, and publishes the rows under the lock.
//!
//! Naive solution: hold the lock from the read to the publication, because the rows would undo a commit in between. But
//! a commit of this process would wait for the connection of a second thread, for as long as a start takes.
//!
//! So every change that is published while rows are being read is kept in a log. Happy path: the rows belong to some
//! revisions. Later changes are added to the rows, in the order of publication.
//!
//! Unhappy paths:
//! - The snapshot was invalidated, or a second thread published rows: the rows are obsolete, and are read again.
//! - A change of the log cannot be added by its deltas: rows are read again, and include the change.
//! - While everything was read, a second thread published rows of some providers. No log has the foreign changes of
//!   these providers, so the providers are read again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use diesel::result::Error as DbError;

use super::published_log::{LogEntry, PublishedChange};
use super::{Shown, SnapshotStore, next_snapshot};
use crate::db::boot_instant::BootInstant;
use crate::db::change_feed::{self, FeedError, FeedPage, Revisions};
use crate::db::engines::dialect;
use crate::db::{DbConnection, DbResult};
use crate::model::snapshot::merged_changes::MergedChanges;
use crate::model::snapshot::reload::{self, Reload};
use crate::model::snapshot::stamp::Stamp;
use crate::model::statistics::ReloadReason;
use crate::mutants::{self, Mutant};
use crate::search::{NameKinds, ProviderId, Snapshot};

/// A thread that is reading rows. During the life of a `RowReader`, published changes are kept.
pub struct RowReader<'a> {
    store: &'a SnapshotStore,
    /// The number of the first entry published after this reader began.
    first_entry: usize,
    stamp: Stamp,
}

impl Drop for RowReader<'_> {
    fn drop(&mut self) {
        self.store.applied().published.end_reader();
    }
}

/// The result of an attempt to publish a reload of everything.
enum Attempt {
    Published,
    /// The snapshot was invalidated or reloaded since the reading began.
    Obsolete,
    /// Since the reading, rows of some providers or more than `LOCKED_ENTRIES_MAX` entries were published.
    Behind,
}

/// The most entries added to a reload of everything under the lock. More entries are added before, without the lock.
const LOCKED_ENTRIES_MAX: usize = 8;

/// Reads the rows that peers marked, the suspects, and these names. Returns the suspects that differed from the
/// snapshot. `None` if the snapshot is invalid: everything must be reloaded.
pub fn read_marked(
    store: &SnapshotStore,
    conn: &mut DbConnection,
    suspects: &BTreeSet<ProviderId>,
    names: NameKinds,
) -> DbResult<Option<Vec<ProviderId>>> {
    loop {
        let reader = RowReader::begin(store);
        let Some(shown) = store.shown() else {
            return Ok(None);
        };
        match read_rows(conn, &shown.snapshot, &shown.revisions, suspects, names)? {
            Ok(reload) => {
                if let Some(differing) = reader.publish_marked(&shown, reload) {
                    return Ok(Some(differing));
                }
            }
            Err(error) => adopt_epoch_or_invalidate(store, conn, &shown, &error)?,
        }
    }
}

/// After a page that changes alone cannot apply. If only writers were pruned whose last commit the snapshot shows,
/// takes over the new epoch. Otherwise invalidates the snapshot.
fn adopt_epoch_or_invalidate(
    store: &SnapshotStore,
    conn: &mut DbConnection,
    shown: &Shown,
    error: &FeedError,
) -> DbResult<()> {
    if let FeedError::EpochChanged { epoch } = error
        && let Some(revisions) = change_feed::carry_over(conn, &shown.revisions, epoch)?
    {
        let mut applied = store.applied();
        if applied.stamp.is_same_read(&shown.stamp) && applied.revisions.epoch == shown.revisions.epoch {
            let is_pruned =
                |id: &String| shown.revisions.writers.contains_key(id) && !revisions.writers.contains_key(id);
            applied.revisions.writers.retain(|id, _| !is_pruned(id));
            applied.revisions.epoch = revisions.epoch;
        }
        return Ok(());
    }
    store.invalidate_since(&shown.stamp, ReloadReason::Feed, error);
    Ok(())
}

/// Reads everything if decisions may not rest on the snapshot, and publishes the reload. If the snapshot was
/// invalidated or reloaded since, the reload is discarded: the next attempt begins after the invalidation.
pub fn reload_everything(store: &SnapshotStore, conn: &mut DbConnection) -> DbResult<()> {
    let reader = RowReader::begin(store);
    if store.may_decide() {
        // A second thread has reloaded the snapshot.
        return Ok(());
    }
    let began = Instant::now();
    let check = || reader.check_wanted();
    let reload = match dialect::read_transaction(conn, |conn| reload::everything(conn, check)) {
        Err(DbError::RollbackTransaction) => return Ok(()),
        read => read?,
    };
    if reader.complete_and_publish(conn, reload)? {
        store.statistics.loads.record_time(began.elapsed());
        log::info!("The snapshot was reloaded");
    }
    Ok(())
}

impl<'a> RowReader<'a> {
    /// Begins to read rows, even if the snapshot is invalid.
    fn begin(store: &'a SnapshotStore) -> RowReader<'a> {
        let mut applied = store.applied();
        RowReader {
            store,
            first_entry: applied.published.begin_reader(),
            stamp: applied.stamp,
        }
    }

    /// Publishes rows with the changes published since the rows were read. `None` if the rows are obsolete, or if a
    /// change cannot be added.
    fn publish_marked(&self, shown: &Shown, mut reload: Reload) -> Option<Vec<ProviderId>> {
        let mut applied = self.store.applied();
        if !applied.stamp.is_same_read(&shown.stamp) || applied.revisions.epoch != shown.revisions.epoch {
            return None;
        }
        let published = applied.published.since(self.first_entry)?;
        if !add_entries(&mut reload, &published) {
            return None;
        }
        applied.stamp.row_reads += 1;
        applied.published.note_read(reload.read);
        if reload.has_foreign_changes || !reload.differing.is_empty() {
            applied.foreign_write_found = Some(BootInstant::now());
        }
        self.store.replace(&mut applied, reload.snapshot, reload.revisions);
        Some(reload.differing)
    }

    /// Adds the changes published since to a reload of everything, and publishes the reload. False if the reload is
    /// obsolete.
    fn complete_and_publish(&self, conn: &mut DbConnection, mut reload: Reload) -> DbResult<bool> {
        let (mut next_entry, mut row_reads) = (self.first_entry, self.stamp.row_reads);
        loop {
            match self.publish_everything((next_entry, row_reads), &mut reload) {
                Attempt::Published => return Ok(true),
                Attempt::Obsolete => return Ok(false),
                Attempt::Behind => {}
            }
            let (published, corrected) = {
                let applied = self.store.applied();
                let published = applied.published.since(next_entry);
                let has_read = applied.stamp.row_reads != row_reads;
                (next_entry, row_reads) = (applied.published.end(), applied.stamp.row_reads);
                (published, has_read.then(|| applied.published.read.clone()))
            };
            let is_added =
                corrected.is_none() && published.is_some_and(|it| !it.is_empty() && add_entries(&mut reload, &it));
            if !is_added {
                // The rows include everything published until now.
                let names = corrected.as_ref().map_or(NameKinds::default(), |_| NameKinds::ALL);
                let suspects = corrected.unwrap_or_default();
                match read_rows(conn, &reload.snapshot, &reload.revisions, &suspects, names)? {
                    Ok(newer) => reload = newer,
                    Err(_) => return Ok(false),
                }
            }
        }
    }

    /// An error if the snapshot was invalidated or reloaded since the reading began: the reload would be discarded.
    fn check_wanted(&self) -> DbResult<()> {
        if self.store.applied().stamp.is_same_reload(&self.stamp) {
            return Ok(());
        }
        log::info!("A reload of the snapshot was given up, because the snapshot was invalidated or reloaded since");
        Err(DbError::RollbackTransaction)
    }

    /// `known`: the next entry of the log, and the number of row reads, at the time when `reload` was read.
    fn publish_everything(&self, (next_entry, row_reads): (usize, u64), reload: &mut Reload) -> Attempt {
        let store = self.store;
        let mut applied = store.applied();
        if !applied.stamp.is_same_reload(&self.stamp) {
            return Attempt::Obsolete;
        }
        let published = applied.published.since(next_entry);
        let is_added = published.is_some_and(|it| it.len() <= LOCKED_ENTRIES_MAX && add_entries(reload, &it));
        // A valid snapshot may show more commits of peers than the reload.
        let is_behind = !store.is_invalid() && is_behind(&reload.revisions, &applied.revisions);
        if !is_added || is_behind || applied.stamp.row_reads != row_reads {
            return Attempt::Behind;
        }
        applied.stamp.reloads += 1;
        let replaced = store.replace(&mut applied, reload.snapshot.clone(), reload.revisions.clone());
        applied.invalid_since = None;
        store.invalid.store(false, Ordering::Release);
        let is_foreign = applied.stamp.foreign_commits != self.stamp.foreign_commits;
        store.has_foreign_commits.store(is_foreign, Ordering::Release);
        drop(applied);
        // Freeing a large snapshot takes milliseconds, so the lock is released first.
        drop(replaced);
        Attempt::Published
    }
}

/// Whether a writer is at a lower revision than in `other`.
fn is_behind(revisions: &Revisions, other: &Revisions) -> bool {
    let mut writers = other.writers.iter();
    writers.any(|(writer, position)| revisions.of(writer) < position.revision)
}

/// Reads the changes since `revisions` in one transaction: the marked rows, the suspects, and these names.
fn read_rows(
    conn: &mut DbConnection,
    snapshot: &Snapshot,
    revisions: &Revisions,
    suspects: &BTreeSet<ProviderId>,
    names: NameKinds,
) -> DbResult<Result<Reload, FeedError>> {
    let early_page = early_page(conn, revisions)?;
    dialect::read_transaction(conn, |conn| {
        let page = match early_page {
            Some(page) => page,
            None => change_feed::read_page(conn, revisions)?,
        };
        reload::marked(conn, snapshot, revisions, page, suspects, names)
    })
}

/// With the mutant `revisions-before`, a page read before the transaction that reads the rows; `None` without the
/// mutant.
fn early_page(conn: &mut DbConnection, known: &Revisions) -> DbResult<Option<FeedPage>> {
    if !mutants::is(Mutant::RevisionsBefore) {
        return Ok(None);
    }
    let page = change_feed::read_page(conn, known)?;
    std::thread::sleep(Duration::from_millis(20));
    Ok(Some(page))
}

/// Adds published changes that the rows do not include yet. Returns false at the first change that cannot be added. All
/// changes before are added.
fn add_entries(reload: &mut Reload, entries: &[LogEntry]) -> bool {
    mutants::is(Mutant::DropPublished) || entries.iter().all(|changes| add_changes(reload, changes))
}

fn add_changes(reload: &mut Reload, changes: &[PublishedChange]) -> bool {
    let mut revisions = reload.revisions.clone();
    let mut commits = Vec::new();
    for change in changes {
        let known = revisions.of(&change.writer);
        if change.position.revision > known + 1 {
            return false;
        }
        if change.position.revision == known + 1 {
            revisions.writers.insert(change.writer.clone(), change.position.clone());
            commits.push(change.committed.clone());
        }
    }
    if commits.is_empty() {
        return true;
    }
    let Some(next) = next_snapshot(&reload.snapshot, MergedChanges::of_commits(commits)) else {
        return false;
    };
    (reload.snapshot, reload.revisions) = (Arc::new(next), revisions);
    true
}

#[cfg(test)]
mod tests;
