//! Rows of allocations by key, for pages of providers and of consumers.

use std::collections::HashMap;

/// An allocation: the key under which the allocation is listed, the thing on the other side, class and amount.
pub type AllocationOfKey<T> = (String, T, String, i32);

/// The amounts by name of class.
pub type AmountsOfClasses = Vec<(String, i64)>;

/// The allocations of each key: by the thing on the other side, in order, the amounts in the order of the classes.
pub fn by_key<T: Ord>(mut rows: Vec<AllocationOfKey<T>>) -> HashMap<String, Vec<(T, AmountsOfClasses)>> {
    rows.sort_unstable();
    let mut found: HashMap<String, Vec<(T, AmountsOfClasses)>> = HashMap::new();
    for (key, thing, class, used) in rows {
        let things = found.entry(key).or_default();
        let amount = (class, i64::from(used));
        match things.last_mut().filter(|(last, _)| *last == thing) {
            Some((_, amounts)) => amounts.push(amount),
            None => things.push((thing, vec![amount])),
        }
    }
    found
}

/// The numbers of allocations as a database counts them, by key.
pub fn counts(found: Vec<(String, i64)>) -> HashMap<String, usize> {
    let counts = found.into_iter();
    counts
        .map(|(key, count)| (key, usize::try_from(count).unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocations_of_a_key_are_in_order_and_a_thing_has_all_its_classes() {
        let row = |key: &str, thing: u32, class: &str, used| (key.to_owned(), thing, class.to_owned(), used);
        let rows = vec![
            row("b", 2, "VCPU", 3),
            row("a", 1, "VCPU", 4),
            row("b", 1, "VCPU", 1),
            row("b", 2, "DISK_GB", 2),
        ];
        let found = by_key(rows);
        let amounts = |amounts: &[(&str, i64)]| -> AmountsOfClasses {
            amounts
                .iter()
                .map(|(class, used)| ((*class).to_owned(), *used))
                .collect()
        };
        assert_eq!(found["a"], [(1, amounts(&[("VCPU", 4)]))]);
        assert_eq!(
            found["b"],
            [
                (1, amounts(&[("VCPU", 1)])),
                (2, amounts(&[("DISK_GB", 2), ("VCPU", 3)]))
            ]
        );
    }
}
