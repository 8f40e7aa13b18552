//! Whatever the engine, and whether it takes one statement for all parts or one for each: the same comes of it.

use diesel::prelude::*;

use super::{Part, run};
use crate::db::rows::{CountFromRows, CountKeys, InsertFromRows, OneRow, UpdateFromRows, Value};
use crate::db::testing::TestDatabase;
use crate::db::{DbConnection, dialect};

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

const OTHERS: CountFromRows = CountFromRows {
    from: "traits LEFT JOIN {rows} v ON traits.name = v.name WHERE v.name IS NULL",
    columns: &["name"],
};

const NAMED: CountKeys = CountKeys {
    table: "traits",
    column: "name",
};

fn key(text: &str) -> Vec<Value> {
    vec![Value::Key(text.into())]
}

fn text(text: &str) -> Vec<Value> {
    vec![Value::Text(text.into())]
}

/// A part of each kind, of which all are as they must be but those that are named.
fn parts(ids: &[i32], wrong: &[usize]) -> Vec<Part> {
    let is = |at: usize| !wrong.contains(&at);
    let there = if is(0) {
        vec![key("A"), key("B")]
    } else {
        vec![key("A")]
    };
    let revision = Value::Int(if is(2) { 7 } else { 8 });
    let was = |at: usize, name: &str| Value::Key(if is(at) { name.into() } else { "Z".into() });
    let rename = |n: usize, at: usize, from: &str, to: &str| {
        vec![Value::Int(ids[n].into()), was(at, from), Value::Text(to.into())]
    };
    vec![
        Part::None(OTHERS, there),
        Part::NobodyHas(
            NAMED,
            vec!["C".into(), "D".into(), if is(1) { "E".into() } else { "B".into() }],
        ),
        Part::One(COUNT, vec![Value::Text("w".into()), revision]),
        Part::Update(RENAME, vec![rename(0, 3, "A", "F"), rename(1, 4, "B", "G")]),
        Part::Insert(INSERT, vec![text("C"), text("it's \"D\" \\ \u{1F600}?")]),
    ]
}

fn names(conn: &mut DbConnection) -> Vec<String> {
    use crate::db::schema::traits as t;
    t::table.order(t::id).select(t::name).load(conn).expect("traits")
}

/// Runs it in a transaction of its own, which is undone; what came of it, and which names there were then.
fn tried(conn: &mut DbConnection, ids: &[i32], wrong: &[usize], at_once: bool) -> (Option<usize>, Vec<String>) {
    dialect::begin_write(conn).expect("begin");
    let failed = run(conn, dialect::row_time(conn), &parts(ids, wrong), at_once).expect("statements");
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
    let ways = [dialect::writes_at_once(conn).expect("a version"), false];
    for at_once in ways {
        let (failed, found) = tried(conn, &ids, &[], at_once);
        assert_eq!(failed, None);
        assert_eq!(found, ["F", "G", "C", "it's \"D\" \\ \u{1F600}?"], "at once: {at_once}");
        for (wrong, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)] {
            assert_eq!(
                tried(conn, &ids, &[wrong], at_once).0,
                Some(expected),
                "at once: {at_once}"
            );
        }
        assert_eq!(tried(conn, &ids, &[1, 2, 3], at_once).0, Some(1), "at once: {at_once}");
        assert_eq!(names(conn), ["A", "B"]);
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
    for at_once in [dialect::writes_at_once(conn).expect("a version"), false] {
        dialect::begin_write(conn).expect("begin");
        let parts = [Part::Insert(INSERT, vec![text("CUSTOM_A")])];
        let error = run(conn, dialect::row_time(conn), &parts, at_once).expect_err("it is there");
        assert!(crate::db::fault::is_constraint(&error), "{error}");
        dialect::rollback(conn).expect("rollback");
    }
}
