//! The domains of each dimension, as sums over their hosts (`/v1/domains`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::search::{ClassId, ProviderState, Slot, Snapshot};

/// Amounts by class. A limit may be 2^62, so sums over hosts are wider than a limit.
pub type Amounts = BTreeMap<Arc<str>, i128>;

/// A domain with the hosts in it and in the domains that lie in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DomainReport {
    pub path: String,
    /// The path of the domain in which it lies; `None` at the top.
    pub parent: Option<String>,
    pub hosts: usize,
    /// Hosts that are up.
    pub eligible_hosts: usize,
    /// Of all hosts, with the providers below them.
    pub capacity: Amounts,
    pub usage: Amounts,
    /// Whether it has more hosts than its smallest sibling that has an eligible one.
    pub is_heavy: bool,
    pub loss: Loss,
}

/// What the loss of a domain needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loss {
    /// The domains with an eligible host below the same parent, itself among them.
    pub siblings: usize,
    /// What eligible hosts outside of the domain have free.
    pub free_elsewhere: Amounts,
    /// What is used in the domain beyond that; only classes that lack room.
    pub missing: Amounts,
}

/// Sums by domain. The key is the path.
type Domains = BTreeMap<String, DomainReport>;

/// The domains of one dimension, by path, each after the one in which it lies.
pub fn of_dimension(snapshot: &Snapshot, dimension: &str) -> Vec<DomainReport> {
    let mut domains = Domains::new();
    let (mut free, mut free_inside) = (HashMap::new(), HashMap::new());
    for host in snapshot.iter().filter(|slot| snapshot.parent(*slot).is_none()) {
        let is_eligible = snapshot.state(host) == ProviderState::Up;
        let amounts = amounts(snapshot, host);
        let path = snapshot.domain(host, dimension);
        let paths = path.map(|path| prefixes(path)).unwrap_or_default();
        for (at, path) in paths.iter().enumerate() {
            let domain = domains.entry((*path).to_owned()).or_insert_with(|| DomainReport {
                path: (*path).to_owned(),
                parent: at.checked_sub(1).map(|above| paths[above].to_owned()),
                ..DomainReport::default()
            });
            domain.hosts += 1;
            domain.eligible_hosts += usize::from(is_eligible);
            for (class, capacity, used) in &amounts {
                add(&mut domain.capacity, snapshot, *class, *capacity);
                add(&mut domain.usage, snapshot, *class, *used);
            }
        }
        for (class, capacity, used) in amounts.iter().filter(|_| is_eligible) {
            let room = (capacity - used).max(0);
            *free.entry(*class).or_insert(0_i128) += room;
            for path in &paths {
                *free_inside.entry(((*path).to_owned(), *class)).or_insert(0_i128) += room;
            }
        }
    }
    judge(snapshot, &mut domains, &free, &free_inside);
    domains.into_values().collect()
}

/// The path with the paths in which it lies, the longest last.
fn prefixes(path: &str) -> Vec<&str> {
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.chain([path.len()]).map(|end| &path[..end]).collect()
}

/// Class, capacity and usage of the host's tree.
fn amounts(snapshot: &Snapshot, host: Slot) -> Vec<(ClassId, i128, i128)> {
    let tree = snapshot.tree(host);
    let inventories = tree.iter().flat_map(|slot| snapshot.inventories(*slot));
    inventories
        .map(|(class, inventory, used)| (class, inventory.limit().into(), used.into()))
        .collect()
}

fn add(amounts: &mut Amounts, snapshot: &Snapshot, class: ClassId, amount: i128) {
    if let Some(name) = snapshot.catalog().class_name(class) {
        *amounts.entry(name.clone()).or_insert(0) += amount;
    }
}

/// Compares each domain with its siblings, and with the room elsewhere.
fn judge(
    snapshot: &Snapshot,
    domains: &mut Domains,
    free: &HashMap<ClassId, i128>,
    free_inside: &HashMap<(String, ClassId), i128>,
) {
    let mut live: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
    for domain in domains.values().filter(|domain| domain.eligible_hosts > 0) {
        live.entry(domain.parent.clone()).or_default().push(domain.hosts);
    }
    for domain in domains.values_mut() {
        let siblings = live.get(&domain.parent).map(Vec::as_slice).unwrap_or_default();
        domain.is_heavy = siblings.iter().min().is_some_and(|least| domain.hosts > *least);
        domain.loss.siblings = siblings.len();
        for (class, all) in free {
            let inside = free_inside.get(&(domain.path.clone(), *class)).unwrap_or(&0);
            add(&mut domain.loss.free_elsewhere, snapshot, *class, all - inside);
        }
        for (class, used) in &domain.usage {
            let missing = used - domain.loss.free_elsewhere.get(class).unwrap_or(&0);
            if missing > 0 {
                domain.loss.missing.insert(class.clone(), missing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_in_every_path_before_it() {
        assert_eq!(prefixes("fd:/dc1/r0"), ["fd:", "fd:/dc1", "fd:/dc1/r0"]);
        assert_eq!(prefixes("/dc1/r0"), ["/dc1", "/dc1/r0"]);
        assert_eq!(prefixes("UD1"), ["UD1"]);
    }
}
