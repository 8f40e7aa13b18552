//! What the engines' own words say where diesel gives an error no kind. Their texts do not change, because programs
//! like this one read them.

use diesel::result::DatabaseErrorInformation;

use crate::db::Fault;

/// Beginnings of messages, and what they mean.
const KNOWN: [(&str, Fault); 40] = [
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
    // PostgreSQL: 40P01, 40001, 55P03, 53100, 57P01, 57P03, 25P03, and what its library says by itself.
    ("deadlock detected", Fault::Retry),
    ("could not serialize access", Fault::Retry),
    ("canceling statement due to lock timeout", Fault::Retry),
    ("could not extend file", Fault::Stop),
    ("terminating connection", Fault::ConnectionLost),
    ("the database system is", Fault::ConnectionLost),
    ("server closed the connection unexpectedly", Fault::ConnectionLost),
    ("no connection to the server", Fault::ConnectionLost),
    ("SSL connection has been closed unexpectedly", Fault::ConnectionLost),
    ("could not receive data from server", Fault::ConnectionLost),
    ("could not send data to server", Fault::ConnectionLost),
    // PostgreSQL: 22021. It takes no NUL in any text; others keep it.
    ("invalid byte sequence for encoding \"UTF8\": 0x00", Fault::Unstorable),
    // MariaDB: 1366, a character that the column's character set lacks.
    ("Incorrect string value: ", Fault::Unstorable),
    // MariaDB: 1305 of `begin_write`'s mark, 1213, 1205, 1020, 1317, 1114, 1021.
    ("SAVEPOINT placet does not exist", Fault::Retry),
    ("Deadlock found when trying to get lock", Fault::Retry),
    ("Deadlock: wsrep aborted transaction", Fault::Retry),
    ("Lock wait timeout exceeded", Fault::Retry),
    ("Record has changed since last read", Fault::Retry),
    ("Query execution was interrupted", Fault::Retry),
    ("Disk full", Fault::Stop),
    // 1180: what happened is not known. 1047: another node may have the quorum. 1290, 1836: another may take writes.
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
    // 1568: the session is not as it was left.
    ("Transaction characteristics can't be changed", Fault::ConnectionLost),
];

/// Sorts the errors that diesel gives no kind.
pub fn classify_message(message: &str) -> Fault {
    let found = KNOWN.iter().find(|(text, _)| message.starts_with(text));
    if message.starts_with("The table '") && message.ends_with("' is full") {
        return Fault::Stop;
    }
    found.map_or(Fault::Unknown, |(_, fault)| fault.clone())
}

const WRITABLE: &str = "; let placet write the file, and make files beside it, and start it again";
const RESTORE: &str =
    "; stop placet and restore it from a backup, or save what can be read of it: `sqlite3 FILE .recover`";

/// Beginnings of what is said of an embedded database that cannot be used, and what is to be done about it.
const ADVICE: [(&str, &str); 8] = [
    ("Read-only file system", WRITABLE),
    ("Permission denied", WRITABLE),
    ("unable to open database file", WRITABLE),
    ("attempt to write a readonly database", WRITABLE),
    ("database disk image is malformed", RESTORE),
    ("file is not a database", RESTORE),
    ("database or disk is full", "; make room on its disk"),
    (
        "disk I/O error",
        "; look at its disk, of which the kernel's log may say more",
    ),
];

/// What to do, as the end of a line that ends with `message`; or nothing.
pub fn advice(message: &str) -> &'static str {
    let known = ADVICE.iter().find(|(text, _)| message.starts_with(text));
    known.map_or("", |(_, advice)| advice)
}

/// Whether SQLite says that there was no room for a COMMIT. Then it did not happen for certain: there is no server where it
/// could still be under way.
pub fn found_no_room(error: &diesel::result::Error) -> bool {
    let diesel::result::Error::DatabaseError(_, information) = error else {
        return false;
    };
    information.message().starts_with("database or disk is full")
}

/// What MariaDB says of a transaction that it has undone: at COMMIT too, where on Galera another node was faster.
#[cfg(feature = "mariadb")]
const UNDONE: [&str; 3] = [
    "SAVEPOINT placet does not exist",
    "Deadlock found when trying to get lock",
    "Deadlock: wsrep aborted transaction",
];

/// Whether an error says that nothing of the transaction was committed nor can be.
#[cfg(feature = "mariadb")]
pub fn was_undone(error: &diesel::result::Error) -> bool {
    let diesel::result::Error::DatabaseError(_, information) = error else {
        return false;
    };
    UNDONE.iter().any(|text| information.message().starts_with(text))
}

/// No other engine answers COMMIT so.
#[cfg(not(feature = "mariadb"))]
pub fn was_undone(_: &diesel::result::Error) -> bool {
    false
}

/// What client libraries and servers say where trying again later may help.
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

/// Whether a connection failed for a reason that may pass.
pub fn is_unreachable(detail: &str) -> bool {
    UNREACHABLE.iter().any(|text| detail.contains(text))
}

/// The constraint that a row violated, by the name that the schema gives it.
pub fn constraint_name(information: &dyn DatabaseErrorInformation) -> Option<String> {
    if let Some(name) = information.constraint_name() {
        return Some(name.to_string());
    }
    let message = information.message();
    mariadb_constraint(message).or_else(|| sqlite_constraint(message))
}

/// MariaDB: "Duplicate entry 'A' for key 'uniq_traits0name'"; MySQL puts the table before it; "… CONSTRAINT `name` …".
fn mariadb_constraint(message: &str) -> Option<String> {
    if let Some((_, key)) = message.rsplit_once(" for key '") {
        let key = key.trim_end_matches('\'');
        return Some(key.rsplit_once('.').map_or(key, |(_, key)| key).to_owned());
    }
    let (_, constraint) = message.split_once("CONSTRAINT `")?;
    Some(constraint.split_once('`')?.0.to_owned())
}

/// SQLite names the columns: "UNIQUE constraint failed: inventories.resource_provider_id, inventories.…".
fn sqlite_constraint(message: &str) -> Option<String> {
    let (_, columns) = message.split_once("constraint failed: ")?;
    let (table, column) = columns.split(", ").next()?.split_once('.')?;
    match (table, column, columns.contains(", ")) {
        ("inventories", "resource_provider_id", true) => {
            Some("uniq_inventories0resource_provider_resource_class".to_string())
        }
        (_, "id", _) | (_, _, true) => Some(format!("{table}_pkey")),
        _ => Some(format!("uniq_{table}0{column}")),
    }
}

#[cfg(all(test, feature = "mariadb"))]
mod tests {
    use diesel::result::{DatabaseErrorKind::Unknown, Error::DatabaseError};

    #[test]
    fn only_what_was_undone_for_certain_needs_no_fence() {
        let was_undone = |message: &str| super::was_undone(&DatabaseError(Unknown, Box::new(message.to_owned())));
        assert!(was_undone(
            "Deadlock found when trying to get lock; try restarting transaction"
        ));
        assert!(was_undone("SAVEPOINT placet does not exist"));
        for doubtful in [
            "Got error 6 \"No such device or address\" during COMMIT",
            "Lost connection to server during query",
            "Query execution was interrupted",
            "Lock wait timeout exceeded; try restarting transaction",
        ] {
            assert!(!was_undone(doubtful), "{doubtful}");
        }
    }
}
