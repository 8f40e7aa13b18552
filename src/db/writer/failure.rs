//! Why an attempt to commit a batch failed, and how the writer and the caller go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::db::engines::dialect::{self, WriteRefusal};
use crate::db::{Fault, SetupError, WriteError, fault};
use crate::error::{Detail, Error};

/// The pause before a batch or a connection attempt is retried.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The result of a step of an attempt.
pub(super) type BatchResult<T> = Result<T, BatchFailure>;

/// Why an attempt to commit a batch failed. The `Display` is for the log.
#[derive(Debug, thiserror::Error)]
pub(in crate::db) enum BatchFailure {
    #[error(transparent)]
    Database(#[from] diesel::result::Error),
    #[error(transparent)]
    Setup(SetupError),
    /// A concurrent writer changed rows of the batch: decide again.
    #[error("another writer changed the same rows")]
    Conflict,
    /// As a conflict. Met again and again, the command itself is the cause.
    #[error("another writer may have written the row first: {0}")]
    Constraint(diesel::result::Error),
    /// COMMIT was sent, and its outcome could not be determined.
    #[error("{}", for_log(.0))]
    UnknownOutcome(Detail),
    /// A defect of placet, met before COMMIT was sent.
    #[error("a defect of placet")]
    Panicked,
    /// A caller cancelled its command before COMMIT was sent.
    #[error("a caller stopped waiting for its command")]
    Cancelled,
    /// The writer's row is not as this writer left the row: the database was restored, or the row was pruned.
    #[error("the writer's row changed (restored backup?)")]
    IdentityLost,
    /// The snapshot lacks commits of peers. Nothing was decided.
    #[error("another process committed first, and its changes are read now")]
    Stale,
    /// The locked strategy could not decide on the snapshot: a command needs data from the database.
    #[error("the snapshot is not enough to decide it, so the database decides")]
    NeedsDatabase,
}

fn for_log(detail: &Detail) -> String {
    detail.hidden().map_or_else(|| detail.to_string(), str::to_owned)
}

/// Why the database refuses writes, if an error says so. A constraint's message has values of clients, and is not read.
pub(super) fn write_refusal(error: &diesel::result::Error) -> Option<WriteRefusal> {
    match fault::classify(error) {
        Fault::Refuse | Fault::Retry | Fault::Unstorable => None,
        Fault::ConnectionLost | Fault::Stop | Fault::Unknown => dialect::write_refusal(&error.to_string()),
    }
}

/// Runs code that may panic because of a defect, which must not end the writer.
pub(super) fn catch_panic<T>(run: impl FnOnce() -> T) -> BatchResult<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| BatchFailure::Panicked)
}

impl From<WriteError> for BatchFailure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Database(error) => BatchFailure::Database(error),
            WriteError::Conflict => BatchFailure::Conflict,
            WriteError::Constraint(error) => BatchFailure::Constraint(error),
        }
    }
}

impl From<SetupError> for BatchFailure {
    /// A connection may be lost during the set-up, and a second attempt may succeed.
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Database(error) if fault::classify(&error) == Fault::ConnectionLost => error.into(),
            error => BatchFailure::Setup(error),
        }
    }
}

impl BatchFailure {
    fn fault(&self) -> Option<Fault> {
        match self {
            BatchFailure::Database(error) => Some(fault::classify(error)),
            _ => None,
        }
    }

    pub fn is_connection_lost(&self) -> bool {
        matches!(self.fault(), Some(Fault::ConnectionLost)) || matches!(self, BatchFailure::UnknownOutcome(_))
    }

