//! A database of its own for each test: an SQLite file, or one on the server that PLACET_TEST_DATABASE names.

use diesel::connection::SimpleConnection;
use tempfile::TempDir;
use uuid::Uuid;

use crate::db::connect::url;
use crate::db::engines::dialect::{self, Purpose};
use crate::db::{Database, DatabaseSettings, DbConnection};

/// The engine of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    #[cfg(feature = "postgresql")]
    Postgresql,
    Mariadb,
}

impl Kind {
    pub fn of(conn: &DbConnection) -> Kind {
        match conn {
            DbConnection::Sqlite(_) => Kind::Sqlite,
            #[cfg(feature = "postgresql")]
            DbConnection::Postgresql(_) => Kind::Postgresql,
            #[cfg(feature = "mariadb")]
            DbConnection::Mariadb(_) => Kind::Mariadb,
        }
    }
}

/// A test's database, which is deleted when this is dropped.
pub struct TestDatabase {
    pub url: String,
    kept: Kept,
}

enum Kept {
    File(#[expect(dead_code, reason = "dropping it deletes the directory")] TempDir),
    OnServer { server: String, name: String },
}

/// The URL of an existing database on a server, if the tests run on one.
fn server() -> Option<String> {
    std::env::var("PLACET_TEST_DATABASE")
        .ok()
        .filter(|url| !url.starts_with("sqlite"))
}

/// Whether the tests' database stores times with microseconds; MariaDB's tables store seconds.
pub fn keeps_microseconds() -> bool {
    server().is_none_or(|server| server.starts_with("postgres"))
}

impl TestDatabase {
    /// A database without tables.
    pub fn empty() -> TestDatabase {
        match server() {
            Some(server) => TestDatabase::on(server),
            None => TestDatabase::file(),
        }
    }

    /// An SQLite file, even if the other tests run on a server.
    pub fn file() -> TestDatabase {
        let folder = tempfile::tempdir().expect("a directory");
        TestDatabase {
            url: format!("sqlite:///{}", folder.path().join("placet.sqlite").display()),
            kept: Kept::File(folder),
        }
    }

    fn on(server: String) -> TestDatabase {
        let name = format!("placet_test_{}", Uuid::new_v4().simple());
        administer(&server, &format!("CREATE DATABASE {name}"));
        let (place, options) = server.split_once('?').unwrap_or((&server, ""));
        let (place, _) = place.rsplit_once('/').expect("a URL with a database");
        TestDatabase {
            url: format!("{place}/{name}?{options}"),
            kept: Kept::OnServer { server, name },
        }
    }

    /// A database with all tables.
    pub fn synced() -> (TestDatabase, Database) {
        let it = TestDatabase::empty();
        let database = it.open();
        database.sync().expect("sync");
        (it, database)
    }

    pub fn open(&self) -> Database {
        Database::open(&DatabaseSettings::new(&self.url)).expect("a URL that placet knows")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Kept::OnServer { server, name } = &self.kept {
            let force = if server.starts_with("postgres") {
                " WITH (FORCE)"
            } else {
                ""
            };
            administer(server, &format!("DROP DATABASE {name}{force}"));
        }
    }
}

fn administer(server: &str, sql: &str) {
    let target = url::parse(server).expect("PLACET_TEST_DATABASE is a URL");
    let mut conn: DbConnection =
        dialect::connect(&target, Purpose::Write, std::time::Duration::from_secs(30)).expect("the server");
    conn.batch_execute(sql).expect(sql);
}
