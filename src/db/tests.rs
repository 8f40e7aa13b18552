//! Tests of `db` on a real database: an SQLite file, or the database of PLACET_TEST_DATABASE.

mod servers;
pub mod support;

use std::path::Path;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error as DieselError;
use diesel::sqlite::SqliteConnection;
use tempfile::TempDir;

use super::engines::dialect::{self, insert_rows};
use super::fault::{Fault, classify};
use super::schema::alembic::HEAD as ALEMBIC_HEAD;
use super::schema::migrate::{SchemaVersions, Synced, newest, own_migrations};
use super::schema::{alembic_version, resource_providers, traits};
use super::{Database, DatabaseSettings, DbConnection, SetupError};
use crate::error::Error;
use support::{Kind, TestDatabase};

fn url(path: &Path) -> String {
    format!("sqlite:///{}", path.display())
}

fn database(path: &Path) -> Database {
    let settings = DatabaseSettings {
        lock_timeout: Duration::from_millis(50),
        ..DatabaseSettings::new(url(path))
    };
    Database::open(&settings).expect("a URL that placet knows")
}

/// An SQLite file with the schema, in a directory that is deleted at the drop of the `TempDir`.
fn synced_file() -> (TempDir, Database) {
    let directory = tempfile::tempdir().expect("a directory");
    let database = database(&directory.path().join("placet.db"));
    assert_eq!(database.sync().expect("sync"), Synced::Created);
    (directory, database)
}

fn synced() -> (TestDatabase, Database) {
    TestDatabase::synced()
}

fn insert_provider(conn: &mut DbConnection, name: &str) -> QueryResult<usize> {
    diesel::insert_into(resource_providers::table)
        .values((resource_providers::uuid.eq(name), resource_providers::name.eq(name)))
        .execute(conn)
}

#[test]
fn only_sync_creates_a_missing_database() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("placet.db");
    let database = database(&path);
    assert!(matches!(database.check(), Err(SetupError::Missing { .. })));
    assert!(matches!(database.connect(), Err(SetupError::Missing { .. })));
    assert_eq!(database.version().expect("version"), SchemaVersions::default());
    assert!(!path.exists());

    assert_eq!(database.sync().expect("sync"), Synced::Created);
    database.check().expect("a current schema");
    let version = database.version().expect("version");
    assert_eq!(version.alembic.as_deref(), Some(ALEMBIC_HEAD));
    assert_eq!(version.placet.as_deref(), newest());
    assert_eq!(database.sync().expect("sync again"), Synced::Current);
}

#[test]
fn migrations_are_numbered_without_gaps() {
    let versions: Vec<&str> = own_migrations().map(|(version, _)| version).collect();
    let numbers: Vec<String> = (1..=versions.len()).map(|number| format!("{number:04}")).collect();
    assert_eq!(versions, numbers);
    assert!(versions.len() >= 7, "{versions:?}");
}

#[test]
fn dropped_tables_are_made_again_by_the_next_sync() {
    let (_kept, database) = synced();
    let tables = || dialect::table_names(&mut database.connect().expect("a connection")).expect("tables");
    let all = tables();
    let own = all.iter().filter(|table| table.starts_with("placet_")).count();
    assert_eq!(database.drop_own_tables().expect("dropped"), own);
    assert_eq!(tables().len(), all.len() - own);
    assert!(matches!(database.check(), Err(SetupError::NotCurrent)));
    assert_eq!(database.sync().expect("sync"), Synced::Adopted);
    database.check().expect("a current schema");
}

#[test]
fn an_empty_file_counts_as_not_synced() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("placet.db");
    std::fs::write(&path, b"").expect("an empty file");
    let database = database(&path);
    assert!(matches!(database.check(), Err(SetupError::NotSynced)));
    assert_eq!(database.sync().expect("sync"), Synced::Created);
}

