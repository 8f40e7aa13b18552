//! The condition on a text column to have a key of a list, in few texts. Each text is prepared once; diesel's own
//! `eq_any` is prepared each time.

use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Bool, HasSqlType, Text};
use diesel::sqlite::Sqlite;

use super::padded;

/// `column IN (keys)`, with at least a single key.
#[derive(Debug, Clone)]
pub struct Among<'a, C> {
    column: C,
    keys: &'a [&'a str],
}

/// The condition `column IN (keys)`. `keys` must not be empty.
pub fn among<'a, C: Expression<SqlType = Text>>(column: C, keys: &'a [&'a str]) -> Among<'a, C> {
    Among { column, keys }
}

/// The keys as a list of placeholders, padded to a power of two.
fn walk_list<'b, C, DB>(among: &'b Among<'_, C>, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()>
where
    DB: Backend + HasSqlType<Text>,
    C: QueryFragment<DB>,
    str: ToSql<Text, DB>,
{
    debug_assert!(!among.keys.is_empty(), "IN needs at least one key");
    among.column.walk_ast(out.reborrow())?;
    for (at, key) in padded(among.keys).enumerate() {
        out.push_sql(if at == 0 { " IN (" } else { ", " });
        out.push_bind_param::<Text, str>(key)?;
    }
    out.push_sql(")");
    Ok(())
}

impl<C: QueryFragment<Sqlite>> QueryFragment<Sqlite> for Among<'_, C> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        walk_list(self, out)
    }
}

#[cfg(feature = "mariadb")]
impl<C: QueryFragment<diesel::mysql::Mysql>> QueryFragment<diesel::mysql::Mysql> for Among<'_, C> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, diesel::mysql::Mysql>) -> QueryResult<()> {
        walk_list(self, out)
    }
}

/// PostgreSQL binds all keys as one array.
#[cfg(feature = "postgresql")]
impl<C: QueryFragment<diesel::pg::Pg>> QueryFragment<diesel::pg::Pg> for Among<'_, C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, diesel::pg::Pg>) -> QueryResult<()> {
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" = ANY(");
        out.push_bind_param::<diesel::sql_types::Array<Text>, _>(&self.keys)?;
        out.push_sql(")");
        Ok(())
    }
}

/// Without a static id diesel finds the prepared statement by its text.
impl<C> QueryId for Among<'_, C> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C: Expression> Expression for Among<'_, C> {
    type SqlType = Bool;
}

impl<C> ValidGrouping<()> for Among<'_, C> {
    type IsAggregate = is_aggregate::No;
}

impl<S, C: AppearsOnTable<S>> AppearsOnTable<S> for Among<'_, C> {}

impl<S, C: SelectableExpression<S>> SelectableExpression<S> for Among<'_, C> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::schema::resource_providers as t;

    fn text(keys: &[&str]) -> String {
        let query = t::table.filter(among(t::uuid, keys)).select(t::id);
        diesel::debug_query::<Sqlite, _>(&query).to_string()
    }

    #[test]
    fn keys_are_padded_to_a_power_of_two_and_the_text_is_cached() {
        let placeholders = |keys: &[&str]| text(keys).matches('?').count();
        assert_eq!(placeholders(&["a"]), 1);
        assert_eq!(placeholders(&["a", "b", "c"]), 4);
        assert_eq!(placeholders(&["a"; 64]), 64);
        assert!(
            text(&["a", "b", "c"]).ends_with(r#"["a", "b", "c", "c"]"#),
            "{}",
            text(&["a", "b", "c"])
        );
        let query = t::table.filter(among(t::uuid, &["a", "b"])).select(t::id);
        assert!(QueryFragment::<Sqlite>::is_safe_to_cache_prepared(&query, &Sqlite).unwrap());
    }
}
