//! Guarded writes have the same result on every engine, as one statement and as a statement for each write.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::{GuardedWrite, run};
use crate::db::DbConnection;
use crate::db::engines::dialect;
use crate::db::engines::dialect::Capabilities;
use crate::db::engines::guarded::ExecMode;
use crate::db::engines::rows::{
    Clock, CountFrom, CountKeys, CountMatches, InsertFromRows, OneRow, UpdateFromRows, Value,
};
use crate::db::statements;
use crate::db::tests::support::{Kind, TestDatabase};

const COUNT: OneRow = OneRow("UPDATE placet_writers SET revision = revision + 1 WHERE id = ? AND revision = ?");

const INSERT: InsertFromRows = InsertFromRows {
    table: "traits",
    columns: &["name"],
    clock: Clock::Host,
    is_repeatable: true,
};

const RENAME: UpdateFromRows = UpdateFromRows {
    table: "traits",
    columns: &["id", "was", "name"],
    set: "name = v.name, updated_at = {now}",
    filter: "traits.id = v.id AND traits.name = v.was",
};

const NAMED: CountKeys = CountKeys {
    table: "traits",
    column: "name",
};

const MATCHES: CountMatches = CountMatches {
    table: "traits",
    columns: ["id", "name"],
};

fn text(text: &str) -> Vec<Value> {
    vec![Value::Text(text.into())]
}

/// A write of each kind. All guards hold except for the numbers in `wrong`.
fn writes(ids: &[i32], wrong: &[usize]) -> Vec<GuardedWrite> {
    let is = |at: usize| !wrong.contains(&at);
    let there = CountFrom("traits WHERE name = ? AND (SELECT COUNT(*) FROM traits) = ?".to_owned());
    let count = Value::Int(if is(0) { 2 } else { 3 });
    let revision = Value::Int(if is(3) { 7 } else { 8 });
    let named = |n: usize, name: &str| vec![Value::Int(ids[n].into()), Value::Text(name.into())];
    let was = |at: usize, name: &str| Value::Key(if is(at) { name.into() } else { "Z".into() });
    let rename = |n: usize, at: usize, from: &str, to: &str| {
        vec![Value::Int(ids[n].into()), was(at, from), Value::Text(to.into())]
    };
    vec![
        GuardedWrite::AssertExists(there, vec![Value::Text("A".into()), count]),
        GuardedWrite::AssertNone(
            NAMED,
            vec!["C".into(), "D".into(), if is(1) { "E".into() } else { "B".into() }],
        ),
        GuardedWrite::AssertMatches(MATCHES, vec![named(0, "A"), named(1, if is(2) { "B" } else { "A" })]),
        GuardedWrite::UpdateOne(COUNT, vec![Value::Text("w".into()), revision]),
        GuardedWrite::Update(RENAME, vec![rename(0, 4, "A", "F"), rename(1, 5, "B", "G")]),
        GuardedWrite::Insert(INSERT, vec![text("C"), text("it's \"D\" \\ \u{1F600}?")]),
    ]
}

fn names(conn: &mut DbConnection) -> Vec<String> {
    use crate::db::schema::traits as t;
    t::table.order(t::id).select(t::name).load(conn).expect("traits")
}

/// All modes of the engine.
fn modes(conn: &mut DbConnection) -> [ExecMode; 3] {
    let capabilities = dialect::capabilities(conn).expect("a version");
    [
        ExecMode::with_begin(capabilities),
        ExecMode::in_transaction(capabilities),
        ExecMode::Sequential,
    ]
}

/// Runs the writes in a new transaction and leaves it open.
fn begin_and_run(conn: &mut DbConnection, writes: &[GuardedWrite], mode: ExecMode) -> QueryResult<Option<usize>> {
    if mode != ExecMode::CombinedWithBegin {
        dialect::begin_write(conn)?;
    }
    run(conn, dialect::row_time(conn), writes, mode)
}

/// Runs [`writes`] in a transaction and rolls back. Returns which guard failed, and the names before the rollback.
fn run_and_roll_back(
    conn: &mut DbConnection,
    ids: &[i32],
    wrong: &[usize],
    mode: ExecMode,
) -> (Option<usize>, Vec<String>) {
    let failed = begin_and_run(conn, &writes(ids, wrong), mode).expect("statements");
    let names = names(conn);
    dialect::rollback(conn).expect("rollback");
    (failed, names)
}