#[test]
fn an_upstream_database_is_adopted_with_its_rows() {
    let kept = TestDatabase::empty();
    let database = kept.open();
    let mut upstream = database.connect_to(dialect::OpenMode::Create).expect("a connection");
    let schema = match upstream {
        DbConnection::Sqlite(_) => include_str!("../../migrations/sqlite/openstack/a082b8bb98d0_head/up.sql"),
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => include_str!("../../migrations/postgresql/openstack/a082b8bb98d0_head/up.sql"),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => include_str!("../../migrations/mariadb/openstack/a082b8bb98d0_head/up.sql"),
    };
    upstream.batch_execute(schema).expect("the schema");
    upstream
        .batch_execute("INSERT INTO traits (name) VALUES ('CUSTOM_KEPT')")
        .expect("a row");
    drop(upstream);

    assert!(matches!(database.check(), Err(SetupError::NotCurrent)));
    assert_eq!(database.sync().expect("sync"), Synced::Adopted);
    database.check().expect("a current schema");
    let kept: Vec<String> = database
        .read(|conn| Ok(traits::table.select(traits::name).load(conn)?))
        .expect("traits");
    assert_eq!(kept, ["CUSTOM_KEPT"]);
}

#[test]
fn an_unknown_schema_is_refused_and_left_unchanged() {
    let refusal = |sql: &str| {
        let (_directory, database) = synced();
        database.connect().expect("a connection").batch_execute(sql).expect(sql);
        let tables = || dialect::table_names(&mut database.connect().expect("a connection")).expect("tables");
        let before = tables();
        let checked = database.check().expect_err("checked").to_string();
        let refused = database.sync().expect_err("refused");
        assert_eq!((refused.to_string(), tables()), (checked, before));
        refused
    };
    let other = refusal("UPDATE alembic_version SET version_num = '0123456789ab'");
    assert!(
        other.to_string().contains("0123456789ab") && other.to_string().contains(ALEMBIC_HEAD),
        "{other}"
    );
    assert!(matches!(refusal("DROP TABLE alembic_version"), SetupError::Foreign));
    assert!(matches!(refusal("DELETE FROM alembic_version"), SetupError::Foreign));
    let newer = "INSERT INTO placet_migrations (version, run_at) VALUES ('9999', '2026-01-01 00:00:00')";
    assert!(matches!(refusal(newer), SetupError::Newer { migration } if migration == "9999"));
}

#[test]
fn concurrent_syncs_create_one_schema() {
    let kept = TestDatabase::empty();
    let created = std::thread::scope(|scope| {
        let sync = || kept.open().sync().expect("sync");
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(sync)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .filter(|it| *it == Synced::Created)
            .count()
    });
    assert_eq!(created, 1);
    kept.open().check().expect("a current schema");
}

#[test]
fn a_file_without_wal_is_opened_after_the_write_that_is_in_progress() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("theirs.db");
    let database = Database::open(&DatabaseSettings::new(url(&path))).expect("a URL that placet knows");
    let mut other = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    // placet's attempts to switch the file to WAL block a COMMIT for a moment, so this connection waits for locks too.
    other
        .batch_execute(
            "PRAGMA busy_timeout = 10000; CREATE TABLE theirs (id INTEGER); \
             BEGIN IMMEDIATE; INSERT INTO theirs VALUES (1)",
        )
        .expect("a transaction");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| database.connect().map(drop));
        std::thread::sleep(Duration::from_millis(200));
        other.batch_execute("COMMIT").expect("a commit");
        waiting.join().expect("no panic").expect("a connection");
    });
}

