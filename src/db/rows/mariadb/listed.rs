//! An update of few rows that are found by their ids, as one of a single table: what each of them is given is looked up by its
//! id in the text itself.
//!
//! A table of rows costs a temporary one and the way for updates of several tables, which takes MariaDB longer than all else
//! that a claim writes. To look values up one by one takes the longer the more rows there are.

use chrono::NaiveDateTime;

use super::super::UpdateFromRows;
use super::{Bound, Table, Value};

/// Of so many rows at most: from about twice as many on a table of them is as quick.
const LISTED_MAX: usize = 64;

/// The rows come in the order of their ids, whichever they have here. `None` where there are too many, or where they are
/// found by something else.
pub fn updating(it: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Option<Table> {
    let filter = it.filter.strip_prefix(it.table)?.strip_prefix(".id = v.id")?;
    if !(1..=LISTED_MAX).contains(&rows.len()) {
        return None;
    }
    let mut listed = Listed::of(it, now, rows);
    // A scan, which is quicker where there are few rows, would lock those of others, and in whatever order.
    listed.text = format!("UPDATE {} FORCE INDEX (PRIMARY) SET ", it.table);
    listed.add(it.set);
    listed.text += &format!(
        " WHERE {}.id IN ({})",
        it.table,
        vec!["?"; listed.rows.len()].join(", ")
    );
    listed.bind_column("id");
    listed.add(filter);
    Some((listed.text, listed.bound))
}

struct Listed<'a> {
    it: &'a UpdateFromRows,
    now: NaiveDateTime,
    rows: Vec<&'a Vec<Value>>,
    text: String,
    bound: Vec<Bound>,
}

impl<'a> Listed<'a> {
    /// As many rows as the next power of two, the last one in the places that are left over: few texts, however many there are.
    fn of(it: &'a UpdateFromRows, now: NaiveDateTime, rows: &'a [Vec<Value>]) -> Listed<'a> {
        let places = 0..rows.len().next_power_of_two();
        Listed {
            it,
            now,
            rows: places.filter_map(|at| rows.get(at).or(rows.last())).collect(),
            text: String::new(),
            bound: Vec::new(),
        }
    }

    /// Adds what is set, or a condition, word by word.
    fn add(&mut self, expression: &str) {
        const ENDS: [char; 4] = [' ', ',', '(', ')'];
        for word in expression.split_inclusive(ENDS) {
            let name = word.trim_end_matches(ENDS);
            match name.strip_prefix("v.") {
                Some(column) => self.look_up(column),
                None if name == "{now}" => {
                    self.text.push('?');
                    self.bound.push(self.now.into());
                }
                None => self.text += name,
            }
            self.text += &word[name.len()..];
        }
    }

    /// The value of a column, by the id of the row.
    fn look_up(&mut self, column: &str) {
        self.text += &format!("CASE {}.id", self.it.table);
        for row in self.rows.clone() {
            let is_key = matches!(self.value(row, column), Some(Value::Key(_)));
            self.text += if is_key {
                " WHEN ? THEN CAST(? AS BINARY)"
            } else {
                " WHEN ? THEN ?"
            };
            self.bind(row, "id");
            self.bind(row, column);
        }
        self.text += " END";
    }

    fn bind_column(&mut self, column: &str) {
        for row in self.rows.clone() {
            self.bind(row, column);
        }
    }

    fn bind(&mut self, row: &[Value], column: &str) {
        let value = self.value(row, column).cloned();
        self.bound.extend(value.map(Bound::from));
    }

    fn value<'b>(&self, row: &'b [Value], column: &str) -> Option<&'b Value> {
        let at = self.it.columns.iter().position(|it| *it == column)?;
        row.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOVE: UpdateFromRows = UpdateFromRows {
        table: "t",
        columns: &["id", "uuid", "moves"],
        set: "n = v.moves + 1, at = {now}",
        filter: "t.id = v.id AND t.uuid = v.uuid AND COALESCE(t.n, 0) = v.moves",
    };

    fn row(id: i64) -> Vec<Value> {
        vec![Value::Int(id), Value::Key("u".into()), Value::Int(id)]
    }

    #[test]
    fn values_are_looked_up_by_id() {
        let (text, bound) = updating(&MOVE, NaiveDateTime::default(), &[row(7)]).expect("a text");
        assert_eq!(
            text,
            "UPDATE t FORCE INDEX (PRIMARY) SET n = CASE t.id WHEN ? THEN ? END + 1, at = ? WHERE t.id IN (?) \
             AND t.uuid = CASE t.id WHEN ? THEN CAST(? AS BINARY) END AND COALESCE(t.n, 0) = CASE t.id WHEN ? THEN ? END"
        );
        assert_eq!(bound.len(), text.matches('?').count());
    }

    #[test]
    fn there_are_few_texts() {
        let many = |rows: i64| {
            let rows: Vec<_> = (0..rows).map(row).collect();
            updating(&MOVE, NaiveDateTime::default(), &rows).map(|(text, bound)| {
                assert_eq!(bound.len(), text.matches('?').count());
                text
            })
        };
        assert_eq!(many(5), many(8));
        assert_ne!(many(8), many(9));
        assert!(many(64).is_some() && many(65).is_none() && many(0).is_none());
    }

    #[test]
    fn rows_that_are_found_otherwise_are_not_listed() {
        let other = UpdateFromRows {
            filter: "t.n = v.moves",
            ..MOVE
        };
        assert!(updating(&other, NaiveDateTime::default(), &[row(7)]).is_none());
    }
}
