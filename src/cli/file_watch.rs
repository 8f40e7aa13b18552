//! Files on disk: detects that files or their permissions changed, without reading the files.
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

use crate::live_value::Files;

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

/// Some files. The list of files may differ from reading to reading.
pub struct DiskFiles<P, R> {
    /// Searches for the files that exist now.
    paths: P,
    read: R,
    /// The state of the files at the last reading.
    noted: ArcSwap<Vec<FileStamp>>,
    searched: Mutex<Option<Instant>>,
    /// Whether a search has found files that are not noted yet.
    found_others: AtomicBool,
}

impl FileState {
    fn of(path: &Path) -> Option<FileState> {
        let data: Metadata = fs::metadata(path).ok()?;
        Some(FileState {
            changed: (data.ctime(), data.ctime_nsec()),
            bytes: data.size(),
            inode: data.ino(),
            mode: data.mode(),
        })
    }
}

impl<T, P, R> Files<T> for DiskFiles<P, R>
where
    P: Fn() -> Vec<PathBuf> + Send + Sync,
    R: Fn() -> Result<T, String> + Send + Sync,
{
    fn changed(&self) -> bool {
        let noted = self.noted.load();
        if self.must_search() && stamps((self.paths)()) != **noted {
            self.found_others.store(true, Ordering::SeqCst);
        }
        self.found_others.load(Ordering::SeqCst) || noted.iter().any(|stamp| FileState::of(&stamp.path) != stamp.state)
    }

    fn read(&self) -> Result<T, String> {
        // The state is noted before the reading, so that no change is missed.
        self.found_others.store(false, Ordering::SeqCst);
        self.noted.store(stamps((self.paths)()).into());
        (self.read)()
    }
}

impl<P, R> DiskFiles<P, R> {
    pub fn new(paths: P, read: R) -> DiskFiles<P, R> {
        DiskFiles {
            paths,
            read,
            noted: ArcSwap::default(),
            searched: Mutex::default(),
            found_others: AtomicBool::default(),
        }
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
    let stamp = |path: PathBuf| FileStamp {
        state: FileState::of(&path),
        path,
    };
    paths.into_iter().map(stamp).collect()
}
