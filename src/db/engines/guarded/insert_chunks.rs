//! An INSERT of many rows within a compound statement whose text is the same for about as many: blocks of 1, 2, 4, 8 … rows,
//! each with a condition of its own. A number is the sum of some of them.
//!
//! To read a text with a place for each value takes MariaDB about as long as to insert the rows: what is prepared once is to
//! be used again. One INSERT from a table of rows, which has one text, keeps the counter of the ids to itself until it ends.

use chrono::NaiveDateTime;

use crate::db::engines::rows::mariadb::{Table, inserting};
use crate::db::engines::rows::statement::Bound;
use crate::db::engines::rows::{InsertFromRows, Value};

/// So few rows have a text for each number of them.
const EXACTLY: usize = 4;
/// Of so many rows and more the text is prepared each time: the server keeps what is prepared, some hundred bytes a place.
const KEPT_BELOW: usize = 1024;

/// Whether there are few texts for about as many rows.
pub fn has_kept_text(rows: usize) -> bool {
    rows < KEPT_BELOW
}

/// The statements, after which `placet_found` says how many rows they made.
pub fn inserting_blocks(it: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Table {
    if rows.len() <= EXACTLY || !has_kept_text(rows.len()) {
        let (text, bound) = inserting(it, now, rows);
        return (format!("{text}; SET placet_found = ROW_COUNT()"), bound);
    }
    let nothing = vec![Value::MaybeInt(None); it.columns.len()];
    let (mut text, mut bound) = ("SET placet_found = 0".to_owned(), Vec::new());
    let mut left = rows;
    for size in (0..=rows.len().ilog2()).rev().map(|power| 1 << power) {
        let is_used = left.len() >= size;
        let unused = if is_used {
            Vec::new()
        } else {
            vec![nothing.clone(); size]
        };
        let (block, rest) = left.split_at(if is_used { size } else { 0 });
        let (insert, values) = inserting(it, now, if is_used { block } else { &unused });
        text += &format!("; IF ? THEN {insert}; SET placet_found = placet_found + ROW_COUNT(); END IF");
        bound.push(Bound::Value(Value::Int(is_used.into())));
        bound.extend(values);
        left = rest;
    }
    (text, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSERT: InsertFromRows = InsertFromRows {
        table: "t",
        columns: &["a", "b"],
    };

    fn inserting(rows: i64) -> Table {
        let rows: Vec<_> = (0..rows)
            .map(|n| vec![Value::Int(n), Value::Text(n.to_string())])
            .collect();
        inserting_blocks(&INSERT, NaiveDateTime::default(), &rows)
    }

    #[test]
    fn every_row_is_in_a_block_and_the_text_that_of_about_as_many() {
        for rows in [1, 4, 5, 7, 8, 13, 31, 1023, 1024] {
            let (text, bound) = inserting(rows);
            assert_eq!(bound.len(), text.matches('?').count(), "{rows}");
            let named = |it: &&Bound| matches!(it, Bound::Value(Value::Text(_)));
            assert_eq!(bound.iter().filter(named).count() as i64, rows);
        }
        assert_eq!(inserting(5).0, inserting(7).0);
        assert_ne!(inserting(7).0, inserting(8).0);
        assert!(!inserting(1024).0.contains("IF"));
    }
}
