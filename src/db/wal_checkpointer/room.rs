//! The limits of the WAL, which are lower on a small disk, to leave room for the growth of the database.
//!
//! Naively, the WAL grows to its limits on any disk. On a small or nearly full disk the WAL takes all the room. A
//! checkpoint may need room too, for pages that the database does not have yet, and so cannot free any.
//!
//! So the WAL may take half of its own length and the free room together. A page of the WAL becomes at most one new
//! page of the database, so the second half is enough for the whole WAL.

use std::io;

use crate::db::file::paths::FilePaths;

/// The size of a page and its header in the WAL. placet's databases have pages of 4 KB.
const FRAME_BYTES: u64 = 4_096 + 24;

/// A disk with less free room counts as full, after a write found the disk full: 256 pages, more than most commits
/// write.
const MIN_FREE_BYTES: u64 = 256 * FRAME_BYTES;

/// The limits for checkpoints, in pages that are not in the database file yet, or pages of the WAL.
#[derive(Debug, Clone, Copy)]
pub struct WalLimits {
    /// Checkpoint at this many pages while the writer commits. Until this limit, many pages are written several times,
    /// and copied once.
    pub checkpoint_pages: i32,
    /// Checkpoint at this many pages when the writer is idle.
    pub idle_checkpoint_pages: i32,
    /// Leave at most this many pages to the writer: less work than a commit.
    pub remainder_pages: i32,
    /// Ask the writer at this length of the WAL, with any number of remaining pages: the writer writes faster than the
    /// disk.
    pub force_pages: i32,
}

impl Default for WalLimits {
    /// 96 MB, 4 MB, 4 MB and 192 MB, in pages of 4 KB.
    fn default() -> Self {
        WalLimits {
            checkpoint_pages: 24_000,
            idle_checkpoint_pages: 1_000,
            remainder_pages: 1_000,
            force_pages: 48_000,
        }
    }
}

/// The room for the WAL, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct DiskRoom {
    /// The free room of the disk.
    pub free: u64,
    /// The length of the WAL's file.
    pub log: u64,
}

impl DiskRoom {
    /// The room on the disk of these files.
    pub fn of(paths: &FilePaths) -> io::Result<DiskRoom> {
        let disk = rustix::fs::statvfs(&paths.database)?;
        Ok(DiskRoom {
            free: disk.f_bavail.saturating_mul(disk.f_frsize),
            log: paths.log_bytes(),
        })
    }

    /// Whether further commits will find room, besides the room of the present files.
    pub fn is_enough(self) -> bool {
        self.free >= MIN_FREE_BYTES
    }
}

impl WalLimits {
    /// The limits on a disk with this room.
    pub fn within(self, room: DiskRoom) -> WalLimits {
        let half = room.free.saturating_add(room.log) / 2 / FRAME_BYTES;
        let share = |limit: i32, of_half: u64| limit.min(i32::try_from(half / of_half).unwrap_or(i32::MAX).max(1));
        WalLimits {
            checkpoint_pages: share(self.checkpoint_pages, 2),
            idle_checkpoint_pages: share(self.idle_checkpoint_pages, 4),
            remainder_pages: share(self.remainder_pages, 8),
            force_pages: share(self.force_pages, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wal_may_take_half_of_the_room_that_it_and_the_disk_have() {
        let limits = |free, log| WalLimits::default().within(DiskRoom { free, log });
        let roomy = limits(1 << 40, 0);
        assert_eq!(roomy.force_pages, WalLimits::default().force_pages);
        assert_eq!(roomy.remainder_pages, WalLimits::default().remainder_pages);
        for (free, log) in [(16 << 20, 0), (0, 16 << 20), (8 << 20, 8 << 20)] {
            let small = limits(free, log);
            assert_eq!(small.force_pages, 2_036, "{free} {log}");
            assert_eq!(small.checkpoint_pages, 1_018);
        }
        assert_eq!(limits(0, 0).checkpoint_pages, 1);
    }
}
