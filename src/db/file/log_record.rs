//! Ties the write-ahead log to its file, so no log is played over a wrong file.
//!
//! After a crash the log stays, and the next connection plays the log over the file. If a backup was copied over the
//! file in between, SQLite does not notice: the backup is undone, or mixed with pages of the log.
//!
//! So each serving process writes a random mark into the header of the file (`PRAGMA user_version`). The locked file
//! records the mark and the id of the process's writer. Every commit of the process writes a page with the id into the
//! log. A start refuses a log with the recorded id beside a file without the recorded mark.
//!
//! No crash leads to a refusal: the record allows the former marks and the new mark until the new mark is in the file
//! itself. Foreign programs do not change the mark. A log without the recorded id is not judged: the file and the log
//! may have been put there together.
//!
//! SQLite's own copy of the served database has the mark too. The schema cookie or the write version distinguishes such
//! a copy. A plain copy from the time of the same serving process cannot be distinguished from the file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use super::header::Header;
use super::paths::FilePaths;
use crate::db::SetupError;
use crate::db::connect::url::connect_error;

/// The length of a log without a commit, which is the header.
const EMPTY_LOG_BYTES: u64 = 32;
/// The length of a record, which is padded, so a shorter record replaces a longer record.
const RECORD_BYTES: usize = 512;
/// The maximum number of marks in a record: a confirmed mark, and one more for each start while a foreign program reads
/// the same old state.
pub const MAX_MARKS: usize = 32;
const READ_BYTES: usize = 1 << 20;

/// The record in the locked file about the process that last served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The id of the process's writer, which each commit writes into the log.
    pub writer: String,
    /// The possible marks of the database file.
    pub marks: Vec<u32>,
    /// The least possible schema cookie of the database file.
    pub schema_cookie: u32,
}

impl LogRecord {
    /// Reads the record. `None` if there is no record, or if the writing of the record was cut off.
    pub fn read(lock: &File) -> io::Result<Option<LogRecord>> {
        let mut bytes = [0; RECORD_BYTES];
        match lock.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            result => result.map(|()| std::str::from_utf8(&bytes).ok().and_then(LogRecord::parse)),
        }
    }

    fn parse(text: &str) -> Option<LogRecord> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let ["writer", writer, "marks", marks, "cookie", cookie, "end"] = fields[..] else {
            return None;
        };
        Some(LogRecord {
            writer: writer.to_owned(),
            marks: marks.split(',').map(|mark| mark.parse().ok()).collect::<Option<_>>()?,
            schema_cookie: cookie.parse().ok()?,
        })
    }

    /// Replaces the record, durably.
    pub fn write(&self, lock: &File) -> io::Result<()> {
        let marks: Vec<String> = self.marks.iter().map(u32::to_string).collect();
        let text = format!(
            "writer {} marks {} cookie {} end",
            self.writer,
            marks.join(","),
            self.schema_cookie
        );
        write(lock, &text)
    }
}

fn write(lock: &File, text: &str) -> io::Result<()> {
    lock.write_all_at(format!("{text:RECORD_BYTES$}").as_bytes(), 0)?;
    lock.sync_data()
}

/// Checks that the log, if any, belongs to the file. Must run before the first connection of this process is opened:
/// the check opens and closes the database file, which releases all POSIX locks of the process on the file.
///
/// # Errors
/// [`SetupError::ForeignLog`] if the log belongs to a different file, or to an earlier state of this file.
pub fn check(paths: &FilePaths, lock: &File) -> Result<(), SetupError> {
    let failed = |error: io::Error| connect_error(&paths.database, &error);
    let Some(record) = LogRecord::read(lock).map_err(failed)? else {
        return Ok(());
    };
    let Some(why) = mismatch(&record, paths).map_err(failed)? else {
        return Ok(());
    };
    if paths.log_bytes() > EMPTY_LOG_BYTES && log_contains(paths, record.writer.as_bytes()).map_err(failed)? {
        return Err(SetupError::ForeignLog {
            place: paths.database.display().to_string(),
            log: paths.log.display().to_string(),
            index: paths.index.display().to_string(),
            why,
        });
    }
    Ok(())
}

/// Removes the record.
pub fn forget(lock: &File) -> io::Result<()> {
    write(lock, "")
}

/// Removes the record if the file was replaced: later writes may belong to the new file.
pub fn forget_if_replaced(paths: &FilePaths, lock: &File) -> io::Result<()> {
    let Some(record) = LogRecord::read(lock)? else {
        return Ok(());
    };
    match mismatch(&record, paths)? {
        Some(_) => forget(lock),
        None => Ok(()),
    }
}

/// Why the record does not describe the file; `None` if the record does.
fn mismatch(record: &LogRecord, paths: &FilePaths) -> io::Result<Option<&'static str>> {
    let header = match File::open(&paths.database) {
        Ok(file) if file.metadata()?.len() > 0 => Header::read(&file)?,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Ok(Some("the file is gone")),
    };
    Ok(match header {
        // No database: SQLite reports the fault and the remedy.
        None => None,
        Some(header) if !record.marks.contains(&header.mark) => Some("another file has been put in its place since"),
        Some(header) if !header.is_wal || header.schema_cookie < record.schema_cookie => {
            Some("a backup has been put in its place since")
        }
        Some(_) => None,
    })
}

fn log_contains(paths: &FilePaths, text: &[u8]) -> io::Result<bool> {
    let mut log = File::open(&paths.log)?;
    let (mut bytes, mut kept) = (vec![0; READ_BYTES + text.len()], 0);
    loop {
        let read = log.read(&mut bytes[kept..])?;
        if read == 0 {
            return Ok(false);
        }
        let end = kept + read;
        if bytes[..end].windows(text.len()).any(|window| window == text) {
            return Ok(true);
        }
        // The text may begin in these bytes and end in the next bytes.
        kept = end.min(text.len());
        bytes.copy_within(end - kept..end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_torn_one_is_none() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(LogRecord::read(&file).unwrap(), None);
        let mut record = LogRecord {
            writer: uuid::Uuid::new_v4().to_string(),
            marks: [vec![u32::MAX; MAX_MARKS - 1], vec![17]].concat(),
            schema_cookie: u32::MAX,
        };
        record.write(&file).unwrap();
        assert_eq!(LogRecord::read(&file).unwrap(), Some(record.clone()));
        record.marks.pop();
        record.write(&file).unwrap();
        assert_eq!(LogRecord::read(&file).unwrap(), Some(record));
        file.write_all_at(&[0; 60], 40).unwrap();
        assert_eq!(LogRecord::read(&file).unwrap(), None);
    }

    #[test]
    fn a_text_is_found_in_a_log_wherever_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let paths = FilePaths::of(&folder.path().join("p.sqlite")).unwrap();
        let text = b"a text";
        for at in [0, 1, READ_BYTES - 3, READ_BYTES, READ_BYTES + 3, 2 * READ_BYTES] {
            let mut log = vec![b' '; 3 * READ_BYTES];
            log[at..at + text.len()].copy_from_slice(text);
            std::fs::write(&paths.log, log).unwrap();
            assert!(log_contains(&paths, text).unwrap(), "{at}");
            assert!(!log_contains(&paths, b"another").unwrap());
        }
    }
}
