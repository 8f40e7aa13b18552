//! Detects that files changed, or who may read them, without reading them.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

/// What tells two versions of a file or directory apart.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    path: PathBuf,
    /// Seconds and nanoseconds of the last change of the contents, the owner or the mode; size; inode. `None` if there
    /// is no such file.
    state: Option<(i64, i64, u64, u64)>,
}

/// The state of some files at the last check. Which files they are may change from check to check.
pub struct FileWatch {
    /// The shortest time between two checks: each costs system calls, and requests are frequent.
    interval: Duration,
    last: Mutex<LastCheck>,
}

struct LastCheck {
    at: Instant,
    stamps: Vec<FileStamp>,
}

impl FileStamp {
    fn of(path: PathBuf) -> FileStamp {
        let state = fs::metadata(&path).ok();
        let state = state.map(|data: Metadata| (data.ctime(), data.ctime_nsec(), data.size(), data.ino()));
        FileStamp { path, state }
    }
}

impl LastCheck {
    fn of(paths: Vec<PathBuf>) -> LastCheck {
        LastCheck {
            at: Instant::now(),
            stamps: paths.into_iter().map(FileStamp::of).collect(),
        }
    }
}

impl FileWatch {
    /// Records the current state of the files. If they are read after that, a change between the two is detected.
    pub fn start(interval: Duration, paths: Vec<PathBuf>) -> FileWatch {
        FileWatch {
            interval,
            last: Mutex::new(LastCheck::of(paths)),
        }
    }

    /// Whether the files changed since the last check. One caller at a time checks; others get `false` at once.
    pub fn changed(&self, paths: impl FnOnce() -> Vec<PathBuf>) -> bool {
        let mut last = match self.last.try_lock() {
            Ok(last) => last,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if last.at.elapsed() < self.interval {
            return false;
        }
        let now = LastCheck::of(paths());
        let changed = now.stamps != last.stamps;
        *last = now;
        changed
    }
}
