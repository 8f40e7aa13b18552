//! An update of few rows that are found by their ids, as one of a single table: what each of them must be is one list, and what
//! each is given is looked up by its id in the text itself.
//!
//! A table of rows costs a temporary one and the way for updates of several tables, which takes MariaDB longer than all else
//! that a claim writes. Values are looked up one by one, and the longer the more of them differ; the list is sorted once.

use chrono::NaiveDateTime;

use super::{Bound, Table, Value};
use crate::db::engines::dialect::padded;
use crate::db::engines::rows::UpdateFromRows;

/// Of so many rows at most: from about twice as many on a table of them is as quick.
const LISTED_MAX: usize = 64;

/// The rows come in the order of their ids, whichever they have here. `None` where there are too many, or where they are
/// found by something else.
///
/// What a row must be is not looked up again where it is set: there the column itself is read, so none of those may be set
/// before.
pub fn updating(it: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Option<Table> {
    let filter = it.filter.strip_prefix(it.table)?.strip_prefix(".id = v.id")?;
    let guards: Option<Vec<(&str, &str)>> = filter.split(" AND ").skip(1).map(|it| it.split_once(" = v.")).collect();
    let guards = guards?;
    if !(1..=LISTED_MAX).contains(&rows.len()) {
        return None;
    }
    let mut listed = Listed::of(it, now, rows, guards);
    // A scan, which is quicker where there are few rows, would lock those of others, and in whatever order.
    listed.text = format!("UPDATE {} FORCE INDEX (PRIMARY) SET ", it.table);
    listed.set();
    listed.find();
    Some((listed.text, listed.bound))
}

struct Listed<'a> {
    it: &'a UpdateFromRows,
    now: NaiveDateTime,
    rows: Vec<&'a Vec<Value>>,
    /// An expression, and the column whose value it must have.
    guards: Vec<(&'a str, &'a str)>,
    text: String,
    bound: Vec<Bound>,
}

impl<'a> Listed<'a> {
    fn of(it: &'a UpdateFromRows, now: NaiveDateTime, rows: &'a [Vec<Value>], guards: Vec<(&'a str, &'a str)>) -> Self {
        Listed {
            it,
            now,
            rows: padded(rows).collect(),
            guards,
            text: String::new(),
            bound: Vec::new(),
        }
    }

    /// Adds what is set, word by word.
    fn set(&mut self) {
        const ENDS: [char; 4] = [' ', ',', '(', ')'];
        for word in self.it.set.split_inclusive(ENDS) {
            let name = word.trim_end_matches(ENDS);
            match name.strip_prefix("v.") {
                Some(column) => match self.guards.iter().find(|(_, guarded)| *guarded == column) {
                    Some((expression, _)) => self.text += expression,
                    None => self.look_up(column),
                },
                None if name == "{now}" => {
                    self.text.push('?');
                    self.bound.push(self.now.into());
                }
                None => self.text += name,
            }
            self.text += &word[name.len()..];
        }
    }

    /// The value of a column, by the id of the row where it is not what most rows have.
    fn look_up(&mut self, column: &str) {
        let usual = self.usual(column);
        let others = self.rows.iter().filter(|row| self.value(row, column) != usual);
        let mut others: Vec<_> = others.copied().collect();
        others.dedup();
        if !others.is_empty() {
            self.text += &format!("CASE {}.id", self.it.table);
        }
        for row in padded(&others) {
            self.text += " WHEN ? THEN ?";
            self.bind(row, "id");
            self.bind(row, column);
        }
        self.text += if others.is_empty() { "?" } else { " ELSE ? END" };
        self.bound.extend(usual.cloned().map(Bound::from));
    }

    /// What more than half of the rows have of a column, if anything: of two that differ neither counts.
    fn usual(&self, column: &str) -> Option<&'a Value> {
        let mut usual = (None, 0);
        for row in &self.rows {
            let value = self.value(row, column);
            usual = match usual {
                (_, 0) => (value, 1),
                (it, lead) if it == value => (it, lead + 1),
                (it, lead) => (it, lead - 1),
            };
        }
        usual.0
    }

    /// Adds which rows these are, and what each of them must be.
    fn find(&mut self) {
        let places = vec!["?"; self.rows.len()].join(", ");
        self.text += &format!(" WHERE {}.id IN ({places})", self.it.table);
        for row in self.rows.clone() {
            self.bind(row, "id");
        }
        if self.guards.is_empty() {
            return;
        }
        self.text += &format!(" AND ({}.id", self.it.table);
        for (expression, column) in &self.guards {
            // In a list of rows it is the left side that says whether case counts.
            let is_key = matches!(self.value(self.rows[0], column), Some(Value::Key(_)));
            self.text += &match is_key {
                true => format!(", CAST({expression} AS BINARY)"),
                false => format!(", {expression}"),
            };
        }
        self.text += ") IN (";
        for (at, row) in self.rows.clone().into_iter().enumerate() {
            self.text += if at == 0 { "(?" } else { ", (?" };
            self.bind(row, "id");
            for (_, column) in self.guards.clone() {
                self.text += ", ?";
                self.bind(row, column);
            }
            self.text.push(')');
        }
        self.text.push(')');
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
        columns: &["id", "uuid", "was", "moves"],
        set: "n = v.was + v.moves, at = {now}",
        filter: "t.id = v.id AND t.uuid = v.uuid AND COALESCE(t.n, 0) = v.was",
    };

    fn row(id: i64) -> Vec<Value> {
        moved(id, 1)
    }

    fn moved(id: i64, moves: i64) -> Vec<Value> {
        vec![
            Value::Int(id),
            Value::Key("u".into()),
            Value::Int(id),
            Value::Int(moves),
        ]
    }

    #[test]
    fn values_are_looked_up_by_id() {
        let (text, bound) = updating(&MOVE, NaiveDateTime::default(), &[row(7)]).expect("a text");
        assert_eq!(
            text,
            "UPDATE t FORCE INDEX (PRIMARY) SET n = COALESCE(t.n, 0) + ?, at = ? WHERE t.id IN (?) \
             AND (t.id, CAST(t.uuid AS BINARY), COALESCE(t.n, 0)) IN ((?, ?, ?))"
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
        assert_eq!(many(33), many(64));
        assert_ne!(many(32), many(33));
        let texts: std::collections::BTreeSet<_> = (9..=64).map(many).collect();
        assert_eq!(texts.len(), 3);
        assert!(many(64).is_some() && many(65).is_none() && many(0).is_none());
    }

    #[test]
    fn what_most_rows_are_given_is_not_looked_up() {
        let rows = [moved(1, 7), moved(2, 1), moved(3, 1), moved(4, 2), moved(5, 1)];
        let (text, bound) = updating(&MOVE, NaiveDateTime::default(), &rows).expect("a text");
        let set = "SET n = COALESCE(t.n, 0) + CASE t.id WHEN ? THEN ? WHEN ? THEN ? ELSE ? END, at = ? WHERE";
        assert!(text.contains(set), "{text}");
        let first: Vec<i64> = bound[..5]
            .iter()
            .filter_map(|it| match it {
                Bound::Value(Value::Int(it)) => Some(*it),
                _ => None,
            })
            .collect();
        assert_eq!(first, [1, 7, 4, 2, 1]);
        assert_eq!(bound.len(), text.matches('?').count());
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
