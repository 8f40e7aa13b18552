//! Finds damage of a served file that no statement has met yet, by the headers and lengths of file and log; and saves
//! the rows after the file or its log was removed or replaced.
//!
//! Only wrong content that was read counts as damage. A failed read says nothing: the process may have no file
//! descriptor left, or the disk may answer again. So the handles are kept open, and no read opens a file.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::header::Header;
use super::inode_lock::LockedDatabase;
use crate::db::engines::dialect::{self, CheckpointMode};
use crate::db::{DbConnection, DbResult};

/// How often a too short length is checked again. A foreign program may have shortened the file by a VACUUM between two
/// reads.
const LENGTH_CHECKS: usize = 3;
/// The first bytes of a log, but for the last bit, which is the byte order of its checksums.
const LOG_MAGIC: u32 = 0x377f_0682;
const LOG_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;

/// The handles of a served file.
pub struct OpenFiles {
    pub database: Arc<LockedDatabase>,
    /// SQLite has no POSIX lock on the log.
    pub log: File,
}

impl OpenFiles {
    /// Copies the log into the file. False if a row of the log may be missing in the file.
    pub fn save_log(&self, conn: &mut DbConnection) -> bool {
        let copied = dialect::wal_checkpoint(conn, CheckpointMode::Passive).is_ok_and(|wal| wal.remaining() == 0);
        copied && self.database.sync_all().is_ok()
    }

    /// The advice while only this process has some of the rows.
    pub fn rescue_advice(&self) -> String {
        format!(
            "Before you stop placet, copy the files that it still has open: /proc/{process}/fd/{database} to NEW, and \
             /proc/{process}/fd/{log} to NEW-wal. They have every row. Then stop it, restore NEW or restore a backup \
             (`placet db restore NEW`), and start it again",
            process = std::process::id(),
            database = self.database.as_raw_fd(),
            log = self.log.as_raw_fd(),
        )
    }
}

/// The fault of the headers or lengths of the file and the log, if any is known.
pub fn find(open: &OpenFiles, conn: &mut DbConnection) -> DbResult<Option<&'static str>> {
    if matches!(Header::read(&open.database), Ok(None)) {
        return Ok(Some("its header is not that of a database"));
    }
    let mut found = None;
    for _ in 0..LENGTH_CHECKS {
        let size = dialect::database_size(conn)?;
        let wal = dialect::wal_checkpoint(conn, CheckpointMode::Noop)?;
        let wal_pages = u64::try_from(wal.pages).unwrap_or_default();
        let file_bytes = (size.pages * size.page_bytes).saturating_sub(wal_pages * size.page_bytes);
        let log_bytes = LOG_HEADER_BYTES + wal_pages * (FRAME_HEADER_BYTES + size.page_bytes);
        found = truncation(open, file_bytes, Some(log_bytes).filter(|_| wal_pages > 0)).unwrap_or_default();
        if found.is_none() {
            break;
        }
    }
    Ok(found)
}

/// Compares the files with their least lengths. `log_bytes` is `None` if nothing is known about the log.
fn truncation(open: &OpenFiles, file_bytes: u64, log_bytes: Option<u64>) -> io::Result<Option<&'static str>> {
    if open.database.metadata()?.len() < file_bytes {
        return Ok(Some("it was truncated"));
    }
    let Some(log_bytes) = log_bytes else {
        return Ok(None);
    };
    if open.log.metadata()?.len() < log_bytes || !has_log_header(&open.log)? {
        return Ok(Some("its log was truncated or overwritten"));
    }
    Ok(None)
}

fn has_log_header(log: &File) -> io::Result<bool> {
    let mut bytes = [0; 4];
    match log.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        result => result.map(|()| u32::from_be_bytes(bytes) & !1 == LOG_MAGIC),
    }
}
