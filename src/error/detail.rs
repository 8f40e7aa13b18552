//! The part of a sentence for a client, and the addition for the log.

use std::borrow::Cow;
use std::fmt;

/// A part of a sentence for a client. The message of a driver is hidden from clients, because the message may have the
/// address of the database, a user or a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    shown: Cow<'static, str>,
    hidden: Option<String>,
}

impl Detail {
    /// `shown` is for clients, `hidden` for the log.
    pub fn hiding(shown: &'static str, hidden: impl fmt::Display) -> Detail {
        Detail {
            shown: Cow::Borrowed(shown),
            hidden: Some(hidden.to_string()),
        }
    }

    /// The addition for the log.
    pub fn hidden(&self) -> Option<&str> {
        self.hidden.as_deref()
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Detail {
    fn from(shown: T) -> Detail {
        Detail {
            shown: shown.into(),
            hidden: None,
        }
    }
}

/// For clients.
impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}
