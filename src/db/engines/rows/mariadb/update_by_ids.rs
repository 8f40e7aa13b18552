//! An update of at most 64 rows by their ids, as MariaDB's UPDATE of a single table. The guards are a list of rows, and
//! a CASE over the id gives each row its values.
//!
//! An update over a table of rows needs a temporary table and the code path for updates of several tables. That takes
//! MariaDB longer than all else that a claim writes. The CASE is searched from its beginning for each row, so it takes
//! the longer the more values differ; the list of guards is sorted once.

use chrono::NaiveDateTime;

use super::{Bound, Fragment, Value};
use crate::db::engines::dialect::padded;
use crate::db::engines::rows::UpdateFromRows;

/// The maximum number of rows. At about twice this number an update over a table of rows is as fast.
const ROWS_MAX: usize = 64;

/// The update, which changes the rows in the order of their ids. `None` if there are too many rows, or if the filter
/// does not find them by their ids.
///
/// If a guarded value is also used in an assignment, the assignment reads the guarded expression. So the columns of
/// that expression must not be assigned before it.
pub fn update_sql(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Option<Fragment> {
    let filter = update.filter.strip_prefix(update.table)?.strip_prefix(".id = v.id")?;
    let guard = |text: &'static str| {
        let (expression, column) = text.split_once(" = v.")?;
        Some(Guard { expression, column })
    };
    let guards: Option<Vec<Guard>> = filter.split(" AND ").skip(1).map(guard).collect();
    let guards = guards?;
    if !(1..=ROWS_MAX).contains(&rows.len()) {
        return None;
    }
    let mut statement = UpdateByIds {
        update,
        now,
        rows: padded(rows).collect(),
        guards,
        text: String::new(),
        bound: Vec::new(),
    };
    // Without the hint MariaDB scans a small table, and so locks the rows of other transactions, in any order.
    statement.text = format!("UPDATE {} FORCE INDEX (PRIMARY) SET ", update.table);
    statement.add_assignments();
    statement.add_filter();
    Some(Fragment {
        text: statement.text,
        bound: statement.bound,
    })
}

/// An expression over the table, and the column of the rows whose value it must have.
#[derive(Clone, Copy)]
struct Guard {
    expression: &'static str,
    column: &'static str,
}

/// The statement while it is put together.
struct UpdateByIds<'a> {
    update: &'a UpdateFromRows,
    now: NaiveDateTime,
    rows: Vec<&'a Vec<Value>>,
    guards: Vec<Guard>,
    text: String,
    bound: Vec<Bound>,
}

