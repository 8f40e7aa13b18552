//! What of some writes is left, where some of their rows were written before.

use super::GuardedWrite;

/// The writes without what was `done`: some rows that they make, or keys that they look for, in the same order. `None` where
/// something else was done.
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
    /// What is left of it, if anything; `None` where what was done is no write of it.
    fn without(&self, done: &GuardedWrite) -> Option<Option<GuardedWrite>> {
        match (self, done) {
            (GuardedWrite::Insert(it, rows), GuardedWrite::Insert(other, gone)) if it.table == other.table => {
                without(rows, gone).map(|left| (!left.is_empty()).then_some(GuardedWrite::Insert(*it, left)))
            }
            (GuardedWrite::AssertNone(it, keys), GuardedWrite::AssertNone(other, gone)) if it.table == other.table => {
                without(keys, gone).map(|left| (!left.is_empty()).then_some(GuardedWrite::AssertNone(*it, left)))
            }
            _ => None,
        }
    }
}

fn without<T: PartialEq + Clone>(all: &[T], gone: &[T]) -> Option<Vec<T>> {
    let mut gone = gone.iter().peekable();
    let left = all.iter().filter(|it| gone.next_if_eq(it).is_none());
    let left = left.cloned().collect();
    gone.peek().is_none().then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::engines::rows::{CountFrom, CountKeys, InsertFromRows, Value};

    fn inserted(table: &'static str, numbers: &[i64]) -> GuardedWrite {
        let it = InsertFromRows { table, columns: &["n"] };
        GuardedWrite::Insert(it, numbers.iter().map(|n| vec![Value::Int(*n)]).collect())
    }

    fn nobody(keys: &[&str]) -> GuardedWrite {
        let it = CountKeys {
            table: "t",
            column: "k",
        };
        GuardedWrite::AssertNone(it, keys.iter().map(|key| (*key).to_owned()).collect())
    }

    fn seen(writes: &[GuardedWrite]) -> String {
        format!("{writes:?}")
    }

    #[test]
    fn what_was_done_is_left_out_and_a_part_without_anything_too() {
        let look = GuardedWrite::AssertExists(CountFrom("t".to_owned()), Vec::new());
        let writes = || {
            vec![
                inserted("t", &[1, 2, 3, 4]),
                nobody(&["a", "b"]),
                look.clone(),
                inserted("u", &[5]),
            ]
        };
        let left = |done: &[GuardedWrite]| subtract(writes(), done).map(|writes| seen(&writes));
        assert_eq!(left(&[]), Some(seen(&writes())));
        let done = [
            inserted("t", &[1, 3]),
            nobody(&["b"]),
            inserted("u", &[5]),
            inserted("t", &[2]),
        ];
        assert_eq!(
            left(&done),
            Some(seen(&[inserted("t", &[4]), nobody(&["a"]), look.clone()]))
        );
    }

    #[test]
    fn what_was_done_in_vain_is_found() {
        let writes = || vec![inserted("t", &[1, 2, 3]), nobody(&["a", "b"])];
        let others = [
            inserted("t", &[4]),
            inserted("t", &[2, 1]),
            inserted("t", &[1, 1]),
            inserted("u", &[1]),
            nobody(&["c"]),
            GuardedWrite::AssertExists(CountFrom("t".to_owned()), Vec::new()),
        ];
        for done in others {
            assert!(subtract(writes(), std::slice::from_ref(&done)).is_none(), "{done:?}");
        }
        let twice = [inserted("t", &[1]), inserted("t", &[1])];
        assert!(subtract(writes(), &twice).is_none());
    }
}
