//! How much of a list one statement takes.

use diesel::prelude::*;

use crate::db::DbConnection;

/// How many values one statement takes as a list: SQLite binds at most 32,766, the others 65,535.
pub const LIST_MAX: usize = 30_000;

/// How many rows of so many values a statement takes. SQLite one: within the process there is no way to a server to save.
pub fn rows_at_once(conn: &DbConnection, values: usize) -> usize {
    if matches!(conn, DbConnection::Sqlite(_)) {
        1
    } else {
        LIST_MAX / values
    }
}

/// How many rows one INSERT takes: no table has more columns than eleven.
const ROWS_MAX: usize = LIST_MAX / 11;

/// Runs an insert for each chunk of rows that one statement can take, and adds up what each counted.
pub fn each_chunk<R>(rows: &[R], mut insert: impl FnMut(&[R]) -> QueryResult<usize>) -> QueryResult<usize> {
    rows.chunks(ROWS_MAX).try_fold(0, |sum, chunk| Ok(sum + insert(chunk)?))
}

/// Runs a query for each part of a list that one statement can take, and joins what they found.
pub fn in_lists<K, T>(keys: &[K], mut query: impl FnMut(&[K]) -> QueryResult<Vec<T>>) -> QueryResult<Vec<T>> {
    let mut found = Vec::new();
    for list in keys.chunks(LIST_MAX) {
        found.append(&mut query(list)?);
    }
    Ok(found)
}

/// As many as the next power of two, the last one in the places that are left over: statements have few texts, however many
/// there are.
pub fn padded<T>(all: &[T]) -> impl Iterator<Item = &T> {
    (0..all.len().next_power_of_two()).filter_map(|at| all.get(at).or(all.last()))
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn the_last_one_fills_up_to_a_power_of_two() {
        let five: Vec<_> = padded(&[1, 2, 3, 4, 5]).copied().collect();
        assert_eq!(five, [1, 2, 3, 4, 5, 5, 5, 5]);
        assert_eq!(padded(&[1, 2, 3, 4]).count(), 4);
        assert_eq!(padded::<u8>(&[]).count(), 0);
    }
}
