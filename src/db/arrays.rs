//! Statements of PostgreSQL whose text does not depend on how many rows they are about: each column is one array.
//!
//! So a connection prepares each of them once, and PostgreSQL plans it once; a text with as many places as there are values
//! would be parsed and planned anew each time.

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::DbConnection;
use super::rows::Value;
#[cfg(feature = "postgresql")]
pub use statement::Statement;

/// One bound value, or a column of them.
#[derive(Debug)]
#[cfg_attr(not(feature = "postgresql"), allow(dead_code, reason = "nobody else takes arrays"))]
pub enum Bound {
    Time(NaiveDateTime),
    Int(i64),
    Text(String),
    Ints(Vec<Option<i64>>),
    Reals(Vec<f64>),
    Texts(Vec<Option<String>>),
}

/// What is told of a row that was made.
pub type Made = (String, i32, bool, bool);

/// Runs a statement that returns one array of numbers.
pub fn counted(conn: &mut DbConnection, text: String, bound: Vec<Bound>) -> QueryResult<Vec<i64>> {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(conn) => Statement::<statement::Numbers>::new(text, bound).get_result(conn),
        _ => Err(not_here(&text, &bound)),
    }
}

/// Runs a statement that returns rows of a text, a number and two truths.
pub fn made(conn: &mut DbConnection, text: String, bound: Vec<Bound>) -> QueryResult<Vec<Made>> {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(conn) => Statement::<statement::Told>::new(text, bound).load(conn),
        _ => Err(not_here(&text, &bound)),
    }
}

/// Nobody asks for it where `dialect::looks_while_it_writes` says no.
fn not_here(text: &str, bound: &[Bound]) -> diesel::result::Error {
    let detail = format!("this engine takes no arrays ({} for {text})", bound.len());
    diesel::result::Error::QueryBuilderError(detail.into())
}

/// Rows as columns, to be bound in the order of `columns`; with them the text that makes rows of them again.
pub fn unnest(columns: &[&str], rows: &[Vec<Value>]) -> (String, Vec<Bound>) {
    let arrays: Vec<(&str, Bound)> = (0..columns.len()).map(|at| column(rows, at)).collect();
    let types: Vec<String> = arrays.iter().map(|(kind, _)| format!("?::{kind}[]")).collect();
    let text = format!("unnest({}) v({})", types.join(", "), columns.join(", "));
    (text, arrays.into_iter().map(|(_, bound)| bound).collect())
}

/// A column's type is that of its first value: all of a column are of one kind.
fn column(rows: &[Vec<Value>], at: usize) -> (&'static str, Bound) {
    let values = rows.iter().map(|row| &row[at]);
    match rows.first().map(|row| &row[at]) {
        Some(Value::Real(_)) => {
            let reals = values.filter_map(|it| match it {
                Value::Real(it) => Some(*it),
                _ => None,
            });
            ("float8", Bound::Reals(reals.collect()))
        }
        Some(Value::Text(_) | Value::MaybeText(_) | Value::Key(_)) => {
            let texts = values.map(|it| match it {
                Value::Text(it) | Value::Key(it) => Some(it.clone()),
                Value::MaybeText(it) => it.clone(),
                _ => None,
            });
            ("text", Bound::Texts(texts.collect()))
        }
        _ => {
            let ints = values.map(|it| match it {
                Value::Int(it) => Some(*it),
                Value::MaybeInt(it) => *it,
                _ => None,
            });
            ("bigint", Bound::Ints(ints.collect()))
        }
    }
}

#[cfg(feature = "postgresql")]
mod statement {
    use diesel::pg::{Pg, PgConnection};
    use diesel::prelude::*;
    use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
    use diesel::sql_types::{Array, BigInt, Bool, Double, Integer, Nullable, Text, Timestamp};

    use super::Bound;

    /// One array of numbers.
    pub type Numbers = Array<BigInt>;
    /// The columns of [`super::Made`].
    pub type Told = (Text, Integer, Bool, Bool);

    /// A statement with a `?` for each bound value, and no other question mark; `T`: the columns that it returns.
    pub struct Statement<T> {
        text: String,
        bound: Vec<Bound>,
        returns: std::marker::PhantomData<T>,
    }

    impl<T> Statement<T> {
        pub fn new(text: String, bound: Vec<Bound>) -> Statement<T> {
            Statement {
                text,
                bound,
                returns: std::marker::PhantomData,
            }
        }
    }

    impl<T> QueryFragment<Pg> for Statement<T> {
        fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
            let mut pieces = self.text.split('?');
            out.push_sql(pieces.next().unwrap_or_default());
            for (piece, bound) in pieces.zip(&self.bound) {
                match bound {
                    Bound::Time(it) => out.push_bind_param::<Timestamp, _>(it)?,
                    Bound::Int(it) => out.push_bind_param::<BigInt, _>(it)?,
                    Bound::Text(it) => out.push_bind_param::<Text, _>(it)?,
                    Bound::Ints(it) => out.push_bind_param::<Array<Nullable<BigInt>>, _>(it)?,
                    Bound::Reals(it) => out.push_bind_param::<Array<Double>, _>(it)?,
                    Bound::Texts(it) => out.push_bind_param::<Array<Nullable<Text>>, _>(it)?,
                }
                out.push_sql(piece);
            }
            Ok(())
        }
    }

    /// It is known by its text, which diesel keeps together with what was prepared.
    impl<T> QueryId for Statement<T> {
        type QueryId = ();
        const HAS_STATIC_QUERY_ID: bool = false;
    }

    impl<T> Query for Statement<T> {
        type SqlType = T;
    }

    impl<T> RunQueryDsl<PgConnection> for Statement<T> {}
}
