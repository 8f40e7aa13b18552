//! Tests of database servers: concurrent writers, ended sessions, and schemas created table by table. On SQLite the
//! tests do nothing.

mod timeouts;

use std::collections::BTreeSet;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::support::{Kind, TestDatabase};
use crate::db::engines::dialect::{self, OpenMode};
use crate::db::engines::rows::{UpdateFromRows, Value};
use crate::db::fault::{Fault, classify};
use crate::db::schema::migrate::Synced;
use crate::db::schema::{resource_classes, traits};
use crate::db::{Database, DatabaseSettings, DbConnection, SetupError};

/// A database with two traits; `None` if the tests do not run on a server.
fn on_server() -> Option<(TestDatabase, Database, Kind)> {
    let (kept, _) = TestDatabase::synced();
    let database = Database::open(&DatabaseSettings {
        lock_timeout: Duration::from_secs(20),
        ..DatabaseSettings::new(&kept.url)
    })
    .expect("a URL");
    let mut conn = database.connect().expect("a connection");
    let kind = Kind::of(&conn);
    if kind == Kind::Sqlite {
        return None;
    }
    let rows = "INSERT INTO traits (name) VALUES ('A'), ('B')";
    conn.batch_execute(rows).expect(rows);
    Some((kept, database, kind))
}

fn touch(conn: &mut DbConnection, name: &str) -> QueryResult<usize> {
    diesel::update(traits::table.filter(traits::name.eq(name)))
        .set(traits::updated_at.eq(dialect::now()))
        .execute(conn)
}

fn text(conn: &mut DbConnection, sql: &str) -> String {
    try_text(conn, sql).expect(sql)
}

fn try_text(conn: &mut DbConnection, sql: &str) -> QueryResult<String> {
    #[derive(QueryableByName)]
    struct One {
        #[diesel(sql_type = diesel::sql_types::Text)]
        t: String,
    }
    Ok(diesel::sql_query(sql).get_result::<One>(conn)?.t)
}

/// The query for the session's id.
fn session_query(kind: Kind) -> &'static str {
    match kind {
        Kind::Mariadb => "SELECT CAST(CONNECTION_ID() AS CHAR) AS t",
        _ => "SELECT pg_backend_pid()::text AS t",
    }
}

/// The statement for ending a session. PostgreSQL answers when the session has ended.
fn kill_statement(kind: Kind, session: &str) -> String {
    match kind {
        Kind::Mariadb => format!("KILL {session}"),
        _ => format!("SELECT pg_terminate_backend({session}, 60000)"),
    }
}

#[test]
fn a_deadlock_is_a_fault_to_retry() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let both_hold_a_row = std::sync::Barrier::new(2);
    let faults: Vec<Fault> = std::thread::scope(|scope| {
        let one = |first: &'static str, second: &'static str| {
            let mut conn = database.connect().expect("a connection");
            let both_hold_a_row = &both_hold_a_row;
            scope.spawn(move || {
                dialect::begin_write(&mut conn).expect("begin");
                touch(&mut conn, first).expect("the first row is free");
                both_hold_a_row.wait();
                let result = touch(&mut conn, second);
                dialect::rollback(&mut conn).expect("rolled back");
                result.err().map(|error| classify(&error))
            })
        };
        let threads = [one("A", "B"), one("B", "A")];
        threads
            .into_iter()
            .filter_map(|it| it.join().expect("no panic"))
            .collect()
    });
    assert_eq!(faults, [Fault::Retry]);
}

/// On Galera the client gets no error if the commit of a second node undoes its transaction while a statement is
/// closed. Here a ROLLBACK without the connection's knowledge stands for this case.
#[test]
fn a_transaction_that_was_undone_without_an_error_is_not_committed() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    if kind != Kind::Mariadb {
        return;
    }
    let (mut one, mut other) = (database.connect().expect("one"), database.connect().expect("another"));
    let untouched = |conn: &mut DbConnection| {
        traits::table
            .filter(traits::updated_at.is_null())
            .count()
            .get_result(conn)
    };
    for end in [dialect::commit, dialect::checked_rollback] {
        dialect::begin_write(&mut one).expect("begin");
        touch(&mut one, "A").expect("a row");
        one.batch_execute("ROLLBACK").expect("undone");
        touch(&mut one, "B").expect("a row");
        let error = end(&mut one).expect_err("the transaction that began is gone");
        assert_eq!(classify(&error), Fault::Retry, "{error}");
        assert!(dialect::was_rolled_back(&error), "{error}");
        assert_eq!(untouched(&mut other), Ok(2_i64));
    }
    dialect::begin_write(&mut one).expect("begin");
    touch(&mut one, "A").expect("a row");
    dialect::commit(&mut one).expect("the transaction that began");
    touch(&mut one, "B").expect("a row");
    assert_eq!(
        untouched(&mut other),
        Ok(0_i64),
        "without a transaction a statement commits by itself"
    );
}

