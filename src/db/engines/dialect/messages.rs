//! Classifies errors by the engines' own messages, because diesel gives some errors no kind. The engines keep their
//! texts stable, because programs read the texts.

use diesel::result::Error as DieselError;

use crate::db::Fault;

/// Beginnings of messages, and the reactions.
const KNOWN: [(&str, Fault); 43] = [
    // SQLite
    ("database is locked", Fault::Retry),
    ("database table is locked", Fault::Retry),
    ("database schema is locked", Fault::Retry),
    ("database disk image is malformed", Fault::Stop),
    ("file is not a database", Fault::Stop),
    ("database or disk is full", Fault::Stop),
    ("attempt to write a readonly database", Fault::Stop),
    ("disk I/O error", Fault::Stop),
    ("unable to open database file", Fault::ConnectionLost),
    // PostgreSQL: 40P01, 40001, 55P03, 57014, 53100, 57P01, 57P03, 25P03, and the messages of libpq itself.
    ("deadlock detected", Fault::Retry),
    ("could not serialize access", Fault::Retry),
    ("canceling statement due to lock timeout", Fault::Retry),
    ("canceling statement due to statement timeout", Fault::Retry),
    ("could not extend file", Fault::Stop),
    ("terminating connection", Fault::ConnectionLost),
    ("the database system is", Fault::ConnectionLost),
    ("server closed the connection unexpectedly", Fault::ConnectionLost),
    ("no connection to the server", Fault::ConnectionLost),
    ("SSL connection has been closed unexpectedly", Fault::ConnectionLost),
    ("could not receive data from server", Fault::ConnectionLost),
    ("could not send data to server", Fault::ConnectionLost),
    // PostgreSQL: 22021. A NUL is refused in any text; SQLite and MariaDB store a NUL.
    ("invalid byte sequence for encoding \"UTF8\": 0x00", Fault::Unstorable),
    // MariaDB: 1366, a character that the column's character set lacks.
    ("Incorrect string value: ", Fault::Unstorable),
    // MariaDB: 1305 of `begin_write`'s savepoint, 1213, 1205, 1020, 1317, 1114, 1021.
    ("SAVEPOINT placet does not exist", Fault::Retry),
    ("Deadlock found when trying to get lock", Fault::Retry),
    ("Deadlock: wsrep aborted transaction", Fault::Retry),
    ("Lock wait timeout exceeded", Fault::Retry),
    ("Record has changed since last read", Fault::Retry),
    ("Query execution was interrupted", Fault::Retry),
    ("Disk full", Fault::Stop),
    // MariaDB: 1467, 1615. With more tables on the server than `table_definition_cache` a table is closed and opened
    // again at any time. An INSERT may find no counter, and a statement may have to be prepared too often.
    ("Failed to read auto-increment value", Fault::Retry),
    ("Prepared statement needs to be re-prepared", Fault::Retry),
    // 1180: the outcome is unknown. 1047: another node may have the quorum. 1290, 1836: another node may accept writes.
    ("Got error", Fault::ConnectionLost),
    ("WSREP has not yet prepared node", Fault::ConnectionLost),
    ("The MariaDB server is running with", Fault::ConnectionLost),
    ("The MySQL server is running with", Fault::ConnectionLost),
    ("Server has gone away", Fault::ConnectionLost),
    ("MySQL server has gone away", Fault::ConnectionLost),
    ("Lost connection to", Fault::ConnectionLost),
    ("Connection was killed", Fault::ConnectionLost),
    ("Server shutdown in progress", Fault::ConnectionLost),
    ("The client was disconnected by the server", Fault::ConnectionLost),
    // 1568: the session still has a transaction that has ended for placet.
    ("Transaction characteristics can't be changed", Fault::ConnectionLost),
];

/// The database's own message; empty for an error of diesel.
pub fn message(error: &DieselError) -> &str {
    match error {
        DieselError::DatabaseError(_, information) => information.message(),
        _ => "",
    }
}

/// Classifies an error for which diesel has no kind.
pub fn classify_message(message: &str) -> Fault {
    if is_table_full(message) {
        return Fault::Stop;
    }
    found(&KNOWN, message).copied().unwrap_or(Fault::Unknown)
}

/// MariaDB: 1114.
pub(super) fn is_table_full(message: &str) -> bool {
    message.starts_with("The table '") && message.ends_with("' is full")
}

/// The value for the first known beginning of the message.
fn found<'a, T>(known: &'a [(&str, T)], message: &str) -> Option<&'a T> {
    let (_, value) = known.iter().find(|(text, _)| message.starts_with(text))?;
    Some(value)
}

const WRITABLE: &str = "; let placet write the file, and make files beside it, and start it again";
/// The operator's remedy for a damaged file.
pub const RESTORE_ADVICE: &str =
    "; stop placet and restore it from a backup, or salvage the readable rows: `sqlite3 FILE .recover`";