    /// Whether an embedded database found its disk full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, BatchFailure::Database(error) if dialect::is_disk_full(error))
    }

    /// Why the database refuses writes, if the failure says so.
    pub fn write_refusal(&self) -> Option<WriteRefusal> {
        match self {
            BatchFailure::Database(error) => write_refusal(error),
            BatchFailure::Setup(error) => dialect::write_refusal(&error.to_string()),
            BatchFailure::UnknownOutcome(detail) => dialect::write_refusal(detail.hidden()?),
            _ => None,
        }
    }

    /// Whether a concurrent transaction held a row for longer than a batch waits.
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, BatchFailure::Database(error) if dialect::is_lock_timeout(error))
    }

    /// Whether a further attempt may succeed. The set-up of a connection may time out, as on Galera while a node
    /// leaves.
    pub fn is_retryable(&self) -> bool {
        match self {
            BatchFailure::Conflict
            | BatchFailure::Constraint(_)
            | BatchFailure::Cancelled
            | BatchFailure::IdentityLost
            | BatchFailure::Stale
            | BatchFailure::NeedsDatabase
            | BatchFailure::Setup(SetupError::Connect { .. }) => true,
            BatchFailure::Setup(SetupError::Database(error)) => fault::classify(error) == Fault::Retry,
            BatchFailure::Database(error) => matches!(fault::classify(error), Fault::Retry | Fault::ConnectionLost),
            _ => false,
        }
    }

    /// Whether a concurrent writer was first, and the database or a guard said so without delay. The retry needs no
    /// pause.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            BatchFailure::Conflict | BatchFailure::Constraint(_) | BatchFailure::Stale | BatchFailure::NeedsDatabase
        ) || matches!(self.fault(), Some(Fault::Retry))
    }

    pub fn may_be_caused_by_one_command(&self) -> bool {
        matches!(self, BatchFailure::Panicked)
            || matches!(self.fault(), Some(Fault::Refuse | Fault::Unstorable | Fault::Unknown))
    }

    /// The answer to a caller whose deadline passed before a further attempt. Nothing was done.
    pub fn timeout_error(&self) -> Error {
        let detail = match self {
            BatchFailure::Conflict
            | BatchFailure::Constraint(_)
            | BatchFailure::Stale
            | BatchFailure::NeedsDatabase => {
                return Error::Busy {
                    detail: "Other writers kept changing the same rows.".to_owned(),
                };
            }
            BatchFailure::Cancelled => "its caller stopped waiting before COMMIT".into(),
            other => other.detail(),
        };
        Error::Unavailable { detail }
    }

    /// The failure, for a client and for the log.
    pub fn detail(&self) -> Detail {
        match self {
            BatchFailure::Database(error) | BatchFailure::Constraint(error) => fault::detail(error),
            BatchFailure::Setup(error) => error.detail(),
            BatchFailure::UnknownOutcome(detail) => detail.clone(),
            other => other.to_string().into(),
        }
    }

    pub fn into_error(self) -> Error {
        match self {
            BatchFailure::Database(error) | BatchFailure::Constraint(error) => error.into(),
            BatchFailure::Setup(error) => error.into(),
            BatchFailure::UnknownOutcome(detail) => Error::UnknownOutcome { detail },
            BatchFailure::Panicked => Error::Internal {
                detail: "The request met a defect of placet; nothing was done.".into(),
            },
            conflict => conflict.timeout_error(),
        }
    }
}

#[cfg(test)]
mod tests {
    use diesel::result::{DatabaseErrorKind, Error as DieselError};

    use super::*;

    fn failure_of_setup(message: &str) -> BatchFailure {
        let error = DieselError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned()));
        SetupError::Database(error).into()
    }

    #[test]
    fn the_set_up_of_a_connection_is_repeated_after_a_loss_or_a_lock_timeout() {
        for lost in [
            "Connection was killed",
            "terminating connection due to administrator command",
        ] {
            let failure = failure_of_setup(lost);
            assert!(failure.is_connection_lost() && failure.is_retryable(), "{lost}");
        }
        let timed_out = failure_of_setup("Lock wait timeout exceeded; try restarting transaction");
        assert!(timed_out.is_retryable() && !timed_out.is_connection_lost() && !timed_out.is_conflict());
        let refused = failure_of_setup("Access denied; you need the SUPER privilege");
        assert!(!refused.is_retryable() && !refused.may_be_caused_by_one_command());
    }

    #[test]
    fn found_n7_no_error_quotes_the_driver_to_a_client_and_each_does_to_the_log() {
        for message in [
            "connection to server at \"192.0.2.7\", port 5432 failed: Connection refused",
            "Lost connection to server at '192.0.2.7' 5432",
            "database or disk is full: 192.0.2.7 5432",
            "canceling statement due to lock timeout 192.0.2.7 5432",
            "a message that is not known: 192.0.2.7 5432",
        ] {
            let database =
                || DieselError::DatabaseError(DatabaseErrorKind::UnableToSendCommand, Box::new(message.to_owned()));
            let connect = || SetupError::Connect {
                place: "postgresql://placet@192.0.2.7:5432/placet".to_owned(),
                detail: message.to_owned(),
            };
            let in_doubt = BatchFailure::UnknownOutcome(BatchFailure::from(connect()).detail());
            for error in [
                Error::from(database()),
                Error::from(connect()),
                Error::from(SetupError::from(database())),
                BatchFailure::from(database()).timeout_error(),
                BatchFailure::from(connect()).timeout_error(),
                BatchFailure::from(connect()).into_error(),
                in_doubt.into_error(),
            ] {
                assert!(!error.to_string().contains("5432"), "{error}");
                assert!(error.for_log().contains("5432"), "{}", error.for_log());
                assert!(
                    error.log_reason().is_some_and(|text| text.contains("192.0.2.7")),
                    "{error}"
                );
            }
        }
    }
}
