//! `placet db backup`: a copy of an embedded database in one file, made while the database may be served.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use uuid::Uuid;

use crate::db::connect::url::DbTarget;
use crate::db::engines::dialect::{self, OpenMode};
use crate::db::schema::migrate;
use crate::db::{Database, SetupError};

/// A file that is removed when this is dropped, unless the file was renamed.
pub struct PartialFile(pub PathBuf);

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        drop(fs::remove_file(&self.0));
    }
}

impl Database {
    /// Writes a backup of an embedded database to a new file. The file appears when it is complete and on the disk.
    ///
    /// # Errors
    /// [`SetupError::OnServer`] for a database on a server; [`SetupError::FileExists`] if the file exists.
    pub fn back_up(&self, to: &Path) -> Result<(), SetupError> {
        let Some(path) = self.target().file() else {
            let command = self.target().backup_command(to).unwrap_or_default();
            return Err(SetupError::OnServer { command });
        };
        let failed = |error: io::Error| file_error(to, &error);
        let to = std::path::absolute(to).map_err(failed)?;
        let exists = || SetupError::FileExists {
            place: to.display().to_string(),
        };
        if fs::symlink_metadata(&to).is_ok() {
            return Err(exists());
        }
        let Some(name) = to.to_str() else {
            let detail = "SQLite takes only names in UTF-8: give another one";
            return Err(failed(io::Error::other(detail)));
        };
        let mut conn = self.connect_to(OpenMode::Read)?;
        let name = format!("{name}.partial-{}", Uuid::new_v4().simple());
        let partial = PartialFile(PathBuf::from(&name));
        // Creates the file, because SQLite says less about a missing or unwritable folder. Users who may not read the
        // database may not read its backup.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(fs::metadata(path).map_err(failed)?.mode())
            .open(&partial.0)
            .map_err(failed)?;
        dialect::copy_into(&mut conn, &name)?;
        self.finish_copy(&partial.0)?;
        sync(&partial.0).map_err(failed)?;
        match renameat_with(CWD, &partial.0, CWD, &to, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => return Err(exists()),
            // Not every file system has this kind of rename.
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(&partial.0, &to).map_err(failed)?,
            result => result.map_err(|error| failed(error.into()))?,
        }
        sync_folder(&to).map_err(failed)
    }

    /// Checks a copy, which must have tables, and removes the mark of the tie between the served file and its log.
    fn finish_copy(&self, copy: &Path) -> Result<(), SetupError> {
        let target = DbTarget::of_file(copy);
        let mut conn = dialect::connect(&target, OpenMode::Read, self.lock_timeout())?;
        check_integrity(&mut conn, copy)?;
        if let Err(error @ SetupError::NotSynced) = migrate::check_schema(&mut conn) {
            return Err(error);
        }
        dialect::allow_writes(&mut conn)?;
        dialect::set_user_version(&mut conn, 0)?;
        Ok(())
    }
}

/// Reads the whole file.
///
/// # Errors
/// [`SetupError::BadBackup`] with the first fault.
pub fn check_integrity(conn: &mut crate::db::DbConnection, file: &Path) -> Result<(), SetupError> {
    match dialect::integrity_fault(conn)? {
        None => Ok(()),
        Some(fault) => Err(bad_backup(file, fault.lines().collect::<Vec<_>>().join("; "))),
    }
}

/// The error of a file that is no usable backup.
pub fn bad_backup(file: &Path, detail: String) -> SetupError {
    let place = file.display().to_string();
    SetupError::BadBackup { place, detail }
}

/// Flushes a file to the disk.
pub fn sync(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Flushes the names of a file's folder to the disk.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::NotFound)?;
    fs::File::open(folder)?.sync_all()
}

/// The error of an operation on a file.
pub fn file_error(path: &Path, error: &io::Error) -> SetupError {
    let advice = match error.kind() {
        ErrorKind::NotFound => "; give the path of a file that exists, or of a new one in a folder that exists",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; run the command as the user of the service, or give another path"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; free space on its disk",
        _ => "",
    };
    SetupError::File {
        place: path.display().to_string(),
        detail: format!("{error}{advice}"),
    }
}