#[test]
fn a_writer_is_durable_and_checks_foreign_keys_and_a_reader_cannot_write() {
    let (_directory, database) = synced_file();
    let pragma = |conn: &mut DbConnection, name: &str| {
        #[derive(QueryableByName)]
        struct Pragma {
            #[diesel(sql_type = diesel::sql_types::Text)]
            it: String,
        }
        let sql = format!("SELECT CAST({name} AS TEXT) AS it FROM pragma_{name}");
        diesel::sql_query(sql).get_result::<Pragma>(conn).expect(name).it
    };
    let writer = &mut database.connect().expect("a connection");
    assert_eq!(pragma(writer, "journal_mode"), "wal");
    assert_eq!(pragma(writer, "synchronous"), "2");
    assert_eq!(pragma(writer, "foreign_keys"), "1");
    let refused = database
        .read(|conn| Ok(insert_provider(conn, "p")?))
        .expect_err("a reader that writes");
    assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
}

#[test]
fn a_read_sees_one_moment() {
    let (_directory, database) = synced();
    let count = |conn: &mut DbConnection| resource_providers::table.count().get_result::<i64>(conn);
    let seen = database.read(|conn| {
        let before = count(conn)?;
        insert_provider(&mut database.connect()?, "concurrent")?;
        Ok((before, count(conn)?))
    });
    assert_eq!(seen, Ok((0, 0)));
    assert_eq!(database.read(|conn| Ok(count(conn)?)), Ok(1));
}

#[test]
fn many_rows_are_inserted_by_one_statement() {
    #[derive(Insertable)]
    #[diesel(table_name = traits, treat_none_as_default_value = false)]
    struct New {
        name: String,
        updated_at: Option<chrono::NaiveDateTime>,
    }
    let (_directory, database) = synced();
    let conn = &mut database.connect().expect("a connection");
    let rows: Vec<_> = (0..100)
        .map(|n| New {
            name: format!("CUSTOM_{n}"),
            updated_at: None,
        })
        .collect();
    let before = database.statements();
    assert_eq!(insert_rows!(conn, traits::table, &rows), Ok(100));
    assert_eq!(insert_rows!(conn, traits::table, &rows[..0]), Ok(0));
    insert_rows!(conn, traits::table, &rows, or_ignore).expect("all are there already");
    assert_eq!(database.statements() - before, 2);
    assert_eq!(traits::table.count().get_result(conn), Ok(100_i64));
}

#[test]
fn a_list_that_is_too_long_for_one_statement_is_split() {
    let (_directory, database) = synced();
    let ids: Vec<i32> = (0..70_000).collect();
    let query = |conn: &mut DbConnection| {
        insert_provider(conn, "only")?;
        dialect::in_lists(&ids, |ids| {
            resource_providers::table
                .filter(resource_providers::id.eq_any(ids))
                .select(resource_providers::id)
                .load(conn)
        })
    };
    assert_eq!(query(&mut database.connect().expect("a connection")), Ok(vec![1]));
}

#[test]
fn a_locked_database_is_a_fault_to_retry() {
    let (_directory, database) = synced_file();
    let (mut one, mut other) = (database.connect().expect("one"), database.connect().expect("another"));
    dialect::begin_write(&mut one).expect("the lock");
    let error = dialect::begin_write(&mut other).expect_err("no lock");
    assert_eq!(classify(&error), Fault::Retry, "{error}");
    assert_eq!(
        classify(&insert_provider(&mut other, "p").expect_err("no lock")),
        Fault::Retry
    );
    assert!(matches!(Error::from(error), Error::Unavailable { .. }));
    dialect::rollback(&mut one).expect("rolled back");
    insert_provider(&mut other, "p").expect("the lock is free");
}

#[test]
fn a_row_that_a_constraint_refuses_is_a_fault_of_its_command() {
    let (_directory, database) = synced();
    let conn = &mut database.connect().expect("a connection");
    let twice = |columns: &str, values: &str| format!("INSERT INTO {columns} VALUES ({values}), ({values})");
    let inventory = "inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
                     step_size, allocation_ratio)";
    let pair = "resource_provider_aggregates (resource_provider_id, aggregate_id)";
    let dangling = "INSERT INTO resource_provider_traits (trait_id, resource_provider_id) VALUES (7, 7)";
    for sql in [
        twice("traits (name)", "'A'"),
        twice("projects (external_id)", "'A'"),
        twice("resource_classes (id, name)", "1, 'A'"),
        twice(inventory, "1, 1, 1, 1, 1, 1, 1, 1.0"),
        twice(pair, "1, 1"),
        dangling.to_owned(),
    ] {
        // diesel classifies errors of prepared statements only.
        let error = diesel::sql_query(&sql).execute(conn).expect_err(&sql);
        assert_eq!(classify(&error), Fault::Refuse, "{sql}: {error}");
    }
}

