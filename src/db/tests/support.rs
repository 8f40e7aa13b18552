//! A database of its own for each test: an SQLite file, or a database on the server of PLACET_TEST_DATABASE.

use std::sync::LazyLock;

use diesel::connection::SimpleConnection;
use tempfile::TempDir;
use uuid::Uuid;

use crate::db::connect::url;
use crate::db::engines::dialect::{self, OpenMode};
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

/// An SQLite file with all tables.
static SYNCED_FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (made, database) = TestDatabase::file().sync();
    // The last connection takes the pages of the log into the file.
    drop(database);
    std::fs::read(made.path()).expect("the file")
});

/// The name of a database with all tables on PostgreSQL. The database stays on the server, which ends with the tests.
static SYNCED_TEMPLATE: LazyLock<String> = LazyLock::new(|| {
    let (made, _) = TestDatabase::empty().sync();
    let made = std::mem::ManuallyDrop::new(made);
    match &made.kept {
        Kept::OnServer { name, .. } => name.clone(),
        Kept::File(_) => unreachable!("only PostgreSQL has templates"),
    }
});

/// Prints placet's logged errors: the answer to a refused statement does not have the reason.
struct ErrorPrinter;

impl log::Log for ErrorPrinter {
    fn enabled(&self, line: &log::Metadata<'_>) -> bool {
        line.level() == log::Level::Error
    }

    fn log(&self, line: &log::Record<'_>) {
        if self.enabled(line.metadata()) {
            eprintln!("{}: {}", line.target(), line.args());
        }
    }

    fn flush(&self) {}
}

/// The URL of an existing database on a server, if the tests run on a server.
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
            Some(server) => TestDatabase::on(server, ""),
            None => TestDatabase::file(),
        }
    }

    /// An SQLite file, even if the tests run on a server.
    pub fn file() -> TestDatabase {
        let folder = tempfile::tempdir().expect("a directory");
        TestDatabase {
            url: format!("sqlite:///{}", folder.path().join("placet.sqlite").display()),
            kept: Kept::File(folder),
        }
    }

    /// A new database on the server; `copy` names the database to copy.
    fn on(server: String, copy: &str) -> TestDatabase {
        if log::set_logger(&ErrorPrinter).is_ok() {
            log::set_max_level(log::LevelFilter::Error);
        }
        let name = format!("placet_test_{}", Uuid::new_v4().simple());
        administer(&server, &format!("CREATE DATABASE {name}{copy}"));
        let (place, options) = server.split_once('?').unwrap_or((&server, ""));
        let (place, _) = place.rsplit_once('/').expect("a URL with a database");
        TestDatabase {
            url: format!("{place}/{name}?{options}"),
            kept: Kept::OnServer { server, name },
        }
    }

    /// A database with all tables. On SQLite and PostgreSQL the database is a copy, because the migrations take longer
    /// than most tests.
    pub fn synced() -> (TestDatabase, Database) {
        match server() {
            None => {
                let made = TestDatabase::file();
                std::fs::write(made.path(), &*SYNCED_FILE).expect("a file");
                let database = made.open();
                (made, database)
            }
            Some(server) if server.starts_with("postgres") => {
                let made = TestDatabase::on(server, &format!(" TEMPLATE {}", *SYNCED_TEMPLATE));
                let database = made.open();
                (made, database)
            }
            Some(_) => TestDatabase::empty().sync(),
        }
    }

    fn sync(self) -> (TestDatabase, Database) {
        let database = self.open();
        database.sync().expect("sync");
        (self, database)
    }

    /// The path of the SQLite file.
    fn path(&self) -> &str {
        self.url.strip_prefix("sqlite:///").expect("an SQLite file")
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
        dialect::connect(&target, OpenMode::Write, std::time::Duration::from_secs(30)).expect("the server");
    conn.batch_execute(sql).expect(sql);
}
