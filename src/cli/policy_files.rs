//! The policy files on disk, and when they changed.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use crate::config::OsloPolicy;
use crate::policy::PolicyFile;
use crate::policy::live::Files;

/// How long a change may go unseen: looking costs system calls, and requests come in thousands.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// `policy_file`, and the files of `policy_dirs` over it.
pub struct Disk {
    options: OsloPolicy,
    seen: Mutex<Seen>,
}

struct Seen {
    at: Instant,
    marks: Vec<Mark>,
}

/// A file or directory as it was: another time, size or inode is another one.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    path: PathBuf,
    is: Option<(i64, i64, u64, u64)>,
}

impl Mark {
    fn of(path: PathBuf) -> Mark {
        let is = fs::metadata(&path).ok();
        let is = is.map(|is: Metadata| (is.mtime(), is.mtime_nsec(), is.size(), is.ino()));
        Mark { path, is }
    }
}

impl Disk {
    /// What is there now counts as seen, so it is to be read after this.
    pub fn new(options: &OsloPolicy) -> Disk {
        let seen = Seen {
            at: Instant::now(),
            marks: marks(options),
        };
        Disk {
            options: options.clone(),
            seen: Mutex::new(seen),
        }
    }
}

impl Files for Disk {
    /// One request at a time looks; those beside it go on.
    fn changed(&self) -> bool {
        let mut seen = match self.seen.try_lock() {
            Ok(seen) => seen,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if seen.at.elapsed() < LOOK_EVERY {
            return false;
        }
        let marks = marks(&self.options);
        let changed = marks != seen.marks;
        *seen = Seen {
            at: Instant::now(),
            marks,
        };
        changed
    }

    fn read(&self) -> Result<Vec<PolicyFile>, String> {
        let mut paths: Vec<PathBuf> = self.options.file().into_iter().collect();
        for dir in self.options.dirs() {
            paths.extend(files_of(&dir)?);
        }
        paths.iter().map(|path| read(path)).collect()
    }
}

fn marks(options: &OsloPolicy) -> Vec<Mark> {
    let mut paths: Vec<PathBuf> = options.file().into_iter().collect();
    for dir in options.dirs() {
        paths.extend(files_of(&dir).unwrap_or_default());
        paths.push(dir);
    }
    paths.into_iter().map(Mark::of).collect()
}

/// Every file of a directory, by name, as oslo.policy takes them: whatever it is called, but for hidden ones.
fn files_of(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.is_file()
    });
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<PolicyFile, String> {
    let name = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => Ok(PolicyFile { name, text }),
        Err(error) => Err(format!("{name}: {error}")),
    }
}
