//! Whatever the engine, and whether it takes one statement for all parts or one for each: the same comes of it.

use diesel::prelude::*;

use super::{GuardedWrite, run};
use crate::db::DbConnection;
use crate::db::engines::dialect;
use crate::db::engines::dialect::Capabilities;
use crate::db::engines::guarded::ExecMode;
use crate::db::engines::rows::{CountFrom, CountKeys, InsertFromRows, OneRow, UpdateFromRows, Value};
use crate::db::tests::support::TestDatabase;

const COUNT: OneRow = OneRow("UPDATE placet_writers SET revision = revision + 1 WHERE id = ? AND revision = ?");

const INSERT: InsertFromRows = InsertFromRows {
    table: "traits",
    columns: &["name"],
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

fn text(text: &str) -> Vec<Value> {
    vec![Value::Text(text.into())]
}

/// A part of each kind, of which all are as they must be but those that are named.
fn parts(ids: &[i32], wrong: &[usize]) -> Vec<GuardedWrite> {
    let is = |at: usize| !wrong.contains(&at);
    let there = CountFrom("traits WHERE name = ? AND (SELECT COUNT(*) FROM traits) = ?".to_owned());
    let count = Value::Int(if is(0) { 2 } else { 3 });
    let revision = Value::Int(if is(2) { 7 } else { 8 });
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
        GuardedWrite::UpdateOne(COUNT, vec![Value::Text("w".into()), revision]),
        GuardedWrite::Update(RENAME, vec![rename(0, 3, "A", "F"), rename(1, 4, "B", "G")]),
        GuardedWrite::Insert(INSERT, vec![text("C"), text("it's \"D\" \\ \u{1F600}?")]),
    ]
}

fn names(conn: &mut DbConnection) -> Vec<String> {
    use crate::db::schema::traits as t;
    t::table.order(t::id).select(t::name).load(conn).expect("traits")
}

/// All that the engine can do.
fn modes(conn: &mut DbConnection) -> [ExecMode; 3] {
    let capabilities = dialect::capabilities(conn).expect("a version");
    [
        ExecMode::with_begin(capabilities),
        ExecMode::in_transaction(capabilities),
        ExecMode::Sequential,
    ]
}

/// Runs the parts in a transaction that goes on.
fn begun(conn: &mut DbConnection, parts: &[GuardedWrite], mode: ExecMode) -> QueryResult<Option<usize>> {
    if mode != ExecMode::CombinedWithBegin {
        dialect::begin_write(conn)?;
    }
    run(conn, dialect::row_time(conn), parts, mode)
}

/// Runs it in a transaction of its own, which is undone; what came of it, and which names there were then.
fn tried(conn: &mut DbConnection, ids: &[i32], wrong: &[usize], mode: ExecMode) -> (Option<usize>, Vec<String>) {
    let failed = begun(conn, &parts(ids, wrong), mode).expect("statements");
    let names = names(conn);
    dialect::rollback(conn).expect("rollback");
    (failed, names)
}

#[test]
fn all_parts_hold_or_the_first_that_does_not_is_named() {
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
        let (failed, found) = tried(conn, &ids, &[], mode);
        assert_eq!(failed, None);
        assert_eq!(found, ["F", "G", "C", "it's \"D\" \\ \u{1F600}?"], "{mode:?}");
        for (wrong, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)] {
            assert_eq!(tried(conn, &ids, &[wrong], mode).0, Some(expected), "{mode:?}");
        }
        assert_eq!(tried(conn, &ids, &[1, 2, 3], mode).0, Some(1), "{mode:?}");
        assert_eq!(names(conn), ["A", "B"]);
    }
}

/// Names of so many traits.
fn numbered(first: usize, many: usize) -> Vec<String> {
    (first..first + many).map(|n| format!("T{n:04}")).collect()
}

