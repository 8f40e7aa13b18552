//! The precision with which an engine stores times and allocation ratios.

use chrono::{NaiveDateTime, Timelike, Utc};

use crate::db::DbConnection;

/// The precision of an engine. A value outlives its connection.
#[derive(Debug, Clone, Copy)]
pub enum Precision {
    /// Times have microseconds, and ratios have eight bytes.
    Fine,
    /// Times have seconds, and ratios have four bytes: MariaDB, with the column types of OpenStack.
    #[cfg(feature = "mariadb")]
    Coarse,
}

impl Precision {
    pub fn of(conn: &DbConnection) -> Precision {
        match conn {
            #[cfg(feature = "mariadb")]
            DbConnection::Mariadb(_) => Precision::Coarse,
            _ => Precision::Fine,
        }
    }

    /// The current time with the precision of OpenStack's tables.
    pub fn row_time(self) -> NaiveDateTime {
        match self {
            Precision::Fine => now(),
            #[cfg(feature = "mariadb")]
            Precision::Coarse => now().with_nanosecond(0).unwrap_or_default(),
        }
    }

    /// Restores the written allocation ratio from the ratio as read.
    pub fn ratio(self, read: f64) -> f64 {
        match self {
            Precision::Fine => read,
            #[cfg(feature = "mariadb")]
            Precision::Coarse => super::mariadb::ratio(read),
        }
    }
}

/// [`Precision::row_time`] of a connection's engine.
pub fn row_time(conn: &DbConnection) -> NaiveDateTime {
    Precision::of(conn).row_time()
}

/// [`Precision::ratio`] of a connection's engine.
pub fn ratio(conn: &DbConnection, read: f64) -> f64 {
    Precision::of(conn).ratio(read)
}

/// The current time in UTC, with microseconds.
///
/// The time is never a whole millisecond, so SQLite's text always has the six digits that Python writes and reads.
pub fn now() -> NaiveDateTime {
    let now = Utc::now().naive_utc();
    let mut micros = now.nanosecond() / 1_000;
    micros += u32::from(micros.is_multiple_of(1_000));
    now.with_nanosecond(micros * 1_000).unwrap_or(now)
}
