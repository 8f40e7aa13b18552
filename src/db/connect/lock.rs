//! An embedded database belongs to one serving process, which then has nobody to follow. One on a server is anybody's.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::db::{Database, SetupError};

/// Held while a process serves an embedded database; dropped with the process, whatever ends it.
pub struct ServingLock {
    _file: File,
}

impl Database {
    /// Takes the embedded database for this process, or says that another one serves it. `None` where it cannot be
    /// taken: a database on a server is anybody's.
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
    // One file, one lock, whatever links lead to it.
    let mut name = real(path).map_err(connect)?.into_os_string();
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

/// Where a file is, or where it will be once it is made.
fn real(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let folder = std::path::absolute(path)?;
        let (folder, name) = (
            folder.parent().unwrap_or(Path::new("/")),
            path.file_name().unwrap_or_default(),
        );
        Ok(folder.canonicalize()?.join(name))
    })
}
