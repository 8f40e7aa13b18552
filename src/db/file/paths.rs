//! The paths of a database file and of the files beside it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// A database file, and the files beside it. Links are resolved, so all paths to one file lead to the same files.
#[derive(Debug, Clone)]
pub struct FilePaths {
    pub database: PathBuf,
    /// The write-ahead log.
    pub log: PathBuf,
    /// The index of the log. SQLite makes a missing index again.
    pub index: PathBuf,
    /// The lock file of a serving process.
    pub lock: PathBuf,
}

impl FilePaths {
    /// The paths for a database file. The file may be missing; the directory must exist.
    pub fn of(path: &Path) -> io::Result<FilePaths> {
        let database = resolve(path)?;
        let beside = |suffix: &str| {
            let mut name: OsString = database.clone().into();
            name.push(suffix);
            PathBuf::from(name)
        };
        Ok(FilePaths {
            log: beside("-wal"),
            index: beside("-shm"),
            lock: beside("-placet-lock"),
            database,
        })
    }

    /// The length of the log in bytes; 0 without a log.
    pub fn log_bytes(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |log| log.len())
    }
}

fn resolve(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let absolute = std::path::absolute(path)?;
        let (folder, name) = (
            absolute.parent().unwrap_or(Path::new("/")),
            path.file_name().unwrap_or_default(),
        );
        Ok(folder.canonicalize()?.join(name))
    })
}
