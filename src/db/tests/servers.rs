//! What only a server does: many writers, sessions that end, schemas that are made piece by piece. On SQLite there is
//! nothing to test here.

use std::collections::BTreeSet;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::support::{Kind, TestDatabase};
use crate::db::engines::dialect::{self, Purpose};
use crate::db::engines::rows::{UpdateFromRows, Value};
use crate::db::fault::{Fault, classify};
use crate::db::schema::migrate::Synced;
use crate::db::schema::{resource_classes, traits};
use crate::db::{Database, DbConnection, Settings, SetupError};

/// A database with two traits, if it is on a server.
fn on_server() -> Option<(TestDatabase, Database, Kind)> {
    let kept = TestDatabase::empty();
    let database = Database::open(&Settings {
        lock_timeout: Duration::from_secs(20),
        ..Settings::new(&kept.url)
    })
    .expect("a URL");
    let kind = Kind::of(&database.connect_to(Purpose::Create).expect("a connection"));
    if kind == Kind::Sqlite {
        return None;
    }
    database.sync().expect("sync");
    let rows = "INSERT INTO traits (name) VALUES ('A'), ('B')";
    database
        .connect()
        .expect("a connection")
        .batch_execute(rows)
        .expect(rows);
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

/// What says which session it is.
fn session(kind: Kind) -> &'static str {
    match kind {
        Kind::Mariadb => "SELECT CAST(CONNECTION_ID() AS CHAR) AS t",
        _ => "SELECT pg_backend_pid()::text AS t",
    }
}

/// What ends it.
fn ending(kind: Kind, session: &str) -> String {
    match kind {
        Kind::Mariadb => format!("KILL {session}"),
        _ => format!("SELECT pg_terminate_backend({session})"),
    }
}

