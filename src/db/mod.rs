//! The database: connection, pool, schema, migrations, and the writer. Knows no noun's rules.

pub mod connection;
pub mod schema;

pub use connection::DbConnection;
