//! Why a batch was not committed, and what the writer may do about it.

use super::{Fault, SetupError, fault};
use crate::error::Error;

/// See the module.
pub(super) enum Failure {
    Database(diesel::result::Error),
    Setup(SetupError),
    /// Somebody else's change came between; nothing is wrong.
    Overtaken,
    /// COMMIT was sent, and whether it happened cannot be found out.
    Unknown(String),
    /// A defect of placet, met before COMMIT was sent.
    Panicked,
    /// A caller gave its command up before COMMIT was sent.
    GivenUp,
    /// The writer's own row is not as it left it: the tables are not those that it knew.
    Displaced,
    /// Others committed what this process has not followed yet; nothing was decided.
    Behind,
    /// A turn did not do: something is refused, or not known, and is to be decided on the database.
    Undecided,
}

impl From<diesel::result::Error> for Failure {
    fn from(error: diesel::result::Error) -> Self {
        Failure::Database(error)
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Failure::Setup(error)
    }
}

impl Failure {
    fn fault(&self) -> Option<Fault> {
        match self {
            Failure::Database(error) => Some(fault::classify(error)),
            _ => None,
        }
    }

    pub fn lost_connection(&self) -> bool {
        matches!(self.fault(), Some(Fault::Lost)) || matches!(self, Failure::Unknown(_))
    }

    pub fn may_be_tried_again(&self) -> bool {
        match self {
            Failure::Overtaken
            | Failure::GivenUp
            | Failure::Displaced
            | Failure::Behind
            | Failure::Undecided
            | Failure::Setup(SetupError::Connect { .. }) => true,
            Failure::Database(error) => matches!(fault::classify(error), Fault::Retry | Fault::Lost),
            _ => false,
        }
    }

    /// Whether another writer was there first, and the server or a guard said so at once.
    pub fn is_somebody_in_the_way(&self) -> bool {
        matches!(self, Failure::Overtaken | Failure::Behind | Failure::Undecided)
            || matches!(self.fault(), Some(Fault::Retry))
    }

    pub fn may_be_one_commands_fault(&self) -> bool {
        matches!(self, Failure::Panicked)
            || matches!(
                self.fault(),
                Some(Fault::Refuse { .. } | Fault::Unstorable | Fault::Unknown)
            )
    }

    /// What a caller is told who cannot wait for another try. Nothing was done.
    pub fn for_the_impatient(&self) -> Error {
        match self {
            Failure::Overtaken | Failure::Behind | Failure::Undecided => Error::Busy {
                detail: "Others kept changing the same rows.".to_owned(),
            },
            other => Error::Unavailable {
                detail: other.to_string(),
            },
        }
    }

    pub fn into_error(self) -> Error {
        match self {
            Failure::Database(error) => error.into(),
            Failure::Setup(error) => error.into(),
            Failure::Displaced | Failure::Overtaken | Failure::Behind | Failure::Undecided | Failure::GivenUp => {
                self.for_the_impatient()
            }
            Failure::Unknown(detail) => Error::UnknownOutcome { detail },
            Failure::Panicked => Error::Internal {
                detail: "The change met a defect of placet; nothing was done.".into(),
            },
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Database(error) => error.fmt(f),
            Failure::Setup(error) => error.fmt(f),
            Failure::Overtaken => f.write_str("others changed what it rests on"),
            Failure::Behind => f.write_str("others committed meanwhile"),
            Failure::Undecided => f.write_str("what is in memory does not decide it"),
            Failure::Unknown(detail) => f.write_str(detail),
            Failure::Panicked => f.write_str("it met a defect"),
            Failure::GivenUp => f.write_str("it was given up before it was done"),
            Failure::Displaced => f.write_str("it is not the one that it was"),
        }
    }
}
