//! The header of a database file, read from the file itself and not through the log
//! (<https://sqlite.org/fileformat.html>).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const LENGTH: usize = 100;
/// The write version of a file with a write-ahead log.
const WAL_VERSION: u8 = 2;

/// The state of a file, from the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Whether the file is used with a write-ahead log.
    pub is_wal: bool,
    /// Rises with every change of the schema. A copy by SQLite's backup API begins at 1.
    pub schema_cookie: u32,
    /// `PRAGMA user_version`, the mark of a serving process ([`super::log_record`]).
    pub mark: u32,
}

impl Header {
    /// Reads the header. `None` if the file is too short or no database.
    pub fn read(file: &File) -> io::Result<Option<Header>> {
        let mut bytes = [0; LENGTH];
        match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok(bytes.starts_with(MAGIC).then(|| Header {
            is_wal: bytes[18] == WAL_VERSION,
            schema_cookie: number(40),
            mark: number(60),
        }))
    }
}
