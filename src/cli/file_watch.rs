//! Detects that files or their permissions changed, without reading the files.
//!
//! Every request looks, so an edit holds from the next request on. A look costs a system call for each file. A new file
//! is found within 10 ms, because a search costs more.
//!
//! Two edits in place look like a single edit if the length stays the same and both edits come within a tick of the
//! kernel's clock (1 to 10 ms).

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

/// The properties that differ between two versions of a file or directory.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    path: PathBuf,
    /// `None` if there is no such file.
    state: Option<FileState>,
}

#[derive(Debug, PartialEq, Eq)]
struct FileState {
    /// Seconds and nanoseconds of the last change of the contents, the owner or the mode.
    changed: (i64, i64),
    bytes: u64,
    inode: u64,
    mode: u32,
}

/// The time between two searches of the directories for new files.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);

/// The state of some files at the last reading. The list of files may differ from reading to reading.
#[derive(Default)]
pub struct FileWatch {
    read: ArcSwap<Vec<FileStamp>>,
    searched: Mutex<Option<Instant>>,
    /// Whether a search has found files that are not noted yet.
    found_others: AtomicBool,
}

impl FileStamp {
    fn of(path: PathBuf) -> FileStamp {
        let state = FileStamp::state(&path);
        FileStamp { path, state }
    }

    fn state(path: &Path) -> Option<FileState> {
        let data: Metadata = fs::metadata(path).ok()?;
        Some(FileState {
            changed: (data.ctime(), data.ctime_nsec()),
            bytes: data.size(),
            inode: data.ino(),
            mode: data.mode(),
        })
    }
}

impl FileWatch {
    /// Records the state of the files. Read the files after this call, so that no change is missed.
    pub fn note(&self, paths: Vec<PathBuf>) {
        self.found_others.store(false, Ordering::SeqCst);
        self.read.store(stamps(paths).into());
    }

    /// Whether the files changed since the last note. `paths` searches for the files that exist now.
    pub fn changed(&self, paths: impl FnOnce() -> Vec<PathBuf>) -> bool {
        let noted = self.read.load();
        if self.must_search() && stamps(paths()) != **noted {
            self.found_others.store(true, Ordering::SeqCst);
        }
        self.found_others.load(Ordering::SeqCst)
            || noted.iter().any(|stamp| FileStamp::state(&stamp.path) != stamp.state)
    }

    /// Whether the last search was a while ago. A single caller at a time searches.
    fn must_search(&self) -> bool {
        let Ok(mut searched) = self.searched.try_lock() else {
            return false;
        };
        let is_due = searched.is_none_or(|at| at.elapsed() >= SEARCH_INTERVAL);
        if is_due {
            *searched = Some(Instant::now());
        }
        is_due
    }
}

fn stamps(paths: Vec<PathBuf>) -> Vec<FileStamp> {
    paths.into_iter().map(FileStamp::of).collect()
}
