//! The resource classes and traits that every deployment has: the names of os-resource-classes and os-traits.
//!
//! `contrib/update-standard-names.sh` writes the lists. The id of a standard class is its position in the list.

use std::collections::HashSet;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::db::DbConnection;
use crate::db::engines::dialect::{self, insert_rows};
use crate::db::schema::{resource_classes, traits};

/// The first id of custom resource classes.
pub const FIRST_CUSTOM_CLASS: i32 = 10_000;

/// The standard resource classes, in the order of their ids, from 0.
pub fn classes() -> impl Iterator<Item = &'static str> {
    names(include_str!("standard/resource_classes.txt"))
}

/// The standard traits.
pub fn traits() -> impl Iterator<Item = &'static str> {
    names(include_str!("standard/traits.txt"))
}

fn names(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

#[derive(Insertable)]
#[diesel(table_name = resource_classes, treat_none_as_default_value = false)]
struct NewClass {
    id: i32,
    name: &'static str,
    created_at: NaiveDateTime,
}

#[derive(Insertable)]
#[diesel(table_name = traits, treat_none_as_default_value = false)]
struct NewTrait {
    name: &'static str,
    created_at: NaiveDateTime,
}

/// Adds the names that the database lacks. Runs at start, before a custom trait can be created: in a fresh database the
/// standard traits have the lower ids. Several processes may run `sync` at the same time. Returns the number of names.
pub fn sync(conn: &mut DbConnection) -> QueryResult<usize> {
    // Checked without a lock first: nearly every database has all names.
    let (classes, traits) = missing(conn)?;
    if classes.is_empty() && traits.is_empty() {
        return Ok(0);
    }
    dialect::write_transaction(conn, add_missing)
}

/// Looks up the missing names again under the lock, because a second process may have added some, and adds the rest.
fn add_missing(conn: &mut DbConnection) -> QueryResult<usize> {
    let (classes, traits) = missing(conn)?;
    let created_at = dialect::row_time(conn);
    let new_class = |(id, name)| NewClass { id, name, created_at };
    let classes: Vec<_> = classes.into_iter().map(new_class).collect();
    let new_trait = |name| NewTrait { name, created_at };
    let traits: Vec<_> = traits.into_iter().map(new_trait).collect();
    insert_rows!(conn, resource_classes::table, &classes, or_ignore)?;
    insert_rows!(conn, traits::table, &traits, or_ignore)?;
    Ok(classes.len() + traits.len())
}

/// The standard names that the tables lack: classes with their ids, and traits.
type Missing = (Vec<(i32, &'static str)>, Vec<&'static str>);

fn missing(conn: &mut DbConnection) -> QueryResult<Missing> {
    let existing: HashSet<String> = resource_classes::table
        .filter(resource_classes::id.lt(FIRST_CUSTOM_CLASS))
        .select(resource_classes::name)
        .load_iter(conn)?
        .collect::<QueryResult<_>>()?;
    let classes = (0..)
        .zip(classes())
        .filter(|(_, name)| !existing.contains(*name))
        .collect();
    let existing: HashSet<String> = traits::table
        .select(traits::name)
        .filter(traits::name.not_like("CUSTOM^_%").escape('^'))
        .load_iter(conn)?
        .collect::<QueryResult<_>>()?;
    let traits = traits().filter(|name| !existing.contains(*name)).collect();
    Ok((classes, traits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Database;
    use crate::db::tests::support::TestDatabase;

    fn counts(database: &Database) -> (i64, i64) {
        let count = |conn: &mut DbConnection| {
            Ok((
                resource_classes::table.count().get_result(conn)?,
                traits::table.count().get_result(conn)?,
            ))
        };
        database.read(count).expect("counts")
    }

    #[test]
    fn any_number_of_processes_add_each_name_once() {
        let (_kept, database) = TestDatabase::synced();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| sync(&mut database.connect().expect("a connection")).expect("sync"));
            }
        });
        assert_eq!(counts(&database), (classes().count() as i64, traits().count() as i64));

        let conn = &mut database.connect().expect("a connection");
        let class = |name| {
            resource_classes::table
                .filter(resource_classes::name.eq(name))
                .select(resource_classes::id)
        };
        assert_eq!(class("VCPU").first(conn), Ok(0));
        assert_eq!(class("PCPU").first(conn), Ok(14));
        diesel::delete(traits::table.filter(traits::name.eq("COMPUTE_NODE")))
            .execute(conn)
            .expect("a name gone");
        assert_eq!(sync(conn), Ok(1));
        let before = database.statements();
        assert_eq!(sync(conn), Ok(0));
        assert_eq!(
            database.statements() - before,
            2,
            "if nothing is missing, nothing is locked"
        );
    }
}
