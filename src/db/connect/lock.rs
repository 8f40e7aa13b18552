//! The locks that give an SQLite database to one serving process. The process is the only writer, and has no change
//! feed to follow. A database on a server is shared, and has no such locks.
//!
//! 1. The lock of the name is on a file beside the database. The lock covers every file with the database's name: the
//!    log, the record of the log, and the file that a restore replaces.
//! 2. The lock of the inode is on the database file itself, under every name ([`crate::db::file::inode_lock`]).

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, access};

use crate::db::connect::url::connect_error;
use crate::db::file::inode_lock::LockedDatabase;
use crate::db::file::log_record;
use crate::db::file::paths::FilePaths;
use crate::db::{Database, SetupError};

/// Held while a process serves an embedded database, or restores the database. The kernel releases the lock at every
/// end of the process.
pub struct ServingLock {
    /// The locked file, with the record of the log.
    pub(in crate::db) file: File,
    /// `None` while a restore finds no database to lock.
    database: Option<Arc<LockedDatabase>>,
}

impl Database {
    /// Locks the embedded database for this process, and checks that the log belongs to the database. Makes a missing
    /// file. `None` if the database is on a server, which processes share.
    ///
    /// # Errors
    /// [`SetupError::Served`] if a second process holds the lock, and [`SetupError::ForeignLog`].
    pub fn lock_for_serving(&self) -> Result<Option<ServingLock>, SetupError> {
        let Some(path) = self.target().file() else {
            return Ok(None);
        };
        let connect = |error: io::Error| connect_error(path, &error);
        let paths = FilePaths::of(path).map_err(connect)?;
        let mut lock = lock_name(&paths)?;
        log_record::check(&paths, &lock.file)?;
        let database = Arc::new(lock_database(&paths)?);
        log_record::forget_if_replaced(&paths, &lock.file).map_err(connect)?;
        self.guard()
            .set_lock(lock.file.try_clone().map_err(connect)?, database.clone());
        lock.database = Some(database);
        Ok(Some(lock))
    }

    /// Locks an embedded database for this process, which replaces the file. The file may be missing.
    pub(in crate::db) fn lock_for_restore(&self, paths: &FilePaths) -> Result<ServingLock, SetupError> {
        let mut lock = lock_name(paths)?;
        if paths.database.exists() {
            lock.database = Some(lock_database(paths)?.into());
        }
        Ok(lock)
    }

    /// Checks that this process may write an embedded database, and make files beside the database, as
    /// [`Database::lock_for_serving`] does. Makes no file.
    ///
    /// # Errors
    /// [`SetupError::Connect`]
    pub fn check_place(&self) -> Result<(), SetupError> {
        let Some(path) = self.target().file() else {
            return Ok(());
        };
        let connect = |error: io::Error| connect_error(path, &error);
        let paths = FilePaths::of(path).map_err(connect)?;
        let may_write =
            |path: &Path, more| access(path, Access::WRITE_OK | more).map_err(|error| connect(error.into()));
        may_write(paths.lock.parent().unwrap_or(Path::new("/")), Access::EXEC_OK)?;
        for file in [&paths.database, &paths.lock] {
            if file.exists() {
                may_write(file, Access::READ_OK)?;
            }
        }
        Ok(())
    }

    /// For a command that does not serve: checks that the log of an embedded database belongs to the database. A
    /// database that is being served is not checked.
    ///
    /// # Errors
    /// [`SetupError::ForeignLog`] if the log belongs to a different database.
    pub fn check_log(&self) -> Result<(), SetupError> {
        let Some(path) = self.target().file() else {
            return Ok(());
        };
        check_log_of(path).map(|_is_served| ())
    }
}

/// Locks the name of a database.
fn lock_name(paths: &FilePaths) -> Result<ServingLock, SetupError> {
    let connect = |error: io::Error| connect_error(&paths.database, &error);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&paths.lock)
        .map_err(connect)?;
    match file.try_lock() {
        Ok(()) => Ok(ServingLock { file, database: None }),
        Err(TryLockError::WouldBlock) => Err(served(paths)),
        Err(TryLockError::Error(error)) => Err(connect(error)),
    }
}

/// Locks the database file itself.
fn lock_database(paths: &FilePaths) -> Result<LockedDatabase, SetupError> {
    match LockedDatabase::lock(&paths.database) {
        Ok(locked) => locked.ok_or_else(|| served(paths)),
        Err(error) => Err(connect_error(&paths.database, &error)),
    }
}

fn served(paths: &FilePaths) -> SetupError {
    SetupError::Served {
        place: paths.database.display().to_string(),
    }
}

/// For a file that this process does not serve: checks that the log belongs to the file, unless a process serves the
/// file. Returns whether the file is being served.
///
/// # Errors
/// [`SetupError::ForeignLog`] if the log belongs to a different file.
pub(in crate::db) fn check_log_of(path: &Path) -> Result<bool, SetupError> {
    // Without a directory or a record there is nothing to compare.
    let Ok(paths) = FilePaths::of(path) else {
        return Ok(false);
    };
    let Ok(file) = File::open(&paths.lock) else {
        return Ok(LockedDatabase::is_locked(&paths.database));
    };
    let checked = log_record::check(&paths, &file);
    let is_served =
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) || LockedDatabase::is_locked(&paths.database);
    match checked {
        Err(error) if !is_served => Err(error),
        _ => Ok(is_served),
    }
}