#[test]
fn a_deadlock_is_tried_again() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let faults: Vec<Fault> = std::thread::scope(|scope| {
        let one = |first: &'static str, second: &'static str| {
            let mut conn = database.connect().expect("a connection");
            scope.spawn(move || {
                dialect::begin_write(&mut conn).expect("begin");
                touch(&mut conn, first).expect("the first row is free");
                std::thread::sleep(Duration::from_millis(500));
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

/// On Galera nobody is told where another node's commit meets the closing of a statement: here it is undone in secret.
#[test]
fn nothing_of_a_transaction_that_was_undone_is_committed() {
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
    for end in [dialect::commit, dialect::abandon] {
        dialect::begin_write(&mut one).expect("begin");
        touch(&mut one, "A").expect("a row");
        one.batch_execute("ROLLBACK").expect("undone");
        touch(&mut one, "B").expect("a row");
        let error = end(&mut one).expect_err("it is not what was begun");
        assert_eq!(classify(&error), Fault::Retry, "{error}");
        assert!(dialect::was_undone(&error), "{error}");
        assert_eq!(untouched(&mut other), Ok(2_i64));
    }
    dialect::begin_write(&mut one).expect("begin");
    touch(&mut one, "A").expect("a row");
    dialect::commit(&mut one).expect("it is what was begun");
    touch(&mut one, "B").expect("a row");
    assert_eq!(
        untouched(&mut other),
        Ok(0_i64),
        "without a transaction a statement commits by itself"
    );
}

/// Two that move the same rows lock them in one order: on PostgreSQL whatever the order in which they are given.
#[test]
fn moves_of_the_same_rows_wait_for_each_other() {
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
    let forth: Vec<Vec<Value>> = ids.iter().map(|id| vec![Value::Int((*id).into())]).collect();
    if kind != Kind::Mariadb {
        ids.reverse();
    }
    let back: Vec<Vec<Value>> = ids.iter().map(|id| vec![Value::Int((*id).into())]).collect();
    std::thread::scope(|scope| {
        for rows in [forth, back] {
            let mut conn = database.connect().expect("a connection");
            scope.spawn(move || {
                for _ in 0..40 {
                    assert_eq!(TOUCH.run(&mut conn, dialect::now(), &rows), Ok(rows.len()));
                }
            });
        }
    });
}

/// Who registers while somebody waits to hold all writers is among those that are held.
#[test]
fn who_holds_the_writers_holds_those_that_just_registered() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let mut registering = database.connect().expect("a connection");
    dialect::begin_write(&mut registering).expect("begin");
    dialect::hold_registrations(&mut registering).expect("nobody else registers");
    let mut holding = database.connect().expect("a connection");
    let holder = std::thread::spawn(move || {
        dialect::begin_write(&mut holding).expect("begin");
        dialect::hold_writers(&mut holding).expect("held in the end");
        holding
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(!holder.is_finished(), "somebody registers");
    let row = "INSERT INTO placet_writers (id, revision, token, seen_at) VALUES ('new', 0, '', CURRENT_TIMESTAMP)";
    registering.batch_execute(row).expect(row);
    dialect::commit(&mut registering).expect("registered");
    let mut holding = holder.join().expect("no panic");
    dialect::set_lock_timeout(&mut registering, Duration::from_millis(100)).expect("less patience");
    let raise = "UPDATE placet_writers SET revision = 1 WHERE id = 'new'";
    let refused = registering.batch_execute(raise).expect_err("held");
    assert_eq!(classify(&refused), Fault::Retry, "{refused}");
    let insert = |conn: &mut DbConnection| {
        dialect::begin_write(conn).expect("begin");
        let held = dialect::hold_registrations(conn);
        dialect::rollback(conn).expect("rolled back");
        held
    };
    assert_eq!(
        insert(&mut registering).err().map(|error| classify(&error)),
        Some(Fault::Retry)
    );
    dialect::rollback(&mut holding).expect("let go");
    registering.batch_execute(raise).expect("free again");
    insert(&mut registering).expect("free again");
}

#[test]
fn a_lock_that_is_not_given_back_is_tried_again() {
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
fn a_session_that_was_ended_is_lost() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let (mut one, mut other) = (database.connect().expect("one"), database.connect().expect("another"));
    let end = ending(kind, &text(&mut one, session(kind)));
    other.batch_execute(&end).expect(&end);
    std::thread::sleep(Duration::from_millis(300));
    let error = touch(&mut one, "A").expect_err("it was ended");
    assert_eq!(classify(&error), Fault::ConnectionLost, "{error}");
    assert!(!dialect::is_alive(&mut one) && dialect::is_alive(&mut other));
}

#[test]
fn nobody_notices_that_readers_were_disconnected_a_moment_ago() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let asked = |conn: &mut DbConnection| Ok(try_text(conn, session(kind))?);
    // Three at once, so that there are three connections.
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
        let end = ending(kind, gone);
        other.batch_execute(&end).expect(&end);
    }
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..2 * sessions.len() {
        let found = database.read(asked).expect("another connection");
        assert!(!sessions.contains(&found), "{found} was ended");
    }
}

#[test]
fn a_writer_reads_what_is_committed_and_a_reader_one_moment() {
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
fn a_reader_refuses_to_write() {
    let Some((_kept, database, _)) = on_server() else {
        return;
    };
    let refused = database
        .read(|conn| Ok(touch(conn, "A")?))
        .expect_err("a reader that writes");
    assert!(matches!(refused, crate::error::Error::Unavailable { .. }), "{refused}");
    let mut reader = database.connect_to(Purpose::Read).expect("a connection");
    touch(&mut reader, "A").expect_err("a reader writes nothing outside of a transaction either");
}

#[test]
fn a_session_frees_its_rows_when_its_client_is_gone() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let sql = match kind {
        Kind::Mariadb => "SELECT CAST(@@idle_write_transaction_timeout AS CHAR) AS t",
        _ => "SELECT current_setting('idle_in_transaction_session_timeout') AS t",
    };
    let shown = text(&mut database.connect().expect("a connection"), sql);
    assert_eq!(shown.trim_end_matches('s'), "30");
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

/// MariaDB commits each table by itself; the others undo what was not finished.
#[test]
fn a_sync_that_was_interrupted_is_finished() {
    let kept = TestDatabase::empty();
    let database = kept.open();
    let conn = &mut database.connect_to(Purpose::Create).expect("a connection");
    if Kind::of(conn) != Kind::Mariadb {
        return;
    }
    conn.batch_execute(
        "CREATE TABLE placet_migrations (version VARCHAR(50) NOT NULL, run_at DATETIME(6) NOT NULL, PRIMARY KEY (version)); \
         CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, PRIMARY KEY (version_num))",
    )
    .expect("a beginning");
    assert!(matches!(database.check(), Err(SetupError::NotSynced)));
    assert_eq!(database.sync().expect("sync"), Synced::Created);
    database.check().expect("a current schema");
}

#[test]
fn a_server_that_does_not_answer_is_said_without_its_password() {
    for (url, built) in [
        ("postgresql://u:hunter2@127.0.0.1:1/d", cfg!(feature = "postgresql")),
        ("mysql+pymysql://u:hunter2@127.0.0.1:1/d", cfg!(feature = "mariadb")),
    ] {
        let settings = Settings {
            max_retries: 2,
            retry_interval: Duration::from_millis(50),
            ..Settings::new(url)
        };
        let begun = std::time::Instant::now();
        let refused = match Database::open(&settings) {
            Ok(database) => database.reach().expect_err("nobody is there"),
            Err(error) => error,
        };
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(matches!(refused, SetupError::Connect { .. }), built, "{shown}");
        assert_eq!(begun.elapsed() >= Duration::from_millis(50), built, "it is tried again");
    }
}
