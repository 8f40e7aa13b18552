//! How exactly an engine keeps times and ratios.

use chrono::{NaiveDateTime, Timelike, Utc};

use crate::db::DbConnection;

/// See the module. It is known without a connection, once there was one.
#[derive(Debug, Clone, Copy)]
pub enum Precision {
    /// Times to the microsecond, and all eight bytes of a ratio.
    Fine,
    /// As MariaDB does with the columns that OpenStack gave them.
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

    /// This moment, as OpenStack's tables keep it: on MariaDB to the second.
    pub fn row_time(self) -> NaiveDateTime {
        match self {
            Precision::Fine => now(),
            #[cfg(feature = "mariadb")]
            Precision::Coarse => now().with_nanosecond(0).unwrap_or_default(),
        }
    }

    /// An allocation ratio as it was read, as it was written.
    pub fn ratio(self, read: f64) -> f64 {
        match self {
            Precision::Fine => read,
            #[cfg(feature = "mariadb")]
            Precision::Coarse => super::mariadb::ratio(read),
        }
    }
}

/// As [`Precision::row_time`], where there is a connection.
pub fn row_time(conn: &DbConnection) -> NaiveDateTime {
    Precision::of(conn).row_time()
}

/// As [`Precision::ratio`], where there is a connection.
pub fn ratio(conn: &DbConnection, read: f64) -> f64 {
    Precision::of(conn).ratio(read)
}

/// This moment: UTC, microseconds.
///
/// Never a whole millisecond, so that SQLite's text always has the six digits that Python writes and reads.
pub fn now() -> NaiveDateTime {
    let now = Utc::now().naive_utc();
    let micros = now.nanosecond() / 1_000;
    let micros = if micros.is_multiple_of(1_000) {
        micros + 1
    } else {
        micros
    };
    now.with_nanosecond(micros * 1_000).unwrap_or(now)
}
