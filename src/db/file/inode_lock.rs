//! The lock on a database file itself, beside the lock of the name ([`crate::db::connect::lock`]).
//!
//! A hard link or a bind mount gives a file a second name, with a log and a lock file of that name. Two serving
//! processes would not see each other's log, and would lose rows. The kernel keeps a `flock` with the inode, so every
//! name of the file has the same lock. SQLite uses POSIX locks, which do not meet a `flock` on a local file system.
//!
//! The lock of the name is still needed: a restore, or an operator, puts a new inode at the name, beside the same log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An open database file, locked if the file system has such locks.
///
/// The file is never closed: closing any handle of a file releases all POSIX locks of this process on the file. A drop
/// releases the `flock`.
pub struct LockedDatabase(ManuallyDrop<File>);

impl LockedDatabase {
    /// Locks a database file. A missing file is made, empty and as SQLite makes a file. `None` if a second process
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

    /// Whether a process holds the lock on this file, under any name. Call this function before the first connection
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
        // An error means that the file system has no such lock.
        drop(self.0.unlock());
    }
}
