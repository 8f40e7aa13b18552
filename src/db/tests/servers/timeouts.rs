//! Timeouts of sessions, transactions and locks: placet's own timeouts hold, and not the server's.

use super::*;

/// Many servers have a statement timeout for the sake of foreign programs. A claim that waits for a locked row would be
/// refused, and the reload of a large cloud would never end.
#[test]
fn a_statement_timeout_of_the_server_does_not_hold_in_a_session_of_placet() {
    let Some((kept, database, kind)) = on_server() else {
        return;
    };
    let mut conn = database.connect().expect("a connection");
    let user = format!("placet_{}", &uuid::Uuid::new_v4().simple().to_string()[..16]);
    let (set, unset, url, slow) = match kind {
        Kind::Mariadb => {
            let (scheme, rest) = kept.url.split_once("://").expect("a URL");
            let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
            (
                vec![
                    format!("CREATE USER {user}@'%' WITH MAX_STATEMENT_TIME 0.01"),
                    format!("GRANT ALL ON *.* TO {user}@'%'"),
                ],
                format!("DROP USER {user}@'%'"),
                format!("{scheme}://{user}@{place}"),
                "SELECT CAST(SLEEP(0.2) AS CHAR) AS t",
            )
        }
        _ => (
            vec![
                "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 10', current_database()); END $$"
                    .to_owned(),
            ],
            "SELECT 1".to_owned(),
            kept.url.clone(),
            "SELECT '0' || pg_sleep(0.2)::text AS t",
        ),
    };
    for statement in &set {
        conn.batch_execute(statement).expect(statement);
    }
    let database = Database::open(&DatabaseSettings::new(&url)).expect("a URL");
    let slept = database.connect().map(|mut conn| try_text(&mut conn, slow));
    conn.batch_execute(&unset).expect(&unset);
    assert_eq!(slept.expect("a connection").expect("it is not cancelled"), "0");
}

/// Settings of a server that would end idle sessions, waits or transactions of placet, and the values in placet's
/// sessions.
const TIMEOUTS: &[(Kind, &str, &str)] = &[
    (Kind::Mariadb, "wait_timeout", "28800"),
    (Kind::Mariadb, "innodb_lock_wait_timeout", "20"),
    (Kind::Mariadb, "idle_transaction_timeout", "0"),
    (Kind::Mariadb, "idle_readonly_transaction_timeout", "0"),
    (Kind::Mariadb, "net_read_timeout", "30"),
    (Kind::Mariadb, "net_write_timeout", "60"),
    #[cfg(feature = "postgresql")]
    (Kind::Postgresql, "lock_timeout", "20s"),
    #[cfg(feature = "postgresql")]
    (Kind::Postgresql, "idle_session_timeout", "0"),
    #[cfg(feature = "postgresql")]
    (Kind::Postgresql, "idle_in_transaction_session_timeout", "30s"),
    #[cfg(feature = "postgresql")]
    (Kind::Postgresql, "statement_timeout", "0"),
    #[cfg(feature = "postgresql")]
    (Kind::Postgresql, "transaction_timeout", "0"),
    #[cfg(feature = "postgresql")]
    (Kind::Postgresql, "synchronous_commit", "on"),
];

/// MariaDB has these settings for the whole server, PostgreSQL for a role in one database.
#[test]
fn timeouts_of_the_server_the_database_or_the_role_do_not_hold_in_a_session_of_placet() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let mut admin = database.connect().expect("a connection");
    let mut known = TIMEOUTS.to_vec();
    let set = |conn: &mut DbConnection, name: &str, value: &str| {
        conn.batch_execute(&match kind {
            Kind::Mariadb => format!("SET GLOBAL {name} = {value}"),
            _ => format!(
                "DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET {name} = {value}', \
                 current_user, current_database()); END $$"
            ),
        })
    };
    let short = |name: &str| match (kind, name) {
        (Kind::Mariadb, _) => "1",
        (_, "synchronous_commit") => "off",
        _ => "100",
    };
    // Servers know more of these settings from version to version.
    known.retain(|(engine, name, _)| *engine == kind && set(&mut admin, name, short(name)).is_ok());
    let session = database.connect();
    if kind == Kind::Mariadb {
        for (_, name, _) in &known {
            set(&mut admin, name, "DEFAULT").expect("the setting from before");
        }
    }
    let conn = &mut session.expect("a connection");
    for (_, name, expected) in &known {
        let shown = text(
            conn,
            &match kind {
                Kind::Mariadb => format!("SELECT CAST(@@{name} AS CHAR) AS t"),
                _ => format!("SELECT current_setting('{name}') AS t"),
            },
        );
        assert_eq!(shown, *expected, "{name}");
    }
    assert!(known.len() >= 4, "{known:?}");
    let count = |conn: &mut DbConnection| traits::table.count().get_result::<i64>(conn);
    dialect::read_transaction(conn, |conn| {
        std::thread::sleep(Duration::from_millis(1500));
        count(conn)
    })
    .expect("the transaction was not ended");
    std::thread::sleep(Duration::from_millis(1500));
    count(conn).expect("the session was not ended");
}

/// A vanished host says nothing more. For the server, the silent client of this test looks the same.
#[test]
fn the_locks_of_a_silent_transaction_that_has_written_nothing_end_with_its_timeout() {
    let Some((_kept, database, kind)) = on_server() else {
        return;
    };
    let (mut silent, mut other) = (database.connect().expect("one"), database.connect().expect("another"));
    dialect::begin_write(&mut silent).expect("begin");
    let (timeout, shorter) = match kind {
        Kind::Mariadb => ("SELECT CAST(@@wait_timeout AS CHAR) AS t", "SET wait_timeout = 1"),
        _ => (
            "SELECT current_setting('idle_in_transaction_session_timeout') AS t",
            "SET idle_in_transaction_session_timeout = '1s'",
        ),
    };
    assert_eq!(text(&mut silent, timeout).trim_end_matches('s'), "30");
    silent.batch_execute(shorter).expect(shorter);
    let held = traits::table.filter(traits::name.eq("A")).select(traits::id);
    let held: Vec<i32> = dialect::lock_rows!(&mut silent, held).expect("the row is free");
    assert_eq!(held.len(), 1);
    dialect::set_lock_timeout(&mut other, Duration::from_secs(20)).expect("a setting");
    touch(&mut other, "A").expect("the lock ended");
    assert!(!dialect::is_alive(&mut silent));
}

#[test]
fn the_server_ends_a_transaction_that_is_idle_for_30_seconds() {
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