#[test]
fn a_full_read_only_or_broken_database_stops_the_writer() {
    let (directory, database) = synced_file();
    let path = directory.path().join("placet.db");
    let fault = |conn: &mut SqliteConnection, sql: &str| classify(&conn.batch_execute(sql).expect_err(sql));
    let filler = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                  INSERT INTO traits (name) SELECT 'CUSTOM_' || i FROM n";

    let mut full = SqliteConnection::establish(&path.to_string_lossy()).expect("a connection");
    full.batch_execute("PRAGMA max_page_count = 60").expect("a limit");
    assert_eq!(fault(&mut full, filler), Fault::Stop);
    let conn = &mut DbConnection::Sqlite(full);
    let _ = dialect::begin_write(conn).and_then(|()| conn.batch_execute(filler));
    dialect::rollback(conn).expect("SQLite rolled back by itself, which is no error");

    let uri = format!("file:{}?mode=ro", path.display());
    let mut read_only = SqliteConnection::establish(&uri).expect("a connection");
    assert_eq!(fault(&mut read_only, "DELETE FROM traits"), Fault::Stop);
    drop((database, read_only));

    std::fs::write(&path, vec![b'x'; 8192]).expect("garbage");
    let mut garbage = SqliteConnection::establish(&path.to_string_lossy()).expect("a connection");
    assert_eq!(fault(&mut garbage, "SELECT * FROM traits"), Fault::Stop);
}

#[test]
fn an_unknown_error_is_never_retried() {
    let (_directory, database) = synced();
    let error = database
        .connect()
        .expect("a connection")
        .batch_execute("SELEC")
        .expect_err("no SQL");
    assert_eq!(classify(&error), Fault::Unknown);
    assert!(matches!(Error::from(error), Error::Internal { .. }));
    assert_eq!(classify(&DieselError::NotFound), Fault::Unknown);
}

#[test]
fn times_are_written_as_python_writes_them() {
    for _ in 0..1_000 {
        let text = dialect::now().format("%F %T%.f").to_string();
        assert_eq!(text.len(), "2026-01-01 00:00:00.000001".len(), "{text}");
    }
    let (_directory, database) = synced();
    let conn = &mut database.connect().expect("a connection");
    let now = dialect::row_time(conn);
    diesel::insert_into(traits::table)
        .values((traits::name.eq("A"), traits::created_at.eq(now)))
        .execute(conn)
        .expect("a row");
    assert_eq!(traits::table.select(traits::created_at).first(conn), Ok(Some(now)));
    assert_eq!(alembic_version::table.count().get_result(conn), Ok(1_i64));
}

#[test]
fn a_read_transaction_that_cannot_begin_leaves_no_transaction_open() {
    let (_kept, database) = synced();
    let conn = &mut database.connect().expect("a connection");
    let kind = Kind::of(conn);
    if !matches!(kind, Kind::Sqlite | Kind::Mariadb) {
        return; // PostgreSQL takes BEGIN within a transaction, with a warning.
    }
    let read = |conn: &mut DbConnection| {
        dialect::read_transaction(conn, |conn| alembic_version::table.count().get_result::<i64>(conn))
    };
    conn.batch_execute("BEGIN").expect("a transaction");
    let error = read(conn).expect_err("there is one already");
    assert!(
        kind == Kind::Sqlite || classify(&error) == Fault::ConnectionLost,
        "{error}"
    );
    assert_eq!(read(conn), Ok(1));
}
