//! Classifies database errors by the right reaction, and turns them into the errors for clients and operators.
//!
//! An unknown error is never retried.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use thiserror::Error as ThisError;

use super::engines::dialect;
use crate::error::{Detail, Error};

/// The reaction to a database error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The transaction conflicted with a concurrent transaction and changed nothing: run the whole transaction again.
    Retry,
    /// A constraint refused a row: refuse the command.
    Refuse,
    /// The connection is lost: open a new connection. If the connection was lost during COMMIT, the commit is in doubt.
    ConnectionLost,
    /// The database is corrupt, full or read-only: accept no more writes. A retry cannot help.
    Stop,
    /// The command has a text that the database cannot store: refuse the command.
    Unstorable,
    /// An unknown error: refuse the command, without a retry.
    Unknown,
}

/// Returns the reaction to a database error.
pub fn classify(error: &DieselError) -> Fault {
    use DatabaseErrorKind as Kind;
    match error {
        DieselError::DatabaseError(kind, information) => match kind {
            Kind::UniqueViolation | Kind::ForeignKeyViolation | Kind::NotNullViolation | Kind::CheckViolation => {
                Fault::Refuse
            }
            Kind::SerializationFailure => Fault::Retry,
            // A server is read-only after a failover; the new primary accepts writes, so connect again.
            Kind::ClosedConnection | Kind::UnableToSendCommand | Kind::ReadOnlyTransaction => Fault::ConnectionLost,
            _ => dialect::classify_message(information.message()),
        },
        DieselError::RollbackErrorOnCommit { commit_error, .. } => classify(commit_error),
        DieselError::BrokenTransactionManager => Fault::ConnectionLost,
        _ => Fault::Unknown,
    }
}

/// Whether a unique or foreign key constraint refused a row, because of further rows, or whether a row that the
/// transaction had inserted or found is gone. A row is gone if a foreign program deleted the row. A row is also gone if
/// Galera rolled the transaction back during the preparation of a statement, which Galera answers without an error.
pub fn is_constraint(error: &DieselError) -> bool {
    use DatabaseErrorKind::{ForeignKeyViolation, UniqueViolation};
    matches!(
        error,
        DieselError::DatabaseError(UniqueViolation | ForeignKeyViolation, _) | DieselError::NotFound
    )
}

/// Why a write of a batch failed.
#[derive(Debug)]
pub enum WriteError {
    Database(DieselError),
    /// A guard did not hold: a second writer changed the basis of the batch. The transaction must be rolled back.
    Conflict,
    /// A constraint refused a row of a command that is alone in its batch: a second writer may have written the row
    /// first.
    Constraint(DieselError),
}

impl From<DieselError> for WriteError {
    fn from(error: DieselError) -> WriteError {
        WriteError::Database(error)
    }
}

impl WriteError {
    /// A conflict unless the statement touched the number of rows that its guard expects.
    pub fn unless_touched(expected: usize, touched: usize) -> Result<(), WriteError> {
        if expected == touched {
            Ok(())
        } else {
            Err(WriteError::Conflict)
        }
    }
}

/// Why a statement failed, for a client and for the log.
pub fn detail(error: &DieselError) -> Detail {
    let known = dialect::for_clients(dialect::message(error));
    let shown = known.unwrap_or(match classify(error) {
        Fault::Retry => "another transaction was in the way",
        Fault::ConnectionLost => "the connection to it was lost",
        _ => "it failed",
    });
    Detail::hiding(shown, error)
}

impl From<DieselError> for Error {
    fn from(error: DieselError) -> Self {
        match classify(&error) {
            Fault::Retry | Fault::ConnectionLost => Error::Unavailable { detail: detail(&error) },
            Fault::Stop => {
                log::error!("The database accepts no more writes: {error}{}", advice(&error));
                Error::Unavailable { detail: detail(&error) }
            }
            Fault::Unstorable => Error::BadRequest {
                detail:
                    "The database cannot store a text that has a NUL character or one outside of its character set."
                        .into(),
            },
            Fault::Refuse | Fault::Unknown => {
                // The database's own message is for the operator. It may show data, and a client cannot act on it.
                log::error!("The database refused a statement: {error}");
                Error::Internal {
                    detail: "The database refused a statement; the log of placet has its message.".into(),
                }
            }
        }
    }
}