#[test]
fn all_guards_hold_or_the_first_that_does_not_is_returned() {
    use crate::db::schema::{placet_writers as w, traits as t};
    let (_kept, database) = TestDatabase::synced();
    let conn = &mut database.connect().expect("a connection");
    diesel::delete(t::table).execute(conn).expect("no traits");
    for name in ["A", "B"] {
        diesel::insert_into(t::table)
            .values(t::name.eq(name))
            .execute(conn)
            .expect("a row");
    }
    let ids: Vec<i32> = t::table.order(t::id).select(t::id).load(conn).expect("ids");
    let writer = (
        w::id.eq("w"),
        w::revision.eq(7),
        w::token.eq(""),
        w::seen_at.eq(diesel::dsl::now),
    );
    diesel::insert_into(w::table)
        .values(writer)
        .execute(conn)
        .expect("a row");
    for mode in modes(conn) {
        let (failed, found) = run_and_roll_back(conn, &ids, &[], mode);
        assert_eq!(failed, None);
        assert_eq!(found, ["F", "G", "C", "it's \"D\" \\ \u{1F600}?"], "{mode:?}");
        for (wrong, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 4)] {
            let (failed, _) = run_and_roll_back(conn, &ids, &[wrong], mode);
            assert_eq!(failed, Some(expected), "{mode:?}");
        }
        assert_eq!(run_and_roll_back(conn, &ids, &[1, 2, 3], mode).0, Some(1), "{mode:?}");
        assert_eq!(names(conn), ["A", "B"]);
    }
}

/// The names of `count` traits.
fn numbered(first: usize, count: usize) -> Vec<String> {
    (first..first + count).map(|n| format!("T{n:04}")).collect()
}

/// Inserts `count` traits and renames them; if `wrong`, the guard of the middle trait names a different trait. Returns
/// which guard of the renaming failed, and the names after the renaming.
fn insert_and_rename(
    conn: &mut DbConnection,
    count: usize,
    wrong: bool,
    mode: ExecMode,
) -> (Option<usize>, Vec<String>) {
    use crate::db::schema::traits as t;
    let inserted = numbered(0, count);
    let rows = inserted.iter().map(|name| text(name)).collect();
    assert_eq!(
        begin_and_run(conn, &[GuardedWrite::Insert(INSERT, rows)], mode).expect("rows"),
        None
    );
    assert_eq!(names(conn), inserted);
    let ids: Vec<i32> = t::table.order(t::id).select(t::id).load(conn).expect("ids");
    let renamed = ids.iter().zip(numbered(2000, count));
    let renamed = renamed.map(|(id, name)| vec![Value::Int((*id).into()), Value::Text(name)]);
    let renamed = GuardedWrite::AssertMatches(MATCHES, renamed.collect());
    let rows = ids.iter().zip(inserted).zip(numbered(2000, count)).enumerate();
    let rows = rows.map(|(n, ((id, was), name))| {
        let was = if wrong && n == count / 2 { "Z".into() } else { was };
        vec![Value::Int((*id).into()), Value::Key(was), Value::Text(name)]
    });
    let renaming = [
        GuardedWrite::Update(RENAME, rows.collect()),
        GuardedWrite::AssertNone(NAMED, numbered(0, count)),
        renamed,
    ];
    let within = if mode == ExecMode::CombinedWithBegin {
        ExecMode::Combined
    } else {
        mode
    };
    let failed = run(conn, dialect::row_time(conn), &renaming[..1], within).expect("names");
    let all_renamed = run(conn, dialect::row_time(conn), &renaming[1..], within);
    let found = names(conn);
    dialect::rollback(conn).expect("rollback");
    assert!(wrong || all_renamed.expect("a count").is_none());
    (failed, found)
}

/// Engines have different texts for different numbers of rows. No text may leave out or repeat a row.
#[test]
fn each_row_is_written_once_whatever_the_number_of_rows() {
    let (_kept, database) = TestDatabase::synced();
    let conn = &mut database.connect().expect("a connection");
    diesel::delete(crate::db::schema::traits::table)
        .execute(conn)
        .expect("no traits");
    for mode in modes(conn) {
        for count in [1, 2, 4, 5, 8, 11, 31, 64, 65, 130, 1030] {
            let all = (None, numbered(2000, count));
            assert_eq!(insert_and_rename(conn, count, false, mode), all, "{mode:?}");
            assert_eq!(insert_and_rename(conn, count, true, mode).0, Some(0), "{mode:?}");
        }
    }
}

