//! The ids of replicas: their order, the free ids, and the consumers of new replicas.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

/// The consumer of a replica that is not adopted: uuid5 of the workload and the id.
pub fn consumer_of(workload: &str, id: &str) -> String {
    let workload = Uuid::parse_str(workload).unwrap_or_default();
    Uuid::new_v5(&workload, id.as_bytes()).to_string()
}

/// If the consumer of a new replica `id` is adopted under a different id: this id.
pub fn other_id<'a>(adopted: &'a HashMap<String, String>, workload: &str, id: &str) -> Option<&'a String> {
    if adopted.is_empty() {
        return None;
    }
    let own = adopted.get(&consumer_of(workload, id));
    own.filter(|own| *own != id)
}

/// The order in which people read ids: runs of digits by their value, all else by its characters.
pub fn natural_order(one: &str, other: &str) -> Ordering {
    let (ones, others) = (runs(one), runs(other));
    ones.cmp(&others).then_with(|| one.cmp(other))
}

/// A character, or a run of digits without leading zeros. The length of a run is compared before the digits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Run<'a> {
    Number(usize, &'a str),
    Character(char),
}

fn runs(text: &str) -> Vec<Run<'_>> {
    let mut rest = text;
    let mut all = Vec::new();
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            let number = rest[..digits].trim_start_matches('0');
            all.push(Run::Number(number.len(), number));
            rest = &rest[digits..];
        } else {
            all.push(Run::Character(first));
            rest = &rest[first.len_utf8()..];
        }
    }
    all
}

/// The ids for new replicas, in natural order: the free ids of `given`, or the lowest free numbers.
pub fn free<'a>(given: Option<&'a [String]>, used: &BTreeSet<String>) -> Box<dyn Iterator<Item = String> + 'a> {
    let used = used.clone();
    match given {
        Some(given) => {
            let mut free: Vec<String> = given.iter().filter(|id| !used.contains(*id)).cloned().collect();
            free.sort_by(|one, other| natural_order(one, other));
            Box::new(free.into_iter())
        }
        None => Box::new((0_u64..).map(|n| n.to_string()).filter(move |id| !used.contains(id))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_ids_are_ordered_by_value() {
        let mut ids = ["10", "9", "b", "a10", "a9", "a09", "1", "a", ""];
        ids.sort_by(|one, other| natural_order(one, other));
        assert_eq!(ids, ["", "1", "9", "10", "a", "a09", "a9", "a10", "b"]);
    }

    #[test]
    fn the_lowest_free_numbers_come_first() {
        let used: BTreeSet<String> = ["0", "2", "x"].map(String::from).into();
        let next: Vec<String> = free(None, &used).take(3).collect();
        assert_eq!(next, ["1", "3", "4"]);
        let given = ["n10", "n9", "x"].map(String::from);
        assert_eq!(free(Some(&given), &used).collect::<Vec<_>>(), ["n9", "n10"]);
    }
}
