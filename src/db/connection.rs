//! The one connection type. Nouns write their queries over it; what differs between databases is in `dialect`.

use diesel::MultiConnection;
use diesel::sqlite::SqliteConnection;

/// A connection to the database that the configuration names.
#[derive(MultiConnection)]
pub enum DbConnection {
    Sqlite(SqliteConnection),
}