/// Two updates of the same rows lock the rows in the same order. On PostgreSQL the statement sorts the rows, so one
/// update gets the rows in reverse.
#[test]
fn concurrent_updates_of_the_same_rows_do_not_deadlock() {
    const TOUCH: UpdateFromRows = UpdateFromRows {
        table: "traits",
        columns: &["id"],
        set: "name = name, updated_at = {now}",
        filter: "traits.id = v.id",
    };
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let conn = &mut database.connect().expect("a connection");
    let names: Vec<_> = (0..400).map(|n| traits::name.eq(format!("CUSTOM_{n}"))).collect();
    crate::db::engines::dialect::insert_rows!(conn, traits::table, &names).expect("rows");
    let mut ids: Vec<i32> = traits::table
        .select(traits::id)
        .order(traits::id)
        .load(conn)
        .expect("ids");
    let ascending: Vec<Vec<Value>> = ids.iter().map(|id| vec![Value::Int((*id).into())]).collect();
    if kind != Kind::Mariadb {
        ids.reverse();
    }
    let other_order: Vec<Vec<Value>> = ids.iter().map(|id| vec![Value::Int((*id).into())]).collect();
    std::thread::scope(|scope| {
        for rows in [ascending, other_order] {
            let mut conn = database.connect().expect("a connection");
            scope.spawn(move || {
                for _ in 0..40 {
                    assert_eq!(TOUCH.run(&mut conn, dialect::now(), &rows), Ok(rows.len()));
                }
            });
        }
    });
}

/// The transaction that locks all writers' rows waits for a registration, and locks the new row too.
#[test]
fn locking_all_writers_includes_one_that_registers_at_the_same_time() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let mut registering = database.connect().expect("a connection");
    dialect::begin_write(&mut registering).expect("begin");
    dialect::hold_registrations(&mut registering).expect("there is no other registration");
    let mut holding = database.connect().expect("a connection");
    let holder = std::thread::spawn(move || {
        dialect::begin_write(&mut holding).expect("begin");
        dialect::hold_writers(&mut holding).expect("locked after the registration");
        holding
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(!holder.is_finished(), "it waits for the registration");
    let row = "INSERT INTO placet_writers (id, revision, token, seen_at) VALUES ('new', 0, '', CURRENT_TIMESTAMP)";
    registering.batch_execute(row).expect(row);
    dialect::commit(&mut registering).expect("registered");
    let mut holding = holder.join().expect("no panic");
    dialect::set_lock_timeout(&mut registering, Duration::from_millis(100)).expect("a setting");
    let raise = "UPDATE placet_writers SET revision = 1 WHERE id = 'new'";
    let refused = registering.batch_execute(raise).expect_err("the row is locked");
    assert_eq!(classify(&refused), Fault::Retry, "{refused}");
    let register = |conn: &mut DbConnection| {
        dialect::begin_write(conn).expect("begin");
        let held = dialect::hold_registrations(conn);
        dialect::rollback(conn).expect("rolled back");
        held
    };
    assert_eq!(
        register(&mut registering).err().map(|error| classify(&error)),
        Some(Fault::Retry)
    );
    dialect::rollback(&mut holding).expect("rolled back");
    registering.batch_execute(raise).expect("the row is free");
    register(&mut registering).expect("registrations are free");
}

#[test]
fn a_lock_timeout_is_a_fault_to_retry() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let (mut one, mut other) = (database.connect().expect("one"), database.connect().expect("another"));
    dialect::begin_write(&mut one).expect("begin");
    touch(&mut one, "A").expect("a row");
    dialect::set_lock_timeout(&mut other, Duration::from_millis(200)).expect("a setting");
    let error = touch(&mut other, "A").expect_err("it is locked");
    assert_eq!(classify(&error), Fault::Retry, "{error}");
}

#[test]
fn a_session_that_the_server_ended_is_a_lost_connection() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let (mut one, mut other) = (database.connect().expect("one"), database.connect().expect("another"));
    let end = kill_statement(kind, &text(&mut one, session_query(kind)));
    other.batch_execute(&end).expect(&end);
    std::thread::sleep(Duration::from_millis(300));
    let error = touch(&mut one, "A").expect_err("it was ended");
    assert_eq!(classify(&error), Fault::ConnectionLost, "{error}");
    assert!(!dialect::is_alive(&mut one) && dialect::is_alive(&mut other));
}