/// Makes so many traits and renames them, the middle one from what it may not be called; what came of the second, and which
/// names there were then.
fn made_and_renamed(conn: &mut DbConnection, many: usize, wrong: bool, mode: ExecMode) -> (Option<usize>, Vec<String>) {
    use crate::db::schema::traits as t;
    let made = numbered(0, many);
    let rows = made.iter().map(|name| text(name)).collect();
    assert_eq!(
        begun(conn, &[GuardedWrite::Insert(INSERT, rows)], mode).expect("rows"),
        None
    );
    assert_eq!(names(conn), made);
    let ids: Vec<i32> = t::table.order(t::id).select(t::id).load(conn).expect("ids");
    let rows = ids.iter().zip(made).zip(numbered(2000, many)).enumerate();
    let rows = rows.map(|(n, ((id, was), name))| {
        let was = if wrong && n == many / 2 { "Z".into() } else { was };
        vec![Value::Int((*id).into()), Value::Key(was), Value::Text(name)]
    });
    let renaming = [
        GuardedWrite::Update(RENAME, rows.collect()),
        GuardedWrite::AssertNone(NAMED, numbered(0, many)),
    ];
    let within = if mode == ExecMode::CombinedWithBegin {
        ExecMode::Combined
    } else {
        mode
    };
    let done = run(conn, dialect::row_time(conn), &renaming[..1], within).expect("names");
    let none_left = run(conn, dialect::row_time(conn), &renaming[1..], within);
    let found = names(conn);
    dialect::rollback(conn).expect("rollback");
    assert!(wrong || none_left.expect("a look").is_none());
    (done, found)
}

/// Engines have other texts for other numbers of rows, and none may leave one out or take one twice.
#[test]
fn however_many_rows_there_are_each_is_written_once() {
    let (_kept, database) = TestDatabase::synced();
    let conn = &mut database.connect().expect("a connection");
    diesel::delete(crate::db::schema::traits::table)
        .execute(conn)
        .expect("no traits");
    for mode in modes(conn) {
        for many in [1, 2, 4, 5, 8, 11, 31, 64, 65, 130, 1030] {
            let all = (None, numbered(2000, many));
            assert_eq!(made_and_renamed(conn, many, false, mode), all, "{mode:?}");
            assert_eq!(made_and_renamed(conn, many, true, mode).0, Some(0), "{mode:?}");
        }
    }
}

#[test]
fn what_was_begun_at_once_is_committed_at_once() {
    use crate::db::schema::traits as t;
    let (_kept, database) = TestDatabase::synced();
    let (conn, other) = (
        &mut database.connect().expect("a connection"),
        &mut database.connect().expect("another"),
    );
    let capabilities = dialect::capabilities(conn).expect("a version");
    let count = |conn: &mut DbConnection| -> i64 {
        let mine = t::table.filter(t::name.like("CUSTOM_AT_ONCE_%"));
        mine.count().get_result(conn).expect("a count")
    };
    for (turn, capabilities) in [capabilities, Capabilities::default(), capabilities]
        .into_iter()
        .enumerate()
    {
        let parts = [GuardedWrite::Insert(
            INSERT,
            vec![text(&format!("CUSTOM_AT_ONCE_{turn}"))],
        )];
        let began = begun(conn, &parts, ExecMode::with_begin(capabilities)).expect("statements");
        assert_eq!((began, count(other)), (None, turn as i64), "{capabilities:?}");
        dialect::commit_prepared(conn, capabilities).expect("a commit");
        assert_eq!(count(other), turn as i64 + 1, "{capabilities:?}");
        // What comes after it commits by itself again.
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
fn a_row_that_is_taken_is_an_error_of_a_constraint() {
    use crate::db::schema::traits as t;
    let (_kept, database) = TestDatabase::synced();
    let conn = &mut database.connect().expect("a connection");
    diesel::insert_into(t::table)
        .values(t::name.eq("CUSTOM_A"))
        .execute(conn)
        .expect("a row");
    for mode in modes(conn) {
        let parts = [GuardedWrite::Insert(INSERT, vec![text("CUSTOM_A")])];
        let error = begun(conn, &parts, mode).expect_err("it is there");
        assert!(crate::db::fault::is_constraint(&error), "{error}");
        dialect::rollback(conn).expect("rollback");
    }
}
