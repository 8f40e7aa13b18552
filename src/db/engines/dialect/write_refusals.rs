//! Why an answering database refuses writes, by the messages of the engines and of their client libraries.

use super::messages::is_table_full;

/// Why an answering database refuses every write, or every write that needs more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// The disk has no room, or a quota is used up.
    #[error("its disk is full")]
    DiskFull,
    /// The file, the server or the session is read-only, as on a standby.
    #[error("it is read-only")]
    ReadOnly,
    /// The disk reports errors.
    #[error("its disk reports errors")]
    DiskFailed,
}

use WriteRefusal::{DiskFailed, DiskFull, ReadOnly};

/// Parts of messages, and the reasons.
const KNOWN: [(&str, WriteRefusal); 15] = [
    ("database or disk is full", DiskFull),
    // The system's own words, which SQLite's opening, PostgreSQL and MariaDB (1021, 1180) quote.
    ("No space left on device", DiskFull),
    ("Disk quota exceeded", DiskFull),
    // PostgreSQL: 53100, also if a part of the page was written.
    ("could not extend file", DiskFull),
    // MariaDB: 1021.
    ("Disk full", DiskFull),
    ("attempt to write a readonly database", ReadOnly),
    // As this process gets the errors when opening an embedded database again.
    ("Read-only file system", ReadOnly),
    ("Permission denied (os error", ReadOnly),
    // PostgreSQL: 25006, a standby, and libpq's `target_session_attrs`.
    ("in a read-only transaction", ReadOnly),
    ("during recovery", ReadOnly),
    ("session is read-only", ReadOnly),
    // MariaDB and MySQL: 1290 and 1792.
    ("The MariaDB server is running with", ReadOnly),
    ("The MySQL server is running with", ReadOnly),
    ("in a READ ONLY transaction", ReadOnly),
    ("disk I/O error", DiskFailed),
];

/// The reason in the message of a failed write; `None` if a second write may succeed.
pub fn write_refusal(message: &str) -> Option<WriteRefusal> {
    if is_table_full(message) {
        return Some(DiskFull);
    }
    let found = KNOWN.iter().find(|(text, _)| message.contains(text));
    found.map(|(_, refusal)| *refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_n2_a_refusal_of_writes_is_known_by_the_engines_messages() {
        for (message, expected) in [
            ("database or disk is full", Some(DiskFull)),
            ("attempt to write a readonly database", Some(ReadOnly)),
            ("disk I/O error", Some(DiskFailed)),
            ("Read-only file system (os error 30)", Some(ReadOnly)),
            (
                "could not extend file \"base/5/1\": wrote only 4096 of 8192 bytes at block 7",
                Some(DiskFull),
            ),
            ("cannot execute UPDATE in a read-only transaction", Some(ReadOnly)),
            (
                "connection to server at \"::1\", port 1 failed: session is read-only",
                Some(ReadOnly),
            ),
            ("The table 'placet_changes' is full", Some(DiskFull)),
            ("Got error 28 \"No space left on device\" during COMMIT", Some(DiskFull)),
            (
                "The MariaDB server is running with the --read-only option so it cannot execute this statement",
                Some(ReadOnly),
            ),
            ("database is locked", None),
            ("server closed the connection unexpectedly", None),
            ("permission denied for table placet_changes", None),
        ] {
            assert_eq!(write_refusal(message), expected, "{message}");
        }
    }
}
