//! The file lock that gives an SQLite database to one serving process. That process is the only writer, so it has no
//! change feed to follow. A database on a server is shared, and has no such lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::db::{Database, SetupError};

/// Held while a process serves an embedded database. The kernel releases it when the process ends, however it ends.
pub struct ServingLock {
    _file: File,
}

impl Database {
    /// Locks the embedded database for this process. `None` if the database is on a server, which processes share.
    ///
    /// # Errors
    /// [`SetupError::Served`] if another process holds the lock.
    pub fn lock_for_serving(&self) -> Result<Option<ServingLock>, SetupError> {
        self.target().file().map(lock).transpose()
    }
}

fn lock(path: &Path) -> Result<ServingLock, SetupError> {
    let place = path.display().to_string();
    let connect = |error: io::Error| SetupError::Connect {
        place: place.clone(),
        detail: error.to_string(),
    };
    // Links are resolved, so that every path to one file leads to the same lock.
    let mut name = resolve(path).map_err(connect)?.into_os_string();
    name.push("-placet-lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(connect)?;
    match file.try_lock() {
        Ok(()) => Ok(ServingLock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(SetupError::Served {
            place: path.display().to_string(),
        }),
        Err(TryLockError::Error(error)) => Err(connect(error)),
    }
}

/// Returns the path of a file without links. The file may not exist yet; its directory must.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let folder = std::path::absolute(path)?;
        let (folder, name) = (
            folder.parent().unwrap_or(Path::new("/")),
            path.file_name().unwrap_or_default(),
        );
        Ok(folder.canonicalize()?.join(name))
    })
}
