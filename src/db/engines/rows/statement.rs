//! A statement as text, with a `?` for each bound value, and no further question mark.

use std::marker::PhantomData;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable, Text, Timestamp};
use diesel::sqlite::{Sqlite, SqliteConnection};

use super::Value;

/// A bound value that every engine accepts.
#[derive(Debug)]
pub enum Bound {
    Value(Value),
    Time(NaiveDateTime),
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
pub struct Fragment<B = Bound> {
    pub text: String,
    pub bound: Vec<B>,
}

/// A statement with bound values of type `B`. The result is a column of the SQL type `T`.
#[derive(Debug)]
pub struct Statement<B = Bound, T = BigInt> {
    pub text: String,
    pub bound: Vec<B>,
    /// Whether the connection prepares the statement once and keeps the prepared statement.
    pub is_cached: bool,
    returns: PhantomData<T>,
}

impl<B> Statement<B> {
    /// A statement that is prepared each time, because the text differs with the number of rows.
    pub fn uncached(text: String, bound: Vec<B>) -> Statement<B> {
        Statement {
            text,
            bound,
            is_cached: false,
            returns: PhantomData,
        }
    }

    /// A statement that is prepared once, because the text is always the same.
    pub fn cached<T>(text: String, bound: Vec<B>) -> Statement<B, T> {
        Statement {
            text,
            bound,
            is_cached: true,
            returns: PhantomData,
        }
    }
}

/// Makes a statement a query of one backend. Between the pieces of the text `$bind` adds each bound value.
macro_rules! walk {
    ($backend:ty, $connection:ty, $bound:ty, ($out:ident, $value:ident) => $bind:expr) => {
        impl<T> QueryFragment<$backend> for Statement<$bound, T> {
            fn walk_ast<'b>(&'b self, mut $out: AstPass<'_, 'b, $backend>) -> QueryResult<()> {
                if !self.is_cached {
                    $out.unsafe_to_cache_prepared();
                }
                let mut pieces = self.text.split('?');
                $out.push_sql(pieces.next().unwrap_or_default());
                for (piece, $value) in pieces.zip(&self.bound) {
                    $bind;
                    $out.push_sql(piece);
                }
                Ok(())
            }
        }

        impl<T> RunQueryDsl<$connection> for Statement<$bound, T> {}
    };
}

macro_rules! bind_value {
    ($out:ident, $value:expr) => {
        match $value {
            Value::Int(int) => $out.push_bind_param::<BigInt, _>(int)?,
            Value::MaybeInt(int) => $out.push_bind_param::<Nullable<BigInt>, _>(int)?,
            Value::Real(real) => $out.push_bind_param::<Double, _>(real)?,
            Value::Text(text) | Value::Key(text) => $out.push_bind_param::<Text, _>(text)?,
        }
    };
}

walk!(Sqlite, SqliteConnection, Bound, (out, bound) => match bound {
    Bound::Value(value) => bind_value!(out, value),
    Bound::Time(time) => out.push_bind_param::<Timestamp, _>(time)?,
});

#[cfg(feature = "mariadb")]
walk!(diesel::mysql::Mysql, diesel::mysql::MysqlConnection, Bound, (out, bound) => match bound {
    Bound::Value(value) => bind_value!(out, value),
    Bound::Time(time) => out.push_bind_param::<Timestamp, _>(time)?,
});

#[cfg(feature = "postgresql")]
walk!(diesel::pg::Pg, diesel::pg::PgConnection, Bound, (out, bound) => match bound {
    Bound::Value(value) => bind_value!(out, value),
    Bound::Time(time) => out.push_bind_param::<Timestamp, _>(time)?,
});

#[cfg(feature = "postgresql")]
use super::postgresql::Array;

#[cfg(feature = "postgresql")]
walk!(diesel::pg::Pg, diesel::pg::PgConnection, Array, (out, bound) => match bound {
    Array::Value(value) => bind_value!(out, value),
    Array::Time(time) => out.push_bind_param::<Timestamp, _>(time)?,
    Array::Ints(ints) => out.push_bind_param::<diesel::sql_types::Array<Nullable<BigInt>>, _>(ints)?,
    Array::Reals(reals) => out.push_bind_param::<diesel::sql_types::Array<Double>, _>(reals)?,
    Array::Texts(texts) => out.push_bind_param::<diesel::sql_types::Array<Nullable<Text>>, _>(texts)?,
});

/// Without a static id diesel finds the prepared statement by its text.
impl<B, T> QueryId for Statement<B, T> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<B, T> Query for Statement<B, T> {
    type SqlType = T;
}

/// Replaces each `{now}` by the placeholder, and binds the time.
pub fn bind_time<B: From<NaiveDateTime>>(
    text: &str,
    now: NaiveDateTime,
    placeholder: &str,
    bound: &mut Vec<B>,
) -> String {
    bound.extend(text.matches("{now}").map(|_| B::from(now)));
    text.replace("{now}", placeholder)
}
