//! The limits of a statement's lists, and the split of longer lists.

use diesel::prelude::*;

use crate::db::DbConnection;

/// The maximum number of bound values in a statement of placet. SQLite accepts 32,766, PostgreSQL and MariaDB 65,535.
pub const LIST_MAX: usize = 30_000;

/// The maximum number of rows of a statement with `values` bound values for each row. On SQLite a single row, because a
/// longer statement saves no round trip.
pub fn rows_at_once(conn: &DbConnection, values: usize) -> usize {
    if matches!(conn, DbConnection::Sqlite(_)) {
        1
    } else {
        LIST_MAX / values
    }
}

/// The maximum number of rows of an INSERT. No table has more than eleven columns.
const ROWS_MAX: usize = LIST_MAX / 11;

/// Runs an insert for each chunk of rows. Returns the sum of the counts.
pub fn each_chunk<R>(rows: &[R], mut insert: impl FnMut(&[R]) -> QueryResult<usize>) -> QueryResult<usize> {
    rows.chunks(ROWS_MAX).try_fold(0, |sum, chunk| Ok(sum + insert(chunk)?))
}

/// The maximum number of rows that one statement locks. MariaDB's bound for the wait for a lock (`LOCK_WAIT`) also
/// counts the working time of a statement. Locking a row takes some microseconds, so this many rows take a small part
/// of the bound, on slow machines too.
const LOCKED_ROWS_MAX: usize = 500;

/// Runs a query for each chunk of keys. Returns the results of all queries.
pub fn in_lists<K, T>(keys: &[K], query: impl FnMut(&[K]) -> QueryResult<Vec<T>>) -> QueryResult<Vec<T>> {
    in_chunks(keys, LIST_MAX, query)
}

/// As [`in_lists`], for a query that locks its rows (`lock_rows!`). The keys are in the order of locking.
pub fn lock_in_lists<K, T>(keys: &[K], query: impl FnMut(&[K]) -> QueryResult<Vec<T>>) -> QueryResult<Vec<T>> {
    in_chunks(keys, LOCKED_ROWS_MAX, query)
}

fn in_chunks<K, T>(
    keys: &[K],
    keys_max: usize,
    mut query: impl FnMut(&[K]) -> QueryResult<Vec<T>>,
) -> QueryResult<Vec<T>> {
    let mut found = Vec::new();
    for chunk in keys.chunks(keys_max) {
        found.append(&mut query(chunk)?);
    }
    Ok(found)
}

/// Repeats the last item until the length is a power of two. So statements over any number of items have few texts.
pub fn padded<T>(all: &[T]) -> impl Iterator<Item = &T> {
    (0..all.len().next_power_of_two()).filter_map(|at| all.get(at).or(all.last()))
}

#[cfg(test)]
mod tests {
    use super::{LOCKED_ROWS_MAX, lock_in_lists, padded};

    #[test]
    fn a_statement_locks_few_of_many_rows() {
        let keys: Vec<usize> = (0..12_000).collect();
        let mut statements = 0;
        let locked = lock_in_lists(&keys, |keys| {
            statements += 1;
            assert!(keys.len() <= LOCKED_ROWS_MAX);
            Ok(keys.to_vec())
        });
        assert_eq!((locked, statements), (Ok(keys), 24));
    }

    #[test]
    fn a_list_is_padded_with_its_last_item_to_a_power_of_two() {
        let five: Vec<_> = padded(&[1, 2, 3, 4, 5]).copied().collect();
        assert_eq!(five, [1, 2, 3, 4, 5, 5, 5, 5]);
        assert_eq!(padded(&[1, 2, 3, 4]).count(), 4);
        assert_eq!(padded::<u8>(&[]).count(), 0);
    }
}
