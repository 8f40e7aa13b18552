//! A statement as text, with a `?` for each bound value, and no further question mark.

use std::marker::PhantomData;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable, Text, Timestamp};
use diesel::sqlite::{Sqlite, SqliteConnection};
use serde::Serialize;

use crate::db::DbConnection;
use crate::db::connect::connection::on_each;

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Int(i64),
    /// A whole number or NULL.
    MaybeInt(Option<i64>),
    Real(f64),
    Text(String),
    /// A text for comparison with a column, byte by byte. MariaDB refuses to compare texts of different collations.
    Key(String),
}

/// A bound value, or a bound column of values.
#[derive(Debug, Clone)]
pub enum Bound {
    Value(Value),
    Time(NaiveDateTime),
    /// For PostgreSQL alone.
    #[cfg(feature = "postgresql")]
    Array(Array),
}

/// A column of values.
#[cfg(feature = "postgresql")]
#[derive(Debug, Clone)]
pub enum Array {
    Ints(Vec<Option<i64>>),
    Reals(Vec<f64>),
    Texts(Vec<Option<String>>),
}

impl From<Value> for Bound {
    fn from(value: Value) -> Bound {
        Bound::Value(value)
    }
}

impl From<NaiveDateTime> for Bound {
    fn from(time: NaiveDateTime) -> Bound {
        Bound::Time(time)
    }
}

/// SQL with its bound values: a part of a statement, or the whole.
#[derive(Debug)]
pub struct Fragment {
    pub text: String,
    pub bound: Vec<Bound>,
}

impl Fragment {
    /// A text with a `?` for each of the values.
    pub fn new<'a>(text: impl Into<String>, values: impl IntoIterator<Item = &'a Value>) -> Fragment {
        Fragment {
            text: text.into(),
            bound: values.into_iter().cloned().map(Bound::Value).collect(),
        }
    }

    /// The fragment with a text before its own text.
    pub fn prefixed(self, begin: &str) -> Fragment {
        Fragment {
            text: format!("{begin}{}", self.text),
            ..self
        }
    }

    /// A statement that is prepared once, because the text is always the same.
    pub fn cached<T>(self) -> Statement<T> {
        Statement {
            text: self.text,
            bound: self.bound,
            is_cached: true,
            returns: PhantomData,
        }
    }

    /// A statement that is prepared each time, because the text differs with the number of rows.
    pub fn uncached<T>(self) -> Statement<T> {
        Statement {
            is_cached: false,
            ..self.cached()
        }
    }
}

/// A statement with bound values. The result is a column, or a tuple of columns, of the SQL type `T`.
#[derive(Debug)]
pub struct Statement<T = BigInt> {
    pub text: String,
    pub bound: Vec<Bound>,
    /// Whether the connection prepares the statement once and keeps the prepared statement.
    pub is_cached: bool,
    returns: PhantomData<T>,
}

impl<T> Statement<T> {
    /// A statement without bound values, which is prepared each time.
    pub fn of(text: &str) -> Statement<T> {
        Fragment::new(text, []).uncached()
    }
}

impl Statement {
    /// Runs the statement. Returns the number of changed rows.
    pub fn run(self, conn: &mut DbConnection) -> QueryResult<usize> {
        on_each!(conn, inner => self.execute(inner))
    }

    /// The number that the statement selects.
    pub fn number(self, conn: &mut DbConnection) -> QueryResult<i64> {
        on_each!(conn, inner => self.get_result(inner))
    }
}

impl Statement<Text> {
    /// The single column of all rows.
    pub fn texts(self, conn: &mut DbConnection) -> QueryResult<Vec<String>> {
        on_each!(conn, inner => self.load(inner))
    }
}

/// Makes a statement a query of one backend. Between the pieces of the text stand the bound values.
macro_rules! walk {
    ($backend:ty, $connection:ty, $bind_array:ident) => {
        impl<T> QueryFragment<$backend> for Statement<T> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $backend>) -> QueryResult<()> {
                if !self.is_cached {
                    out.unsafe_to_cache_prepared();
                }
                let mut pieces = self.text.split('?');
                out.push_sql(pieces.next().unwrap_or_default());
                for (piece, bound) in pieces.zip(&self.bound) {
                    match bound {
                        Bound::Value(Value::Int(int)) => out.push_bind_param::<BigInt, _>(int)?,
                        Bound::Value(Value::MaybeInt(int)) => out.push_bind_param::<Nullable<BigInt>, _>(int)?,
                        Bound::Value(Value::Real(real)) => out.push_bind_param::<Double, _>(real)?,
                        Bound::Value(Value::Text(text) | Value::Key(text)) => out.push_bind_param::<Text, _>(text)?,
                        Bound::Time(time) => out.push_bind_param::<Timestamp, _>(time)?,
                        #[cfg(feature = "postgresql")]
                        Bound::Array(array) => $bind_array(out.reborrow(), array)?,
                    }
                    out.push_sql(piece);
                }
                Ok(())
            }
        }

        impl<T> RunQueryDsl<$connection> for Statement<T> {}
    };
}

walk!(Sqlite, SqliteConnection, refuse_array);
#[cfg(feature = "mariadb")]
walk!(diesel::mysql::Mysql, diesel::mysql::MysqlConnection, refuse_array);
#[cfg(feature = "postgresql")]
walk!(diesel::pg::Pg, diesel::pg::PgConnection, bind_array);

#[cfg(feature = "postgresql")]
fn refuse_array<DB: diesel::backend::Backend>(_: AstPass<'_, '_, DB>, _: &Array) -> QueryResult<()> {
    let refusal = "only PostgreSQL has arrays";
    Err(diesel::result::Error::QueryBuilderError(refusal.into()))
}

#[cfg(feature = "postgresql")]
fn bind_array<'b>(mut out: AstPass<'_, 'b, diesel::pg::Pg>, array: &'b Array) -> QueryResult<()> {
    use diesel::sql_types::Array as ArrayOf;
    match array {
        Array::Ints(ints) => out.push_bind_param::<ArrayOf<Nullable<BigInt>>, _>(ints),
        Array::Reals(reals) => out.push_bind_param::<ArrayOf<Double>, _>(reals),
        Array::Texts(texts) => out.push_bind_param::<ArrayOf<Nullable<Text>>, _>(texts),
    }
}

/// Without a static id diesel finds the prepared statement by its text.
impl<T> QueryId for Statement<T> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T> Query for Statement<T> {
    type SqlType = T;
}

/// Replaces each `{now}` by the placeholder, and binds the time.
pub fn bind_time(text: &str, now: NaiveDateTime, placeholder: &str, bound: &mut Vec<Bound>) -> String {
    bound.extend(text.matches("{now}").map(|_| Bound::from(now)));
    text.replace("{now}", placeholder)
}