impl<'a> UpdateByIds<'a> {
    /// Copies the assignments word by word, and replaces `v.…` and `{now}`.
    fn add_assignments(&mut self) {
        const ENDS: [char; 4] = [' ', ',', '(', ')'];
        for word in self.update.set.split_inclusive(ENDS) {
            let name = word.trim_end_matches(ENDS);
            match name.strip_prefix("v.") {
                Some(column) => match self.guards.iter().find(|guard| guard.column == column) {
                    Some(guard) => self.text += guard.expression,
                    None => self.add_case(column),
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

    /// Adds a CASE over the id with the values of a column. The value of most rows is its ELSE.
    fn add_case(&mut self, column: &str) {
        let majority = self.majority(column);
        let others = self.rows.iter().filter(|row| self.value(row, column) != majority);
        let mut others: Vec<_> = others.copied().collect();
        others.dedup();
        if !others.is_empty() {
            self.text += &format!("CASE {}.id", self.update.table);
        }
        for row in padded(&others) {
            self.text += " WHEN ? THEN ?";
            self.bind(row, "id");
            self.bind(row, column);
        }
        self.text += if others.is_empty() { "?" } else { " ELSE ? END" };
        self.bound.extend(majority.cloned().map(Bound::from));
    }

    /// The value that more than half of the rows have in a column, by Boyer and Moore's majority vote. Any value, if
    /// none has the majority.
    fn majority(&self, column: &str) -> Option<&'a Value> {
        let (mut candidate, mut lead) = (None, 0);
        for row in &self.rows {
            let value = self.value(row, column);
            if lead == 0 {
                (candidate, lead) = (value, 1);
            } else if candidate == value {
                lead += 1;
            } else {
                lead -= 1;
            }
        }
        candidate
    }

    /// Adds the filter: the ids of the rows, and their guards.
    fn add_filter(&mut self) {
        let placeholders = vec!["?"; self.rows.len()].join(", ");
        self.text += &format!(" WHERE {}.id IN ({placeholders})", self.update.table);
        for row in self.rows.clone() {
            self.bind(row, "id");
        }
        if self.guards.is_empty() {
            return;
        }
        self.text += &format!(" AND ({}.id", self.update.table);
        for Guard { expression, column } in &self.guards {
            // In a comparison with a list of rows the left side decides whether case counts.
            let is_key = matches!(self.value(self.rows[0], column), Some(Value::Key(_)));
            self.text += &if is_key {
                format!(", CAST({expression} AS BINARY)")
            } else {
                format!(", {expression}")
            };
        }
        self.text += ") IN (";
        for (at, row) in self.rows.clone().into_iter().enumerate() {
            self.text += if at == 0 { "(?" } else { ", (?" };
            self.bind(row, "id");
            for guard in self.guards.clone() {
                self.text += ", ?";
                self.bind(row, guard.column);
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
        let at = self.update.columns.iter().position(|name| *name == column)?;
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
    fn rows_are_found_by_id_and_by_their_guards() {
        let Fragment { text, bound } = update_sql(&MOVE, NaiveDateTime::default(), &[row(7)]).expect("a text");
        assert_eq!(
            text,
            "UPDATE t FORCE INDEX (PRIMARY) SET n = COALESCE(t.n, 0) + ?, at = ? WHERE t.id IN (?) \
             AND (t.id, CAST(t.uuid AS BINARY), COALESCE(t.n, 0)) IN ((?, ?, ?))"
        );
        assert_eq!(bound.len(), text.matches('?').count());
    }

    #[test]
    fn there_is_one_text_for_each_power_of_two_rows() {
        let text_of = |rows: i64| {
            let rows: Vec<_> = (0..rows).map(row).collect();
            update_sql(&MOVE, NaiveDateTime::default(), &rows).map(|Fragment { text, bound }| {
                assert_eq!(bound.len(), text.matches('?').count());
                text
            })
        };
        assert_eq!(text_of(33), text_of(64));
        assert_ne!(text_of(32), text_of(33));
        let texts: std::collections::BTreeSet<_> = (9..=64).map(text_of).collect();
        assert_eq!(texts.len(), 3);
        assert!(text_of(64).is_some() && text_of(65).is_none() && text_of(0).is_none());
    }

    #[test]
    fn the_value_of_most_rows_is_the_else_of_the_case() {
        let rows = [moved(1, 7), moved(2, 1), moved(3, 1), moved(4, 2), moved(5, 1)];
        let Fragment { text, bound } = update_sql(&MOVE, NaiveDateTime::default(), &rows).expect("a text");
        let set = "SET n = COALESCE(t.n, 0) + CASE t.id WHEN ? THEN ? WHEN ? THEN ? ELSE ? END, at = ? WHERE";
        assert!(text.contains(set), "{text}");
        let first: Vec<i64> = bound[..5]
            .iter()
            .filter_map(|bound| match bound {
                Bound::Value(Value::Int(int)) => Some(*int),
                _ => None,
            })
            .collect();
        assert_eq!(first, [1, 7, 4, 2, 1]);
        assert_eq!(bound.len(), text.matches('?').count());
    }

    #[test]
    fn an_update_whose_filter_has_no_id_is_left_to_other_statements() {
        let other = UpdateFromRows {
            filter: "t.n = v.moves",
            ..MOVE
        };
        assert!(update_sql(&other, NaiveDateTime::default(), &[row(7)]).is_none());
    }
}