/// Beginnings of messages about an unusable embedded database, and the operator's remedies.
const ADVICE: [(&str, &str); 9] = [
    (
        "No such file or directory",
        "; make its directory, which placet must be able to write to",
    ),
    ("Read-only file system", WRITABLE),
    ("Permission denied", WRITABLE),
    ("unable to open database file", WRITABLE),
    ("attempt to write a readonly database", WRITABLE),
    ("database disk image is malformed", RESTORE_ADVICE),
    ("file is not a database", RESTORE_ADVICE),
    ("database or disk is full", "; free space on its disk"),
    (
        "disk I/O error",
        "; check its disk, and the kernel's log for its errors",
    ),
];

/// The operator's remedy for an error, to be appended to its `message`. Empty for an unknown error.
pub fn advice(message: &str) -> &'static str {
    found(&ADVICE, message).copied().unwrap_or_default()
}

/// Beginnings of messages, and the texts for clients.
const FOR_CLIENTS: [(&str, &str); 13] = [
    ("database or disk is full", "its disk is full"),
    ("could not extend file", "its disk is full"),
    ("Disk full", "its disk is full"),
    ("disk I/O error", "its disk fails"),
    ("attempt to write a readonly database", "it is read-only"),
    ("cannot execute ", "it is read-only"),
    ("The MariaDB server is running with", "it is read-only"),
    ("The MySQL server is running with", "it is read-only"),
    ("database disk image is malformed", "its file is damaged"),
    ("file is not a database", "its file is damaged"),
    ("database is locked", "another program has locked it"),
    (
        "canceling statement due to lock timeout",
        "rows are locked by another transaction",
    ),
    ("Lock wait timeout exceeded", "rows are locked by another transaction"),
];

/// The client's text for a message; `None` for an unknown message.
pub fn for_clients(message: &str) -> Option<&'static str> {
    found(&FOR_CLIENTS, message).copied()
}

/// Whether SQLite reports that the file is damaged.
pub fn says_damaged(message: &str) -> bool {
    begins_with(message, &["database disk image is malformed", "file is not a database"])
}

fn begins_with(message: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| message.starts_with(text))
}

/// Beginnings of messages about a too long wait for a lock.
const LOCK_TIMEOUTS: [&str; 3] = [
    "canceling statement due to lock timeout",
    "Lock wait timeout exceeded",
    "Query execution was interrupted (max_statement_time exceeded)",
];

/// Whether a statement waited too long for the lock of a row, or of a table. Not on SQLite, which has one lock.
pub fn is_lock_timeout(error: &DieselError) -> bool {
    begins_with(message(error), &LOCK_TIMEOUTS)
}

/// Whether SQLite reports that the disk is full. A COMMIT with this error has certainly not happened: there is no
/// server on which the COMMIT could still run.
pub fn is_disk_full(error: &DieselError) -> bool {
    message(error).starts_with("database or disk is full")
}

/// Beginnings of the messages by which MariaDB reports that it has rolled a transaction back. Galera answers a COMMIT
/// with such a message if a second node's commit came first.
const ROLLED_BACK: [&str; 3] = [
    "SAVEPOINT placet does not exist",
    "Deadlock found when trying to get lock",
    "Deadlock: wsrep aborted transaction",
];

/// Whether the server has rolled the transaction back, according to the error. Nothing of the transaction is or will be
/// committed.
pub fn was_rolled_back(error: &DieselError) -> bool {
    begins_with(message(error), &ROLLED_BACK)
}

/// Parts of messages of client libraries and servers after which a later attempt may succeed.
const UNREACHABLE: [&str; 18] = [
    "Connection refused",
    "could not translate host name",
    "timeout expired",
    "No such file or directory",
    "No route to host",
    "Network is unreachable",
    "the database system is",
    "server closed the connection unexpectedly",
    "session is read-only",
    "session is not",
    "too many clients",
    "remaining connection slots",
    "Can't connect to",
    "Unknown server host",
    "Unknown MySQL server host",
    "Lost connection to",
    "Too many connections",
    "WSREP has not yet prepared node",
];

/// Whether a connection failed for a temporary reason.
pub fn is_unreachable(detail: &str) -> bool {
    UNREACHABLE.iter().any(|text| detail.contains(text))
}

#[cfg(all(test, feature = "mariadb"))]
mod tests {
    use diesel::result::{DatabaseErrorKind::Unknown, Error::DatabaseError};

    use crate::db::Fault;

    #[test]
    fn a_statement_whose_table_is_opened_again_is_run_again() {
        for message in [
            "Failed to read auto-increment value from storage engine",
            "Prepared statement needs to be re-prepared",
        ] {
            assert_eq!(super::classify_message(message), Fault::Retry, "{message}");
        }
    }

    #[test]
    fn a_commit_needs_no_fence_only_if_the_transaction_was_certainly_rolled_back() {
        let was_rolled_back =
            |message: &str| super::was_rolled_back(&DatabaseError(Unknown, Box::new(message.to_owned())));
        assert!(was_rolled_back(
            "Deadlock found when trying to get lock; try restarting transaction"
        ));
        assert!(was_rolled_back("SAVEPOINT placet does not exist"));
        for in_doubt in [
            "Got error 6 \"No such device or address\" during COMMIT",
            "Lost connection to server during query",
            "Query execution was interrupted",
            "Lock wait timeout exceeded; try restarting transaction",
        ] {
            assert!(!was_rolled_back(in_doubt), "{in_doubt}");
        }
    }
}
