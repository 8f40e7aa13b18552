//! `placet db restore`: replaces an embedded database, while no process serves the database, by a backup.
//!
//! The backup is copied beside the database, and the copy is checked. The old log is copied into the old file, so no
//! log is left, and the copy is renamed over the old file. A crash at any step leaves the old or the new database.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use diesel::prelude::*;
use rustix::process::{Flock, FlockType, fcntl_getlk};
use uuid::Uuid;

use super::backup::{PartialFile, bad_backup, check_integrity, file_error, sync, sync_folder};
use super::log_record;
use super::paths::{FilePaths, with_suffix};
use crate::db::connect::lock::check_log_of;
use crate::db::connect::url::DbTarget;
use crate::db::engines::dialect::{self, CheckpointMode, OpenMode};
use crate::db::schema::{migrate, placet_epoch};
use crate::db::{Database, DbConnection, SetupError};

/// The bytes on which every SQLite connection in WAL mode holds a lock for reading.
const SHARED_LOCK_START: u64 = 0x4000_0002;
const SHARED_LOCK_BYTES: u64 = 510;

impl Database {
    /// Replaces an embedded database by a backup. Returns the backup's own log, if any.
    ///
    /// # Errors
    /// Nothing was replaced: the database is on a server or in use, or the file is no usable backup.
    pub fn restore(&self, from: &Path) -> Result<Option<PathBuf>, SetupError> {
        let Some(path) = self.target().file() else {
            let command = self.target().restore_command(from).unwrap_or_default();
            return Err(SetupError::OnServer { command });
        };
        let failed = |error: io::Error| file_error(path, &error);
        let paths = FilePaths::of(path).map_err(failed)?;
        let lock = self.lock_for_restore(&paths)?;
        check_source(from, &paths)?;
        let copy = FilePaths::of(&with_suffix(&paths.database, "-placet-restore")).map_err(failed)?;
        let _removed = [&copy.database, &copy.log, &copy.index].map(|path| PartialFile(path.clone()));
        let log = copy_backup(from, &copy)?;
        self.prepare_copy(from, &copy)?;
        own_as(&copy.database, &paths.database).map_err(failed)?;
        sync(&copy.database).map_err(failed)?;
        if log_record::check(&paths, &lock.file).is_ok() {
            self.end_log(&paths)?;
        } else if is_open_elsewhere(&paths.database).map_err(failed)? {
            // No connection is opened, because SQLite would play the log.
            return Err(in_use(&paths));
        }
        fs::rename(&copy.database, &paths.database).map_err(failed)?;
        // The remaining files do not belong to the new file.
        for left in [&paths.log, &paths.index] {
            match fs::remove_file(left) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(file_error(left, &error)),
                _ => {}
            }
        }
        sync_folder(&paths.database).map_err(failed)?;
        log_record::forget(&lock.file).map_err(failed)?;
        Ok(log)
    }

    /// Checks the copy of a backup, and turns it into a single file that every process takes for a new database.
    fn prepare_copy(&self, from: &Path, copy: &FilePaths) -> Result<(), SetupError> {
        let bad = |error: SetupError| bad_backup(from, error.to_string());
        let target = DbTarget::of_file(&copy.database);
        let mut conn = dialect::connect(&target, OpenMode::Write, self.lock_timeout()).map_err(bad)?;
        check_integrity(&mut conn, from)?;
        match migrate::check_schema(&mut conn) {
            // `placet db sync`, or the next start, upgrades the copy.
            Err(SetupError::OldRevision { .. } | SetupError::NotCurrent) => {}
            result => result.map_err(bad)?,
        }
        replace_epoch(&mut conn)?;
        dialect::set_user_version(&mut conn, 0)?;
        dialect::wal_checkpoint(&mut conn, CheckpointMode::Truncate)?;
        Ok(())
    }

    /// Copies the log into its file, and removes the log. Does nothing if the file cannot be read.
    fn end_log(&self, paths: &FilePaths) -> Result<(), SetupError> {
        let Ok(mut conn) = dialect::connect(self.target(), OpenMode::Write, self.lock_timeout()) else {
            return Ok(());
        };
        if dialect::wal_checkpoint(&mut conn, CheckpointMode::Truncate).is_err() {
            return Ok(());
        }
        drop(conn);
        if paths.log.exists() {
            return Err(in_use(paths));
        }
        Ok(())
    }
}

/// Processes that know the epoch, and replicas, read everything again.
fn replace_epoch(conn: &mut DbConnection) -> Result<(), SetupError> {
    if dialect::table_names(conn)?.iter().any(|table| table == "placet_epoch") {
        let epoch = placet_epoch::epoch.eq(Uuid::new_v4().to_string());
        diesel::update(placet_epoch::table).set(epoch).execute(conn)?;
    }
    Ok(())
}

fn in_use(paths: &FilePaths) -> SetupError {
    SetupError::InUse {
        place: paths.database.display().to_string(),
    }
}

/// Whether a second process has an SQLite connection to the file: in WAL mode a connection holds a POSIX lock.
fn is_open_elsewhere(database: &Path) -> io::Result<bool> {
    let file = match File::open(database) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let lock = Flock {
        start: SHARED_LOCK_START,
        length: SHARED_LOCK_BYTES,
        ..FlockType::WriteLock.into()
    };
    Ok(fcntl_getlk(&file, &lock)?.is_some())
}

/// Checks that a backup is not the database itself, and that a log beside the backup belongs to the backup.
fn check_source(from: &Path, paths: &FilePaths) -> Result<(), SetupError> {
    let bad = |detail: &str| bad_backup(from, detail.to_owned());
    let source = FilePaths::of(from).map_err(|error| file_error(from, &error))?;
    if source.database == paths.database {
        return Err(bad("it is the database itself"));
    }
    match check_log_of(from) {
        Ok(true) => Err(bad("placet serves it; make a backup of it with `placet db backup`")),
        Ok(false) => Ok(()),
        Err(error) => Err(bad(&error.to_string())),
    }
}

/// Copies a backup with its log, if any, and returns the path of the log.
fn copy_backup(from: &Path, copy: &FilePaths) -> Result<Option<PathBuf>, SetupError> {
    for left in [&copy.database, &copy.log, &copy.index] {
        drop(fs::remove_file(left));
    }
    let mut file = File::open(from).map_err(|error| file_error(from, &error))?;
    copy_file(&mut file, &copy.database)?;
    let log = with_suffix(from, "-wal");
    match File::open(&log) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(&log, &error)),
        Ok(mut file) => copy_file(&mut file, &copy.log).map(|()| Some(log)),
    }
}

fn copy_file(from: &mut File, to: &Path) -> Result<(), SetupError> {
    let copied = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .and_then(|mut to| io::copy(from, &mut to));
    copied.map(|_bytes| ()).map_err(|error| file_error(to, &error))
}

/// Gives a file the owner and the mode of the file at `other`, if any: a service must be able to write the file.
fn own_as(file: &Path, other: &Path) -> io::Result<()> {
    let Ok(other) = fs::metadata(other) else {
        return Ok(());
    };
    let own = fs::metadata(file)?;
    if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
        chown(file, Some(other.uid()), Some(other.gid()))?;
    }
    fs::set_permissions(file, other.permissions())
}
