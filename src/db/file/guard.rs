//! Guards the file that this process serves: the file must stay at its path, and SQLite must be able to read the file.
//!
//! SQLite keeps a removed or replaced file open, and commits into the file. Such commits are lost when the process
//! ends. So the guard compares the device and inode at the path with the open file's: after each COMMIT and before its
//! answer, when a connection is opened, and every second. The log is compared in the same way.
//!
//! Once the file is lost, nothing is written, and rows are not read: connections to two files would show a mix. Once
//! the file is found damaged, nothing is written, because the file may be lost with all later commits. Both states last
//! until the process is restarted. Searches are answered from memory.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::damage::{self, OpenFiles};
use super::inode_lock::LockedDatabase;
use super::log_tie::LogTie;
use super::paths::FilePaths;
use crate::db::connect::url::connect_error;
use crate::db::engines::dialect::{self, OpenMode};
use crate::db::{Database, DbConnection, DbResult, SetupError};

/// The guard of one database. Clones share the guard. Does nothing until this process serves an embedded database.
#[derive(Clone, Default)]
pub struct FileGuard {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The locked files, until [`FileGuard::begin`] takes them.
    locks: Mutex<Option<(File, Arc<LockedDatabase>)>>,
    served: OnceLock<ServedFile>,
    lost: OnceLock<String>,
    damaged: OnceLock<String>,
}

struct ServedFile {
    paths: FilePaths,
    open: OpenFiles,
    file_id: FileId,
    log_id: FileId,
    tie: Mutex<LogTie>,
    /// Keeps the log open. With the last connection SQLite would remove the log, and make a new log.
    keeper: Mutex<Option<DbConnection>>,
}