#[test]
fn a_prepared_commit_ends_the_transaction_that_the_combined_statement_began() {
    use crate::db::schema::traits as t;
    let (_kept, database) = TestDatabase::synced();
    let (conn, other) = (
        &mut database.connect().expect("a connection"),
        &mut database.connect().expect("another"),
    );
    let capabilities = dialect::capabilities(conn).expect("a version");
    let count = |conn: &mut DbConnection| -> i64 {
        let inserted = t::table.filter(t::name.like("CUSTOM_AT_ONCE_%"));
        inserted.count().get_result(conn).expect("a count")
    };
    for (round, capabilities) in [capabilities, Capabilities::default(), capabilities]
        .into_iter()
        .enumerate()
    {
        let writes = [GuardedWrite::Insert(
            INSERT,
            vec![text(&format!("CUSTOM_AT_ONCE_{round}"))],
        )];
        let failed = begin_and_run(conn, &writes, ExecMode::with_begin(capabilities)).expect("statements");
        assert_eq!((failed, count(other)), (None, round as i64), "{capabilities:?}");
        dialect::commit_prepared(conn, capabilities).expect("a commit");
        assert_eq!(count(other), round as i64 + 1, "{capabilities:?}");
        // After the commit the session commits each statement by itself again.
        diesel::update(t::table.filter(t::name.like("CUSTOM_AT_ONCE_%")))
            .set(t::updated_at.eq(dialect::row_time(conn)))
            .execute(conn)
            .expect("an update");
        let untouched = t::table
            .filter(t::name.like("CUSTOM_AT_ONCE_%"))
            .filter(t::updated_at.is_null());
        assert_eq!(untouched.count().get_result(other), Ok(0), "{capabilities:?}");
    }
}

#[test]
fn inserting_a_row_that_exists_is_a_constraint_error() {
    use crate::db::schema::traits as t;
    let (_kept, database) = TestDatabase::synced();
    let conn = &mut database.connect().expect("a connection");
    diesel::insert_into(t::table)
        .values(t::name.eq("CUSTOM_A"))
        .execute(conn)
        .expect("a row");
    for mode in modes(conn) {
        let writes = [GuardedWrite::Insert(INSERT, vec![text("CUSTOM_A")])];
        let error = begin_and_run(conn, &writes, mode).expect_err("the row exists");
        assert!(crate::db::fault::is_constraint(&error), "{error}");
        dialect::rollback(conn).expect("rollback");
    }
}

/// MariaDB estimated by the table's statistics, which lag behind, and read the whole index for a list of a thousand
/// keys.
#[test]
fn a_guard_over_many_keys_reads_only_them_although_the_statistics_are_out_of_date() {
    let (_kept, database) = TestDatabase::synced();
    let conn = &mut database.connect().expect("a connection");
    if Kind::of(conn) != Kind::Mariadb {
        return;
    }
    let (few_keys, many_keys) = ("'same'", "CONCAT('key-', seq)");
    let insert = |keys, count| {
        format!(
            "INSERT INTO allocations (resource_provider_id, resource_class_id, consumer_id, used) \
             SELECT 1, 0, {keys}, 1 FROM seq_1_to_{count}"
        )
    };
    conn.batch_execute(&format!(
        "ALTER TABLE allocations STATS_AUTO_RECALC = 0; {}; ANALYZE TABLE allocations; {}",
        insert(few_keys, 1_000),
        insert(many_keys, 20_000)
    ))
    .expect("rows");
    let absent = (0..1_000).map(|n| format!("absent-{n}")).collect();
    let read_before = rows_read_in_order(conn);
    let guard = [GuardedWrite::AssertNone(statements::allocations::OF_CONSUMERS, absent)];
    for mode in modes(conn) {
        assert_eq!(begin_and_run(conn, &guard, mode).expect("a guard"), None);
        dialect::rollback(conn).expect("rollback");
    }
    assert_eq!(rows_read_in_order(conn), read_before);
}

/// How many rows the session of MariaDB has read by going on in an index.
fn rows_read_in_order(conn: &mut DbConnection) -> i64 {
    #[derive(QueryableByName)]
    struct Read {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        n: i64,
    }
    let sql = "SELECT CAST(variable_value AS SIGNED) AS n FROM information_schema.session_status \
               WHERE variable_name = 'HANDLER_READ_NEXT'";
    diesel::sql_query(sql).get_result::<Read>(conn).expect("a status").n
}