#[test]
fn a_read_after_all_sessions_were_ended_gets_a_new_one() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let asked = |conn: &mut DbConnection| Ok(try_text(conn, session_query(kind))?);
    // Three at the same time, so the pool opens three connections.
    let slow = |conn: &mut DbConnection| {
        std::thread::sleep(Duration::from_millis(100));
        asked(conn)
    };
    let sessions: BTreeSet<String> = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(|| database.read(slow).expect("a session")));
        threads.into_iter().map(|it| it.join().expect("no panic")).collect()
    });
    let mut other = database.connect().expect("a connection");
    for gone in &sessions {
        let end = kill_statement(kind, gone);
        other.batch_execute(&end).expect(&end);
    }
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..2 * sessions.len() {
        let found = database.read(asked).expect("another connection");
        assert!(!sessions.contains(&found), "{found} was ended");
    }
}

#[test]
fn a_writer_reads_what_is_committed_and_a_reader_sees_one_moment() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let count = |conn: &mut DbConnection| traits::table.count().get_result::<i64>(conn);
    let mut writer = database.connect().expect("a connection");
    let add = |name: &str| {
        diesel::insert_into(traits::table)
            .values(traits::name.eq(name))
            .execute(&mut database.connect().expect("another"))
            .expect("a row");
    };
    dialect::begin_write(&mut writer).expect("begin");
    assert_eq!(count(&mut writer), Ok(2));
    add("C");
    assert_eq!(count(&mut writer), Ok(3));
    dialect::rollback(&mut writer).expect("rolled back");
    let seen = database.read(|conn| {
        let before = count(conn)?;
        add("D");
        Ok((before, count(conn)?))
    });
    assert_eq!(seen, Ok((3, 3)));
}

#[test]
fn a_reader_cannot_write() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let refused = database
        .read(|conn| Ok(touch(conn, "A")?))
        .expect_err("a reader that writes");
    assert!(matches!(refused, crate::error::Error::Unavailable { .. }), "{refused}");
    let mut reader = database.connect_to(OpenMode::Read).expect("a connection");
    touch(&mut reader, "A").expect_err("a reader that writes outside of a transaction");
}

#[test]
fn a_class_may_have_the_id_zero() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let conn = &mut database.connect().expect("a connection");
    let row = (resource_classes::id.eq(0), resource_classes::name.eq("VCPU"));
    diesel::insert_into(resource_classes::table)
        .values(row)
        .execute(conn)
        .expect("a row");
    assert_eq!(resource_classes::table.select(resource_classes::id).first(conn), Ok(0));
}

/// Only on MariaDB, which commits each table by itself. SQLite and PostgreSQL roll an unfinished sync back.
#[test]
fn the_next_sync_finishes_an_interrupted_one() {
    let kept = TestDatabase::empty();
    let database = kept.open();
    let conn = &mut database.connect_to(OpenMode::Create).expect("a connection");
    if Kind::of(conn) != Kind::Mariadb {
        return;
    }
    conn.batch_execute(
        "CREATE TABLE placet_migrations (version VARCHAR(50) NOT NULL, run_at DATETIME(6) NOT NULL, PRIMARY KEY (version)); \
         CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, PRIMARY KEY (version_num))",
    )
    .expect("the first tables of a sync");
    assert!(matches!(database.check(), Err(SetupError::NotSynced)));
    assert_eq!(database.sync().expect("sync"), Synced::Created);
    database.check().expect("a current schema");
}

#[test]
fn an_error_about_an_unreachable_server_does_not_show_its_password() {
    for (url, built) in [
        ("postgresql://u:hunter2@127.0.0.1:1/d", cfg!(feature = "postgresql")),
        ("mysql+pymysql://u:hunter2@127.0.0.1:1/d", cfg!(feature = "mariadb")),
    ] {
        let settings = DatabaseSettings {
            max_retries: 2,
            retry_interval: Duration::from_millis(50),
            ..DatabaseSettings::new(url)
        };
        let begun = std::time::Instant::now();
        let refused = match Database::open(&settings) {
            Ok(database) => database.wait_until_reachable().expect_err("there is no server"),
            Err(error) => error,
        };
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(matches!(refused, SetupError::Connect { .. }), built, "{shown}");
        assert_eq!(begun.elapsed() >= Duration::from_millis(50), built, "a second attempt");
    }
}
