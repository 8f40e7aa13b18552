//! A statement as text, with a `?` for each value that is bound and no other question mark.

use std::marker::PhantomData;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable, Text, Timestamp};
use diesel::sqlite::{Sqlite, SqliteConnection};

use super::Value;

/// What is bound, of any engine.
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

/// See the module. `B`: what is bound; `T`: the type of the one column that it returns.
#[derive(Debug)]
pub struct Statement<B = Bound, T = BigInt> {
    pub text: String,
    pub bound: Vec<B>,
    /// Whether the text is the same however many rows it is about: then a connection prepares it once and keeps it.
    pub is_kept: bool,
    returns: PhantomData<T>,
}

impl<B> Statement<B> {
    /// One whose text differs with the number of rows.
    pub fn once(text: String, bound: Vec<B>) -> Statement<B> {
        Statement {
            text,
            bound,
            is_kept: false,
            returns: PhantomData,
        }
    }

    /// One whose text is always the same.
    pub fn kept<T>(text: String, bound: Vec<B>) -> Statement<B, T> {
        Statement {
            text,
            bound,
            is_kept: true,
            returns: PhantomData,
        }
    }
}

/// Walks a statement of one backend: its text piece by piece, and between them what `$bind` makes of each bound value.
macro_rules! walk {
    ($backend:ty, $connection:ty, $bound:ty, ($out:ident, $it:ident) => $bind:expr) => {
        impl<T> QueryFragment<$backend> for Statement<$bound, T> {
            fn walk_ast<'b>(&'b self, mut $out: AstPass<'_, 'b, $backend>) -> QueryResult<()> {
                if !self.is_kept {
                    $out.unsafe_to_cache_prepared();
                }
                let mut pieces = self.text.split('?');
                $out.push_sql(pieces.next().unwrap_or_default());
                for (piece, $it) in pieces.zip(&self.bound) {
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
            Value::Int(it) => $out.push_bind_param::<BigInt, _>(it)?,
            Value::MaybeInt(it) => $out.push_bind_param::<Nullable<BigInt>, _>(it)?,
            Value::Real(it) => $out.push_bind_param::<Double, _>(it)?,
            Value::Text(it) | Value::Key(it) => $out.push_bind_param::<Text, _>(it)?,
        }
    };
}

walk!(Sqlite, SqliteConnection, Bound, (out, it) => match it {
    Bound::Value(it) => bind_value!(out, it),
    Bound::Time(it) => out.push_bind_param::<Timestamp, _>(it)?,
});

#[cfg(feature = "mariadb")]
walk!(diesel::mysql::Mysql, diesel::mysql::MysqlConnection, Bound, (out, it) => match it {
    Bound::Value(it) => bind_value!(out, it),
    Bound::Time(it) => out.push_bind_param::<Timestamp, _>(it)?,
});

#[cfg(feature = "postgresql")]
walk!(diesel::pg::Pg, diesel::pg::PgConnection, Bound, (out, it) => match it {
    Bound::Value(it) => bind_value!(out, it),
    Bound::Time(it) => out.push_bind_param::<Timestamp, _>(it)?,
});

#[cfg(feature = "postgresql")]
use super::postgresql::Array;

#[cfg(feature = "postgresql")]
walk!(diesel::pg::Pg, diesel::pg::PgConnection, Array, (out, it) => match it {
    Array::Value(it) => bind_value!(out, it),
    Array::Time(it) => out.push_bind_param::<Timestamp, _>(it)?,
    Array::Ints(it) => out.push_bind_param::<diesel::sql_types::Array<Nullable<BigInt>>, _>(it)?,
    Array::Reals(it) => out.push_bind_param::<diesel::sql_types::Array<Double>, _>(it)?,
    Array::Texts(it) => out.push_bind_param::<diesel::sql_types::Array<Nullable<Text>>, _>(it)?,
});

/// It is known by its text, which diesel keeps together with what was prepared.
impl<B, T> QueryId for Statement<B, T> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<B, T> Query for Statement<B, T> {
    type SqlType = T;
}

/// Text with what `{now}` stands for in it, which is bound too.
pub fn timed<B: From<NaiveDateTime>>(text: &str, now: NaiveDateTime, place: &str, bound: &mut Vec<B>) -> String {
    bound.extend(text.matches("{now}").map(|_| B::from(now)));
    text.replace("{now}", place)
}
