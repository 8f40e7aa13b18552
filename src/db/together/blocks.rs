//! An INSERT of many rows within a compound statement whose text is the same for about as many: most rows at once, and the
//! rest in blocks of 1, 2, 4, 8 … rows, each with a condition of its own.
//!
//! To read a text with a place for each value takes MariaDB about as long as to insert the rows: what is prepared once is to
//! be used again. One INSERT from a table of rows, which has one text, keeps the counter of the ids to itself until it ends.

use chrono::NaiveDateTime;

use crate::db::rows::mariadb::{Table, inserting};
use crate::db::rows::statement::Bound;
use crate::db::rows::{InsertFromRows, Value};

/// Below so many rows there are four texts for each doubling: a place that nothing is put into costs too. Of more, one: the
/// server keeps what is prepared, some hundred bytes a place.
const FOUR_BELOW: usize = 64;
/// Of so many rows and more the text is prepared each time.
const KEPT_BELOW: usize = 1024;

/// Whether there are few texts for about as many rows.
pub fn has_kept_text(rows: usize) -> bool {
    rows < KEPT_BELOW
}

/// The statements, after which `placet_found` says how many rows they made.
pub fn inserting_blocks(it: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Table {
    let step = match 1 << rows.len().max(1).ilog2() {
        _ if !has_kept_text(rows.len()) => 1,
        power if power < FOUR_BELOW => (power / 4).max(1),
        power => 2 * power,
    };
    let (always, mut left) = rows.split_at(rows.len() / step * step);
    let (mut text, mut bound) = match always {
        [] => ("SET placet_found = 0".to_owned(), Vec::new()),
        _ => {
            let (insert, bound) = inserting(it, now, always);
            (format!("{insert}; SET placet_found = ROW_COUNT()"), bound)
        }
    };
    let nothing = vec![Value::MaybeInt(None); it.columns.len()];
    for size in (0..step.ilog2()).rev().map(|power| 1 << power) {
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
        for rows in [1, 4, 5, 7, 8, 13, 31, 63, 64, 127, 1023, 1024] {
            let (text, bound) = inserting(rows);
            assert_eq!(bound.len(), text.matches('?').count(), "{rows}");
            let named = |it: &&Bound| matches!(it, Bound::Value(Value::Text(_)));
            assert_eq!(bound.iter().filter(named).count() as i64, rows);
        }
        assert_eq!(inserting(16).0, inserting(19).0);
        assert_ne!(inserting(19).0, inserting(20).0);
        assert_eq!(inserting(64).0, inserting(127).0);
        let texts: std::collections::BTreeSet<String> = (8..64).map(|rows| inserting(rows).0).collect();
        assert_eq!(texts.len(), 12);
        assert!(!inserting(1024).0.contains("IF"));
    }
}