impl ServedFile {
    fn keeper(&self) -> MutexGuard<'_, Option<DbConnection>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl From<Metadata> for FileId {
    fn from(metadata: Metadata) -> FileId {
        FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

impl FileGuard {
    /// Hands over the locked files of this process: the record of the log, and the database.
    pub fn set_lock(&self, record: File, database: Arc<LockedDatabase>) {
        *self.inner.locks.lock().unwrap_or_else(PoisonError::into_inner) = Some((record, database));
    }

    /// Begins to guard the file if this process has locked the file for serving, and ties the log to the file.
    pub fn begin(&self, database: &Database, writer: &str) -> Result<(), SetupError> {
        let locks = self.inner.locks.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(path), Some((record, file))) = (database.target().file(), locks) else {
            return Ok(());
        };
        let failed = |error: io::Error| connect_error(path, &error);
        let paths = FilePaths::of(path).map_err(failed)?;
        let mut keeper = dialect::connect(database.target(), OpenMode::Write, database.lock_timeout())?;
        let tie = LogTie::begin(record, &file, &mut keeper, writer).map_err(failed)?;
        let log = File::open(&paths.log).map_err(failed)?;
        let served = ServedFile {
            file_id: file.metadata().map_err(failed)?.into(),
            log_id: log.metadata().map_err(failed)?.into(),
            paths,
            open: OpenFiles { database: file, log },
            tie: Mutex::new(tie),
            keeper: Mutex::new(Some(keeper)),
        };
        drop(self.inner.served.set(served));
        self.check_path()
    }

    /// Whether this process may write: the file is still at its path, and was not found damaged.
    ///
    /// # Errors
    /// The reason why writing is refused.
    pub fn check_writable(&self) -> Result<(), SetupError> {
        self.damage_found().map_or_else(|| self.check_path(), Err)
    }

    fn damage_found(&self) -> Option<SetupError> {
        let detail = self.inner.damaged.get()?.clone();
        Some(SetupError::FileDamaged { detail })
    }

    /// Whether rows may be read: the file was not found removed or replaced.
    ///
    /// # Errors
    /// The reason why reading is refused.
    pub fn check_readable(&self) -> Result<(), SetupError> {
        match self.inner.lost.get() {
            Some(detail) => Err(SetupError::FileLost { detail: detail.clone() }),
            None => Ok(()),
        }
    }

    /// Compares the files at their paths with the open files.
    ///
    /// # Errors
    /// [`SetupError::FileLost`], and [`SetupError::FileDamaged`] if the log of a damaged file is gone.
    pub fn check_path(&self) -> Result<(), SetupError> {
        self.check_readable()?;
        let Some(served) = self.inner.served.get() else {
            return Ok(());
        };
        if !is_at(&served.paths.database, served.file_id) {
            return Err(self.lose(served, &served.paths.database));
        }
        if !is_at(&served.paths.log, served.log_id) {
            return Err(self.lose_log(served));
        }
        Ok(())
    }

    /// SQLite removes the log when a connection opens a file of 0 bytes. So a missing log may be the consequence of
    /// damage, and the file lacks rows.
    fn lose_log(&self, served: &ServedFile) -> SetupError {
        if let Some(conn) = &mut *served.keeper() {
            drop(self.look_for_damage(served, conn));
        }
        self.damage_found()
            .unwrap_or_else(|| self.lose(served, &served.paths.log))
    }

    fn lose(&self, served: &ServedFile, path: &Path) -> SetupError {
        let detail = format!("{} was removed or replaced while placet serves it", path.display());
        if self.inner.lost.set(detail.clone()).is_ok() {
            let advice = if self.save_log(served) {
                let file = served.paths.database.display();
                format!("Every row is in {file}. Stop placet, and start it again")
            } else {
                served.open.rescue_advice()
            };
            log::error!("{detail}: rows are neither written nor read any more. {advice}");
        }
        SetupError::FileLost { detail }
    }

    /// If only the log was removed, copies the log into the file, durably. SQLite has both files open, so no row is
    /// lost before the process ends. False if a row may be in no file with a name.
    fn save_log(&self, served: &ServedFile) -> bool {
        is_at(&served.paths.database, served.file_id)
            && is_missing(&served.paths.log)
            && served.keeper().as_mut().is_some_and(|conn| {
                let looked = self.look_for_damage(served, conn);
                looked.is_ok() && self.inner.damaged.get().is_none() && served.open.save_log(conn)
            })
    }

    /// Looks for damage that no statement has met yet, and notes the damage.
    fn look_for_damage(&self, served: &ServedFile, conn: &mut DbConnection) -> DbResult<()> {
        let found = damage::find(&served.open, conn).inspect_err(|error| self.note_error(&error.to_string()))?;
        if let Some(detail) = found {
            self.damage(detail);
        }
        Ok(())
    }

    /// Flushes the guarded file to the disk.
    pub fn flush(&self) -> io::Result<()> {
        let served = self.inner.served.get();
        served.map_or(Ok(()), |served| served.open.database.sync_data())
    }

    /// Notes an error of the database: after a report that the file is damaged, nothing more is written.
    pub fn note_error(&self, message: &str) {
        if dialect::says_damaged(message) {
            self.damage(message);
        }
    }

    fn damage(&self, detail: &str) {
        if self.inner.served.get().is_some() && self.inner.damaged.set(detail.to_owned()).is_ok() {
            log::error!(
                "The database's file is damaged ({detail}): nothing is written any more until placet is restarted{}",
                dialect::RESTORE_ADVICE
            );
        }
    }

    /// Whether the file was lost or found damaged.
    pub fn has_failed(&self) -> bool {
        self.inner.lost.get().is_some() || self.inner.damaged.get().is_some()
    }

    /// Closes the connection that keeps the log open. After a failure the connection stays open, because with the last
    /// one SQLite would copy the log into the file at the path. True if the log is gone and every row is in the file.
    pub fn end(&self) -> bool {
        let Some(served) = self.inner.served.get() else {
            return false;
        };
        // A reader may have been in the way before.
        let is_saved = self.has_failed() && self.save_log(served);
        let keeper = served.keeper().take();
        if self.has_failed() {
            std::mem::forget(keeper);
        }
        is_saved
    }

    /// Looks for damage that no statement has met yet, for removed or replaced files, and for the mark that ties the
    /// log to the file.
    pub fn inspect(&self, conn: &mut DbConnection) -> DbResult<()> {
        let Some(served) = self.inner.served.get().filter(|_| !self.has_failed()) else {
            return Ok(());
        };
        if self.check_path().is_err() {
            return Ok(());
        }
        self.look_for_damage(served, conn)?;
        if self.has_failed() {
            return Ok(());
        }
        let mut tie = served.tie.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = tie.confirm(&served.open.database, conn) {
            self.note_error(&error.to_string());
            log::debug!("The mark of SQLite's file will be looked for again in a second: {error}");
        }
        Ok(())
    }
}

/// Whether the file may still be at its path. An unrelated error, such as a lack of permission, does not count as a
/// removal.
fn is_at(path: &Path, id: FileId) -> bool {
    match std::fs::metadata(path) {
        Ok(found) => FileId::from(found) == id,
        Err(error) => !is_absence(&error),
    }
}

fn is_missing(path: &Path) -> bool {
    std::fs::metadata(path).is_err_and(|error| is_absence(&error))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
