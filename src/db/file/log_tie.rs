//! Ties the log of a served file to the file: leaves a new mark in the file, and keeps the record of the mark
//! ([`super::log_record`]).

use std::fs::File;
use std::io;

use uuid::Uuid;

use super::header::Header;
use super::log_record::{LogRecord, MAX_MARKS};
use crate::db::DbConnection;
use crate::db::engines::dialect::{self, CheckpointMode};

/// The tie between a served file and its log.
pub struct LogTie {
    /// The locked file, with the record.
    lock: File,
    record: LogRecord,
}

impl LogTie {
    /// Leaves a new mark in the file, and records the mark with the writer's id.
    pub fn begin(lock: File, database: &File, conn: &mut DbConnection, writer: &str) -> io::Result<LogTie> {
        let header = Header::read(database)?;
        // If the record has several marks, a foreign program may copy any of them from the log until the file has the
        // new mark.
        let mut marks = LogRecord::read(&lock)?.map_or(Vec::new(), |former| former.marks);
        marks.extend(header.map(|header| header.mark));
        let mark = new_mark();
        marks.push(mark);
        marks.dedup();
        let record = LogRecord {
            writer: writer.to_owned(),
            marks: marks.split_off(marks.len().saturating_sub(MAX_MARKS)),
            schema_cookie: header.map_or(0, |header| header.schema_cookie),
        };
        record.write(&lock)?;
        dialect::set_user_version(conn, mark).map_err(io::Error::other)?;
        let mut tie = LogTie { lock, record };
        tie.confirm(database, conn)?;
        Ok(tie)
    }

    /// Records the new mark alone as soon as the file itself has the mark. A program that reads an old state delays
    /// this moment. Until this moment the former marks are allowed too.
    pub fn confirm(&mut self, database: &File, conn: &mut DbConnection) -> io::Result<()> {
        let &[_, .., mark] = &self.record.marks[..] else {
            return Ok(());
        };
        dialect::wal_checkpoint(conn, CheckpointMode::Passive).map_err(io::Error::other)?;
        database.sync_data()?;
        if let Some(header) = Header::read(database)?.filter(|header| header.mark == mark) {
            self.record.marks = vec![mark];
            self.record.schema_cookie = header.schema_cookie;
            self.record.write(&self.lock)?;
        }
        Ok(())
    }
}

/// A random mark, which is not 0 and which SQLite keeps as a positive number.
fn new_mark() -> u32 {
    (Uuid::new_v4().as_u128() as u32 & 0x7fff_ffff).max(1)
}