/// Why there is no usable database. Each message is one line for the operator.
#[derive(Debug, ThisError)]
pub enum SetupError {
    #[error(
        "placet cannot parse the database connection '{url}'; use sqlite:////path/to/file, postgresql://user:password@host/database or mysql://user:password@host/database"
    )]
    UnknownUrl { url: String },
    #[error("this placet was built without {what}: build it with `--features {feature}`")]
    NotBuiltIn { what: &'static str, feature: &'static str },
    #[error(
        "placet cannot check the name in a MariaDB server's certificate over a socket or for an IPv6 address: give the host's name, or leave out ssl_verify_identity, ssl_check_hostname and ssl_mode=VERIFY_IDENTITY"
    )]
    NoIdentity,
    #[error("'{name}' in the URL of the database is no parameter of {engine}{}", suggestion(*nearest))]
    UnknownParameter {
        engine: &'static str,
        name: String,
        nearest: Option<&'static str>,
    },
    #[error("'{name}' in the URL of the database: {reason}")]
    Parameter { name: String, reason: String },
    #[error("the URL of the database names the option file {path}: {reason}")]
    OptionFile { path: String, reason: String },
    #[error(
        "placet needs several connections, and a database in memory has only one: give a file, as sqlite:////path/to/file"
    )]
    InMemory,
    #[error("there is no database at {place}: run `placet db sync`")]
    Missing { place: String },
    #[error("cannot open the database at {place}: {detail}{}", dialect::advice(.detail))]
    Connect { place: String, detail: String },
    #[error(
        "the log {log} is not that of {place}: {why}. To serve {place} as it is now, such as a backup that was copied there, remove {log} and {index} and start again. To keep what is in the log, put the former file back"
    )]
    ForeignLog {
        place: String,
        log: String,
        index: String,
        why: &'static str,
    },
    #[error("{place} exists already, and a backup overwrites no file: give another name")]
    FileExists { place: String },
    #[error("cannot use the file {place}: {detail}")]
    File { place: String, detail: String },
    #[error("{place} is no backup that can be used, and nothing was replaced: {detail}")]
    BadBackup { place: String, detail: String },
    #[error("another program has the database at {place} open, and nothing was replaced: stop it first")]
    InUse { place: String },
    #[error("the database is on a server, whose own tool does that: `{command}`")]
    OnServer { command: String },
    #[error("{detail}")]
    FileLost { detail: String },
    #[error(
        "its file is damaged ({detail}), and nothing is written to it until placet is restarted{}",
        dialect::RESTORE_ADVICE
    )]
    FileDamaged { detail: String },
    #[error("cannot serve the database at {place}: {detail}")]
    Unsuitable { place: String, detail: String },
    #[error("another placet serves the database at {place}: stop it first, or give this one a database of its own")]
    Served { place: String },
    #[error("placet could not start a thread: {detail}")]
    Thread { detail: String },
    #[error("the database has no tables yet: run `placet db sync`")]
    NotSynced,
    #[error("the database lacks tables of this placet's version: run `placet db sync`")]
    NotCurrent,
    #[error(
        "the database is at alembic revision {found}, which this placet does not know; the newest that it knows is {}",
        super::schema::alembic::HEAD
    )]
    OtherRevision { found: String },
    #[error(
        "the database is at alembic revision {found}, placet needs {}: run `placet db sync`",
        super::schema::alembic::HEAD
    )]
    OldRevision { found: String },
    #[error(
        "the database is at several alembic revisions at once ({found}): two programs upgraded it at the same time. When no upgrade runs any more, create the database again, or find out which revision its tables are at and run `placet db stamp REVISION`"
    )]
    SeveralRevisions { found: String },
    #[error(
        "There is at least one resource provider table record which is missing its root provider id. Run the \"placet db online_data_migrations\" command"
    )]
    NullRoots,
    #[error(
        "There is at least one allocation record which is missing a consumer record. Run the \"placet db online_data_migrations\" command"
    )]
    MissingConsumers,
    #[error("Can't locate revision identified by '{0}'")]
    NoRevision(String),
    #[error(
        "the database has tables but no alembic revision: it is not OpenStack Placement's, or its `placement-manage db sync` has not ended yet; placet does not change it"
    )]
    Foreign,
    #[error(
        "a newer placet has migrated the database: migration {migration} is unknown to this one; run the newer placet"
    )]
    Newer { migration: String },
    #[error("the database failed: {0}{advice}", advice = advice(.0))]
    Database(#[from] DieselError),
    #[error("a migration failed: {0}")]
    Migration(String),
}

impl SetupError {
    /// Whether a retry may help, because the server does not answer yet. A refusal by the server is not transient.
    pub fn is_transient(&self) -> bool {
        matches!(self, SetupError::Connect { detail, .. } if dialect::is_unreachable(detail))
    }

    /// Why there is no usable database, for a client and for the log.
    pub fn detail(&self) -> Detail {
        let shown = match self {
            SetupError::Database(error) => return detail(error),
            SetupError::Connect { detail, .. } if dialect::is_unreachable(detail) => "it cannot be reached",
            SetupError::Connect { .. } => "it accepts no connection",
            SetupError::FileLost { .. } => "its file was removed or replaced",
            SetupError::FileDamaged { .. } => "its file is damaged",
            _ => "it cannot be used as it is",
        };
        Detail::hiding(shown, self)
    }
}

impl From<SetupError> for Error {
    fn from(error: SetupError) -> Self {
        Error::Unavailable { detail: error.detail() }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"))
}

/// The operator's remedy for an error, or an empty text ([`dialect::advice`]).
fn advice(error: &DieselError) -> &'static str {
    dialect::advice(&error.to_string())
}
