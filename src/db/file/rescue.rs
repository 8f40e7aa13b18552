//! Saves the rows of a served file after the file or its log was removed or replaced.
//!
//! SQLite has both files open, so no row is lost before the process ends. If only the log was removed, one checkpoint
//! copies the log into the file. Otherwise the operator copies both files from `/proc`.

use std::os::fd::AsRawFd;

use super::damage::OpenFiles;
use super::paths::FilePaths;
use crate::db::DbConnection;
use crate::db::engines::dialect::{self, CheckpointMode};

/// Copies a removed log into the file, durably. False if a row of the log may be missing in the file.
pub fn save_log(open: &OpenFiles, conn: &mut DbConnection) -> bool {
    let copied = dialect::wal_checkpoint(conn, CheckpointMode::Passive)
        .is_ok_and(|wal| wal.is_none_or(|wal| wal.remaining() == 0));
    copied && open.database.sync_all().is_ok()
}

/// The advice after a removed log was saved.
pub fn advice_when_saved(paths: &FilePaths) -> String {
    format!(
        "Every row is in {}. Stop placet, and start it again",
        paths.database.display()
    )
}

/// The advice while only this process has some of the rows.
pub fn advice(open: &OpenFiles) -> String {
    format!(
        "Before you stop placet, copy the files that it still has open: /proc/{process}/fd/{database} to NEW, and \
         /proc/{process}/fd/{log} to NEW-wal. They have every row. Then stop it, restore NEW or restore a backup \
         (`placet db restore NEW`), and start it again",
        process = std::process::id(),
        database = open.database.as_raw_fd(),
        log = open.log.as_raw_fd(),
    )
}
