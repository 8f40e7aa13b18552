//! Subtracts pre-inserted rows from the writes of a batch plan.

use super::GuardedWrite;

/// Returns `writes` without the rows and keys of `done`, which must be among theirs and in the same order. A write of
/// which nothing is left is left out. `None` if `done` has a row or key that is not in `writes`.
pub fn subtract(writes: Vec<GuardedWrite>, done: &[GuardedWrite]) -> Option<Vec<GuardedWrite>> {
    done.iter().try_fold(writes, |mut writes, done| {
        let (at, left) = writes
            .iter()
            .enumerate()
            .find_map(|(at, write)| Some((at, write.without(done)?)))?;
        writes.splice(at..=at, left);
        Some(writes)
    })
}

impl GuardedWrite {
    /// Returns what is left of the write without `done`, or `Some(None)` if that is nothing. `None` if `done` is not a
    /// part of the write.
    fn without(&self, done: &GuardedWrite) -> Option<Option<GuardedWrite>> {
        match (self, done) {
            (GuardedWrite::Insert(insert, rows), GuardedWrite::Insert(other, done)) if insert.table == other.table => {
                without(rows, done).map(|left| (!left.is_empty()).then_some(GuardedWrite::Insert(*insert, left)))
            }
            (GuardedWrite::AssertNone(count, keys), GuardedWrite::AssertNone(other, done))
                if count.table == other.table =>
            {
                without(keys, done).map(|left| (!left.is_empty()).then_some(GuardedWrite::AssertNone(*count, left)))
            }
            _ => None,
        }
    }
}

fn without<T: PartialEq + Clone>(all: &[T], done: &[T]) -> Option<Vec<T>> {
    let mut done = done.iter().peekable();
    let left = all.iter().filter(|each| done.next_if_eq(each).is_none());
    let left = left.cloned().collect();
    done.peek().is_none().then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::engines::rows::{Clock, CountFrom, CountKeys, InsertFromRows, Value};

    fn insert(table: &'static str, numbers: &[i64]) -> GuardedWrite {
        let insert = InsertFromRows {
            table,
            columns: &["n"],
            clock: Clock::Host,
            is_repeatable: true,
        };
        GuardedWrite::Insert(insert, numbers.iter().map(|n| vec![Value::Int(*n)]).collect())
    }

    fn assert_none(keys: &[&str]) -> GuardedWrite {
        let count = CountKeys {
            table: "t",
            column: "k",
        };
        GuardedWrite::AssertNone(count, keys.iter().map(|key| (*key).to_owned()).collect())
    }

    fn shown(writes: &[GuardedWrite]) -> String {
        format!("{writes:?}")
    }

    #[test]
    fn pre_inserted_rows_are_left_out_and_so_is_a_write_without_rows() {
        let exists = GuardedWrite::AssertExists(CountFrom("t".to_owned()), Vec::new());
        let writes = || {
            vec![
                insert("t", &[1, 2, 3, 4]),
                assert_none(&["a", "b"]),
                exists.clone(),
                insert("u", &[5]),
            ]
        };
        let left = |done: &[GuardedWrite]| subtract(writes(), done).map(|writes| shown(&writes));
        assert_eq!(left(&[]), Some(shown(&writes())));
        let done = [
            insert("t", &[1, 3]),
            assert_none(&["b"]),
            insert("u", &[5]),
            insert("t", &[2]),
        ];
        assert_eq!(
            left(&done),
            Some(shown(&[insert("t", &[4]), assert_none(&["a"]), exists.clone()]))
        );
    }

    #[test]
    fn a_pre_insert_that_the_plan_no_longer_has_is_noticed() {
        let writes = || vec![insert("t", &[1, 2, 3]), assert_none(&["a", "b"])];
        let others = [
            insert("t", &[4]),
            insert("t", &[2, 1]),
            insert("t", &[1, 1]),
            insert("u", &[1]),
            assert_none(&["c"]),
            GuardedWrite::AssertExists(CountFrom("t".to_owned()), Vec::new()),
        ];
        for done in others {
            assert!(subtract(writes(), std::slice::from_ref(&done)).is_none(), "{done:?}");
        }
        let twice = [insert("t", &[1]), insert("t", &[1])];
        assert!(subtract(writes(), &twice).is_none());
    }
}
