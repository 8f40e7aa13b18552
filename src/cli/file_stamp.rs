//! Tells two versions of a file apart without reading it.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// What tells two versions of a file or directory apart.
#[derive(Debug, PartialEq, Eq)]
pub struct FileStamp {
    path: PathBuf,
    /// Seconds and nanoseconds of the modification time, size, inode; `None` if there is no such file.
    state: Option<(i64, i64, u64, u64)>,
}

impl FileStamp {
    pub fn of(path: PathBuf) -> FileStamp {
        let state = fs::metadata(&path).ok();
        let state = state.map(|data: Metadata| (data.mtime(), data.mtime_nsec(), data.size(), data.ino()));
        FileStamp { path, state }
    }
}
