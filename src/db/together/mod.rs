//! Several changes of many rows that hold together or not at all: by one statement where the engine can, so that there is
//! one way to the server for all of them, and one after the other where it cannot.
//!
//! Whether a part sees what an earlier one changed differs between the two. So none may rest on that.

#[cfg(feature = "mariadb")]
mod blocks;
#[cfg(feature = "mariadb")]
mod mariadb;
#[cfg(feature = "postgresql")]
mod postgresql;
mod rest;

use chrono::NaiveDateTime;
use diesel::QueryResult;

use super::DbConnection;
use super::dialect::AtOnce;
use super::rows::{CountKeys, InsertFromRows, Look, OneRow, Rows, UpdateFromRows, Value};
pub use rest::rest;

/// A change of exactly as many rows as it is given, or a look at what must be there, as one row, or must not.
#[derive(Debug, Clone)]
pub enum Part {
    One(OneRow, Vec<Value>),
    Update(UpdateFromRows, Rows),
    Insert(InsertFromRows, Rows),
    There(Look, Vec<Value>),
    NobodyHas(CountKeys, Vec<String>),
}

impl Part {
    /// Whether it is about rows that are not there yet: who makes them stands in nobody's way but that of who makes the same.
    /// That is so of all tables that plans make rows of.
    pub fn is_of_new_rows(&self) -> bool {
        matches!(self, Part::Insert(..) | Part::NobodyHas(..))
    }

    /// How many rows it is to change, or to find.
    fn expected(&self) -> usize {
        match self {
            Part::One(..) | Part::There(..) => 1,
            Part::Update(_, rows) | Part::Insert(_, rows) => rows.len(),
            Part::NobodyHas(..) => 0,
        }
    }

    fn run(&self, conn: &mut DbConnection, now: NaiveDateTime) -> QueryResult<usize> {
        match self {
            Part::One(it, values) => it.run(conn, values),
            Part::Update(it, rows) => it.run(conn, now, rows),
            Part::Insert(it, rows) => it.run(conn, now, rows),
            Part::There(it, values) => it.run(conn, values),
            Part::NobodyHas(it, keys) => it.run(conn, keys),
        }
    }
}

/// In how many statements parts are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    OneByOne,
    AtOnce,
    /// At once, and the transaction is begun with it.
    Beginning,
}

impl How {
    /// Where no transaction was begun yet; if it is to be done one by one, one must be.
    pub fn beginning(at_once: AtOnce) -> How {
        if at_once.writes { How::Beginning } else { How::OneByOne }
    }

    /// Within a transaction.
    pub fn within(at_once: AtOnce) -> How {
        if at_once.writes { How::AtOnce } else { How::OneByOne }
    }
}

/// Does all parts, each of which has rows or keys, and answers which one, the first of them, was not as it must be: then all
/// of it is to be rolled back.
pub fn run(conn: &mut DbConnection, now: NaiveDateTime, parts: &[Part], how: How) -> QueryResult<Option<usize>> {
    match conn {
        each if how == How::OneByOne => one_by_one(each, now, parts),
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(conn) => postgresql::run(conn, now, parts, how),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(conn) => mariadb::run(conn, now, parts, how),
        sqlite @ DbConnection::Sqlite(_) => one_by_one(sqlite, now, parts),
    }
}

fn one_by_one(conn: &mut DbConnection, now: NaiveDateTime, parts: &[Part]) -> QueryResult<Option<usize>> {
    for (at, part) in parts.iter().enumerate() {
        if part.run(conn, now)? != part.expected() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
