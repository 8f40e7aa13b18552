//! What a database error means for whoever met it. Each is one of a few kinds, and an unknown one is never retried.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use thiserror::Error as ThisError;

use super::dialect;
use crate::error::Error;

/// What to do about a database error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Another connection stood in the way and nothing was done: the whole batch is tried again.
    Retry,
    /// The tables refused one command, by this constraint where its name is known.
    Refuse { constraint: Option<String> },
    /// The connection is gone; if it went during COMMIT, the outcome is in doubt.
    Lost,
    /// The database takes no more writes: corrupt, full or read-only. Trying again cannot help.
    Stop,
    /// The command has a text that the database cannot keep.
    Unstorable,
    /// Nobody knows. The command that met it is refused, and it is not tried again.
    Unknown,
}

/// Sorts a database error into what to do about it.
pub fn classify(error: &DieselError) -> Fault {
    use DatabaseErrorKind as Kind;
    match error {
        DieselError::DatabaseError(kind, information) => match kind {
            Kind::UniqueViolation | Kind::ForeignKeyViolation | Kind::NotNullViolation | Kind::CheckViolation => {
                Fault::Refuse {
                    constraint: dialect::constraint_name(information.as_ref()),
                }
            }
            Kind::SerializationFailure => Fault::Retry,
            // A server that takes no writes any more: after a failover another one does.
            Kind::ClosedConnection | Kind::UnableToSendCommand | Kind::ReadOnlyTransaction => Fault::Lost,
            _ => dialect::classify_message(information.message()),
        },
        DieselError::RollbackErrorOnCommit { commit_error, .. } => classify(commit_error),
        DieselError::BrokenTransactionManager => Fault::Lost,
        _ => Fault::Unknown,
    }
}

/// Whether a constraint refused a row for the sake of another one.
pub fn is_constraint(error: &DieselError) -> bool {
    use DatabaseErrorKind::{ForeignKeyViolation, UniqueViolation};
    matches!(
        error,
        DieselError::DatabaseError(UniqueViolation | ForeignKeyViolation, _)
    )
}

impl From<DieselError> for Error {
    fn from(error: DieselError) -> Self {
        let detail = error.to_string();
        match classify(&error) {
            Fault::Retry | Fault::Lost => Error::Unavailable { detail },
            Fault::Stop => {
                log::error!("The database cannot be used as it is: {detail}{}", advised(&error));
                Error::Unavailable { detail }
            }
            Fault::Unstorable => Error::BadRequest {
                detail: "The database keeps no text with a NUL character, nor with one that its character set lacks."
                    .into(),
            },
            Fault::Refuse { .. } | Fault::Unknown => {
                // What a database says is for the operator; a client can do nothing with it.
                log::error!("The database refused a statement: {detail}");
                Error::Internal {
                    detail: "The database refused a statement; the log of placet has what it said.".into(),
                }
            }
        }
    }
}

/// Why there is no usable database: a line for whoever configures or starts placet.
#[derive(Debug, ThisError)]
pub enum SetupError {
    #[error(
        "the database connection '{url}' is none that placet knows; it reads sqlite:////path/to/file, postgresql://user:password@host/database and mysql://user:password@host/database"
    )]
    UnknownUrl { url: String },
    #[error("this placet was built without {what}: build it with `--features {feature}`")]
    NotBuiltIn { what: &'static str, feature: &'static str },
    #[error(
        "placet cannot check the name in a MariaDB server's certificate: give the authority that signs your servers alone, as ssl_ca=/path/to/file, instead of ssl_verify_identity, ssl_check_hostname or ssl_mode=VERIFY_IDENTITY"
    )]
    NoIdentity,
    #[error("a database in memory belongs to one connection alone; give a file, as sqlite:////path/to/file")]
    InMemory,
    #[error("there is no database at {place}: run `placet db sync`")]
    Missing { place: String },
    #[error("cannot open the database at {place}: {detail}{}", dialect::advice(.detail))]
    Connect { place: String, detail: String },
    #[error("another placet serves the database at {place}: stop it first, or give this one a database of its own")]
    Served { place: String },
    #[error("a thread of placet's own could not be started: {detail}")]
    Thread { detail: String },
    #[error("the database has no tables yet: run `placet db sync`")]
    NotSynced,
    #[error("the database lacks tables of this placet's version: run `placet db sync`")]
    NotCurrent,
    #[error(
        "the database is at alembic revision {found}, which this placet does not know; the newest that it knows is {}",
        super::migrate::ALEMBIC_HEAD
    )]
    OtherRevision { found: String },
    #[error(
        "the database is at alembic revision {found}, placet needs {}: run `placet db sync`",
        super::migrate::ALEMBIC_HEAD
    )]
    OldRevision { found: String },
    #[error(
        "the database is at several alembic revisions at once ({found}): another program upgraded it meanwhile. When none is at work any more, make it anew, or look which one its tables are at and run `placet db stamp REVISION`"
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
        "the database has tables but no alembic revision: it is not OpenStack Placement's, or its `placement-manage db sync` did not end yet; placet leaves it alone"
    )]
    Foreign,
    #[error("the database was made by a newer placet: migration {migration} is unknown to this one")]
    Newer { migration: String },
    #[error("the database failed: {0}{advice}", advice = advised(.0))]
    Database(#[from] DieselError),
    #[error("a migration failed: {0}")]
    Migration(String),
}

impl SetupError {
    /// Whether a server may answer later: not one that answered that it will not have us.
    pub fn may_pass(&self) -> bool {
        matches!(self, SetupError::Connect { detail, .. } if dialect::is_unreachable(detail))
    }
}

impl From<SetupError> for Error {
    fn from(error: SetupError) -> Self {
        Error::Unavailable {
            detail: error.to_string(),
        }
    }
}

/// What to do about an error, as `dialect::advice`.
fn advised(error: &DieselError) -> &'static str {
    dialect::advice(&error.to_string())
}
