//! The lock on a database file itself, beside the one on the file with its name ([`crate::db::connect::lock`]).
//!
//! A hard link or a bind mount gives a file a second name, with a log and a lock file of that name. Two processes that
//! served it would not see each other's log, and lose rows. The kernel keeps a `flock` with the inode, so it is the
//! same under every name. SQLite locks the file with POSIX locks, which do not meet it on a local file system.
//!
//! The lock alone would not do: a restore, or an operator, puts another inode at the name, beside the same log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An open database file, locked if the file system has such locks.
///
/// It is never closed: closing any handle of a file releases all POSIX locks that this process holds on it. Dropping it
/// releases the lock.
pub struct LockedDatabase(ManuallyDrop<File>);

impl LockedDatabase {
    /// Locks a database file. If there is none, an empty one is made, as SQLite makes it. `None` if another process
    /// holds the lock.
    ///
    /// # Errors
    /// The file cannot be opened or made.
    pub fn lock(database: &Path) -> io::Result<Option<LockedDatabase>> {
        let file = ManuallyDrop::new(match File::open(database) {
            Err(error) if error.kind() == ErrorKind::NotFound => make(database)?,
            opened => opened?,
        });
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => log::warn!(
                "{} cannot be locked: {error}. Serve it under one name only, because a second placet that serves it \
                 under another name is not refused",
                database.display()
            ),
            Ok(()) => {}
        }
        Ok(Some(LockedDatabase(file)))
    }

    /// Whether a process holds the lock on this file, under whatever name. Must be called before the first connection
    /// of this process is opened, because it closes the file.
    pub fn is_locked(database: &Path) -> bool {
        File::open(database).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// Makes an empty file. SQLite gives a new database the same mode.
fn make(database: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o644);
    options.open(database)
}

impl Deref for LockedDatabase {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedDatabase {
    fn drop(&mut self) {
        // Without a lock there is nothing to release.
        drop(self.0.unlock());
    }
}
