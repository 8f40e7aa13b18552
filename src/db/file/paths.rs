//! The paths of a database file and of the files beside it.

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
        Ok(FilePaths {
            log: with_suffix(&database, "-wal"),
            index: with_suffix(&database, "-shm"),
            lock: with_suffix(&database, "-placet-lock"),
            database,
        })
    }

    /// The length of the log in bytes; 0 without a log.
    pub fn log_bytes(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |log| log.len())
    }
}

/// The path with a suffix at its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
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
