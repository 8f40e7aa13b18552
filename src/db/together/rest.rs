//! What of some parts is left, where some of their rows were written before.

use super::Part;

/// The parts without what was `done`: some rows that they make, or keys that they look for, in the same order. `None` where
/// something else was done.
pub fn rest(parts: Vec<Part>, done: &[Part]) -> Option<Vec<Part>> {
    done.iter().try_fold(parts, |mut parts, done| {
        let (at, left) = parts
            .iter()
            .enumerate()
            .find_map(|(at, part)| Some((at, part.without(done)?)))?;
        parts.splice(at..=at, left);
        Some(parts)
    })
}

impl Part {
    /// What is left of it, if anything; `None` where what was done is no part of it.
    fn without(&self, done: &Part) -> Option<Option<Part>> {
        match (self, done) {
            (Part::Insert(it, rows), Part::Insert(other, gone)) if it.table == other.table => {
                without(rows, gone).map(|left| (!left.is_empty()).then_some(Part::Insert(*it, left)))
            }
            (Part::NobodyHas(it, keys), Part::NobodyHas(other, gone)) if it.table == other.table => {
                without(keys, gone).map(|left| (!left.is_empty()).then_some(Part::NobodyHas(*it, left)))
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
    use crate::db::rows::{CountKeys, InsertFromRows, Look, Value};

    fn inserted(table: &'static str, numbers: &[i64]) -> Part {
        let it = InsertFromRows { table, columns: &["n"] };
        Part::Insert(it, numbers.iter().map(|n| vec![Value::Int(*n)]).collect())
    }

    fn nobody(keys: &[&str]) -> Part {
        let it = CountKeys {
            table: "t",
            column: "k",
        };
        Part::NobodyHas(it, keys.iter().map(|key| (*key).to_owned()).collect())
    }

    fn seen(parts: &[Part]) -> String {
        format!("{parts:?}")
    }

    #[test]
    fn what_was_done_is_left_out_and_a_part_without_anything_too() {
        let look = Part::There(Look("t".to_owned()), Vec::new());
        let parts = || {
            vec![
                inserted("t", &[1, 2, 3, 4]),
                nobody(&["a", "b"]),
                look.clone(),
                inserted("u", &[5]),
            ]
        };
        let left = |done: &[Part]| rest(parts(), done).map(|parts| seen(&parts));
        assert_eq!(left(&[]), Some(seen(&parts())));
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
        let parts = || vec![inserted("t", &[1, 2, 3]), nobody(&["a", "b"])];
        let others = [
            inserted("t", &[4]),
            inserted("t", &[2, 1]),
            inserted("t", &[1, 1]),
            inserted("u", &[1]),
            nobody(&["c"]),
            Part::There(Look("t".to_owned()), Vec::new()),
        ];
        for done in others {
            assert!(rest(parts(), std::slice::from_ref(&done)).is_none(), "{done:?}");
        }
        let twice = [inserted("t", &[1]), inserted("t", &[1])];
        assert!(rest(parts(), &twice).is_none());
    }
}
