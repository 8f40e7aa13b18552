//! INSERT of many rows in a compound statement of MariaDB, in chunks of 1, 2, 4, 8 … rows. Each chunk runs under a
//! condition of its own, and any number of rows is the sum of some chunks. So all numbers from one power of two to the
//! next share one text, which is prepared once.
//!
//! An INSERT with a placeholder for each value has a new text for each number of rows, and MariaDB parses the text for
//! about as long as the insert takes. An INSERT from a table of rows has one text, but holds the table's AUTO_INCREMENT
//! lock until the end.

use chrono::NaiveDateTime;

use crate::db::engines::rows::mariadb;
use crate::db::engines::rows::statement::{Bound, Fragment};
use crate::db::engines::rows::{InsertFromRows, Value};

/// Up to this many rows one plain INSERT is used, with a text for each number of rows.
const PLAIN_ROWS_MAX: usize = 4;
/// From this many rows on the text is prepared each time. The server keeps some hundred bytes for each placeholder of a
/// prepared statement.
const UNCACHED_ROWS_MIN: usize = 1024;

/// Whether an INSERT of this many rows has one of few texts, which are worth keeping prepared.
pub fn has_cacheable_text(rows: usize) -> bool {
    rows < UNCACHED_ROWS_MIN
}

/// The statements that insert the rows, and after this set the variable `placet_found` to the number of inserted rows.
pub fn chunked_insert_sql(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    if rows.len() <= PLAIN_ROWS_MAX || !has_cacheable_text(rows.len()) {
        let Fragment { text, bound } = mariadb::insert(insert, now, rows);
        let text = format!("{text}; SET placet_found = ROW_COUNT()");
        return Fragment { text, bound };
    }
    let null_row = vec![Value::MaybeInt(None); insert.columns.len()];
    let (mut text, mut bound) = ("SET placet_found = 0".to_owned(), Vec::new());
    let mut left = rows;
    for size in (0..=rows.len().ilog2()).rev().map(|power| 1 << power) {
        let is_used = left.len() >= size;
        let unused = if is_used {
            Vec::new()
        } else {
            vec![null_row.clone(); size]
        };
        let (chunk, rest) = left.split_at(if is_used { size } else { 0 });
        let part = mariadb::insert(insert, now, if is_used { chunk } else { &unused });
        text += &format!(
            "; IF ? THEN {}; SET placet_found = placet_found + ROW_COUNT(); END IF",
            part.text
        );
        bound.push(Bound::Value(Value::Int(is_used.into())));
        bound.extend(part.bound);
        left = rest;
    }
    Fragment { text, bound }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::engines::rows::Clock;

    const INSERT: InsertFromRows = InsertFromRows {
        table: "t",
        columns: &["a", "b"],
        clock: Clock::Host,
        is_repeatable: true,
    };

    fn insert_of(rows: i64) -> Fragment {
        let rows: Vec<_> = (0..rows)
            .map(|n| vec![Value::Int(n), Value::Text(n.to_string())])
            .collect();
        chunked_insert_sql(&INSERT, NaiveDateTime::default(), &rows)
    }

    #[test]
    fn every_row_is_in_one_chunk_and_similar_numbers_of_rows_share_a_text() {
        for rows in [1, 4, 5, 7, 8, 13, 31, 1023, 1024] {
            let Fragment { text, bound } = insert_of(rows);
            assert_eq!(bound.len(), text.matches('?').count(), "{rows}");
            let is_text = |it: &&Bound| matches!(it, Bound::Value(Value::Text(_)));
            assert_eq!(bound.iter().filter(is_text).count() as i64, rows);
        }
        assert_eq!(insert_of(5).text, insert_of(7).text);
        assert_ne!(insert_of(7).text, insert_of(8).text);
        assert!(!insert_of(1024).text.contains("IF"));
    }
}
