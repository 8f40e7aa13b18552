//! The domains of each dimension, as sums over their hosts (`/v1/domains`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Model;
use super::workloads::too_long;
use crate::error::Result;
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::pools::CallerKey;
use crate::search::{ClassId, ProviderState, Slot, Snapshot};

/// The domains of more providers take longer than [`crate::pools::INLINE_TIME`].
const MAX_INLINE_PROVIDERS: usize = 300;

/// Amounts by class. A limit may be 2^62, so sums over hosts are wider than a limit.
pub type Amounts = BTreeMap<Arc<str>, i128>;

/// A domain with the hosts in the domain itself and in the domains inside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DomainReport {
    pub path: String,
    /// The path of the parent domain; `None` at the top.
    pub parent: Option<String>,
    pub hosts: usize,
    /// Hosts that are up.
    pub eligible_hosts: usize,
    /// Of all hosts, with the providers below each host.
    pub capacity: Amounts,
    pub usage: Amounts,
    /// Whether the domain has more hosts than its smallest sibling with an eligible host.
    pub is_heavy: bool,
    pub loss: Loss,
}

/// The consequences of the loss of a domain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loss {
    /// The domains with an eligible host below the same parent, including the domain itself.
    pub siblings: usize,
    /// The free amounts of eligible hosts outside of the domain.
    pub free_elsewhere: Amounts,
    /// The usage in the domain beyond `free_elsewhere`; only classes whose free amounts are too small.
    pub missing: Amounts,
}

/// A page of the domains of a dimension.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub dimension: String,
    pub limit: usize,
    /// The path after which the page begins.
    pub after: Option<String>,
}

/// The domains of a page, by path, and the path after which the next page begins.
pub type PageOfDomains = (Vec<DomainReport>, Option<String>);

/// The domains of a page.
///
/// # Errors
/// Of the database. [`crate::error::Error::Busy`] if too many searches wait.
pub async fn list(model: &Model, page: Page, caller: &CallerKey) -> Result<PageOfDomains> {
    let search = move |snapshot: &Snapshot, interrupt: &Interrupt| page_of(snapshot, &page, interrupt);
    search_hosts(model, caller, search).await
}

/// Searches all hosts of a snapshot that shows every commit acknowledged before.
pub(super) async fn search_hosts<T: Send + 'static>(
    model: &Model,
    caller: &CallerKey,
    search: impl Fn(&Snapshot, &Interrupt) -> Result<T> + Send + Sync + 'static,
) -> Result<T> {
    let snapshot = model.snapshot().await?;
    search_version(model, snapshot, caller, search).await
}

/// Searches all hosts of this snapshot.
pub(super) async fn search_version<T: Send + 'static>(
    model: &Model,
    snapshot: Arc<Snapshot>,
    caller: &CallerKey,
    search: impl Fn(&Snapshot, &Interrupt) -> Result<T> + Send + Sync + 'static,
) -> Result<T> {
    let is_large = snapshot.len() > MAX_INLINE_PROVIDERS;
    let search = move |interrupt: &Interrupt| search(&snapshot, interrupt);
    if is_large {
        return model.pools.long_search(caller, search).await;
    }
    model.pools.search(caller, search).await
}

/// The hosts of a domain.
#[derive(Default)]
struct HostsOfDomain {
    all: usize,
    eligible: usize,
}

/// The domains with an eligible host below one parent.
struct Siblings {
    number: usize,
    /// The fewest hosts of one of the siblings.
    least: usize,
}

/// The amounts of a class in a domain.
#[derive(Default)]
struct Sum {
    capacity: i128,
    usage: i128,
    /// The free amount of the domain's eligible hosts.
    free: i128,
}

/// The amounts of a domain by class.
type Sums = HashMap<ClassId, Sum>;
type Free = HashMap<ClassId, i128>;

/// The domains of a page. All domains are counted, but only the domains of the page are summed. A path may have
/// hundreds of segments, each of which ends a domain.
///
/// # Errors
/// [`crate::error::Error::Busy`] if the search was interrupted.
pub fn page_of(snapshot: &Snapshot, page: &Page, interrupt: &Interrupt) -> Result<PageOfDomains> {
    let hosts = count_hosts(snapshot, &page.dimension, interrupt)?;
    let siblings = siblings(&hosts, interrupt)?;
    let after = page.after.as_deref();
    let mut paths: Vec<&str> = hosts.keys().copied().collect();
    paths.retain(|path| after.is_none_or(|after| *path > after));
    let has_more = paths.len() > page.limit;
    if has_more {
        paths.select_nth_unstable(page.limit);
        paths.truncate(page.limit);
    }
    paths.sort_unstable();
    let (of_domains, free) = sum(snapshot, page, &paths, interrupt)?;
    let next = paths.last().filter(|_| has_more).map(|path| (*path).to_owned());
    let reports = paths.into_iter().map(|path| {
        // A report names all classes.
        interrupt.spend(free.len() as u64 / OPERATIONS_A_STEP);
        go_on(interrupt)?;
        let counts = (&hosts[path], siblings.get(&parent(path)));
        Ok(report(snapshot, path, counts, (&of_domains[path], &free)))
    });
    Ok((reports.collect::<Result<_>>()?, next))
}

/// The hosts in each domain, by path.
fn count_hosts<'s>(
    snapshot: &'s Snapshot,
    dimension: &str,
    interrupt: &Interrupt,
) -> Result<HashMap<&'s str, HostsOfDomain>> {
    let mut found: HashMap<&str, HostsOfDomain> = HashMap::new();
    for host in hosts(snapshot) {
        let is_eligible = snapshot.state(host) == ProviderState::Up;
        let path = snapshot.domain(host, dimension);
        for path in path.into_iter().flat_map(|path| prefixes(path)) {
            let domain = found.entry(path).or_default();
            domain.all += 1;
            domain.eligible += usize::from(is_eligible);
            go_on(interrupt)?;
        }
    }
    Ok(found)
}

/// By parent.
fn siblings<'s>(
    hosts: &HashMap<&'s str, HostsOfDomain>,
    interrupt: &Interrupt,
) -> Result<HashMap<Option<&'s str>, Siblings>> {
    let mut found: HashMap<Option<&str>, Siblings> = HashMap::new();
    for (path, domain) in hosts.iter().filter(|(_, domain)| domain.eligible > 0) {
        go_on(interrupt)?;
        let siblings = found.entry(parent(path)).or_insert(Siblings {
            number: 0,
            least: usize::MAX,
        });
        siblings.number += 1;
        siblings.least = siblings.least.min(domain.all);
    }
    Ok(found)
}

/// The sums of these domains by path, and the free amounts of all eligible hosts.
fn sum<'p>(
    snapshot: &Snapshot,
    page: &Page,
    paths: &[&'p str],
    interrupt: &Interrupt,
) -> Result<(HashMap<&'p str, Sums>, Free)> {
    let mut found: HashMap<&str, Sums> = paths.iter().map(|path| (*path, Sums::default())).collect();
    let mut free = Free::new();
    for host in hosts(snapshot) {
        let is_eligible = snapshot.state(host) == ProviderState::Up;
        let amounts = amounts(snapshot, host);
        let path = snapshot.domain(host, &page.dimension);
        for path in path.into_iter().flat_map(|path| prefixes(path)) {
            go_on(interrupt)?;
            let Some(sums) = found.get_mut(path) else {
                continue;
            };
            for (class, capacity, used) in &amounts {
                let sum = sums.entry(*class).or_default();
                sum.capacity += capacity;
                sum.usage += used;
                if is_eligible {
                    sum.free += (capacity - used).max(0);
                }
            }
        }
        for (class, capacity, used) in amounts.iter().filter(|_| is_eligible) {
            *free.entry(*class).or_default() += (capacity - used).max(0);
        }
        go_on(interrupt)?;
    }
    Ok((found, free))
}

fn report(
    snapshot: &Snapshot,
    path: &str,
    (hosts, siblings): (&HostsOfDomain, Option<&Siblings>),
    (sums, free): (&Sums, &Free),
) -> DomainReport {
    let free_elsewhere = free
        .iter()
        .map(|(class, all)| (*class, all - sums.get(class).map_or(0, |sum| sum.free)));
    let usage = named(snapshot, sums.iter().map(|(class, sum)| (*class, sum.usage)));
    let mut loss = Loss {
        siblings: siblings.map_or(0, |siblings| siblings.number),
        free_elsewhere: named(snapshot, free_elsewhere),
        missing: Amounts::new(),
    };
    for (class, used) in &usage {
        let missing = used - loss.free_elsewhere.get(class).unwrap_or(&0);
        if missing > 0 {
            loss.missing.insert(class.clone(), missing);
        }
    }
    DomainReport {
        path: path.to_owned(),
        parent: parent(path).map(str::to_owned),
        hosts: hosts.all,
        eligible_hosts: hosts.eligible,
        capacity: named(snapshot, sums.iter().map(|(class, sum)| (*class, sum.capacity))),
        usage,
        is_heavy: siblings.is_some_and(|siblings| hosts.all > siblings.least),
        loss,
    }
}

/// The hosts: root providers without sharing providers, whose capacity belongs to no domain.
fn hosts(snapshot: &Snapshot) -> impl Iterator<Item = Slot> {
    snapshot.iter().filter(|slot| snapshot.is_host(*slot))
}

/// The paths of all domains around the domain `path`, and at the end `path` itself.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.chain([path.len()]).map(|end| &path[..end])
}

/// The path of the parent domain; `None` at the top.
fn parent(path: &str) -> Option<&str> {
    path.rfind('/').filter(|at| *at > 0).map(|at| &path[..at])
}

/// Class, capacity and usage of the host's tree.
fn amounts(snapshot: &Snapshot, host: Slot) -> Vec<(ClassId, i128, i128)> {
    let tree = snapshot.tree(host);
    let inventories = tree.iter().flat_map(|slot| snapshot.inventories(*slot));
    inventories
        .map(|(class, inventory, used)| (class, inventory.limit().into(), used.into()))
        .collect()
}

/// By the name of the class.
fn named(snapshot: &Snapshot, amounts: impl Iterator<Item = (ClassId, i128)>) -> Amounts {
    let name = |class| snapshot.catalog().class_name(class).cloned();
    amounts
        .filter_map(|(class, amount)| Some((name(class)?, amount)))
        .collect()
}

/// Counts a step.
///
/// # Errors
/// [`crate::error::Error::Busy`] if the search was interrupted.
pub(super) fn go_on(interrupt: &Interrupt) -> Result<()> {
    if interrupt.is_set() {
        return Err(too_long());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_in_every_path_before_it() {
        for (path, expected) in [
            ("fd:/dc1/r0", vec!["fd:", "fd:/dc1", "fd:/dc1/r0"]),
            ("/dc1/r0", vec!["/dc1", "/dc1/r0"]),
            ("UD1", vec!["UD1"]),
        ] {
            let all: Vec<&str> = prefixes(path).collect();
            assert_eq!(all, expected);
            let above: Vec<Option<&str>> = all.iter().map(|path| parent(path)).collect();
            assert_eq!(above[0], None);
            assert_eq!(
                above[1..],
                all[..all.len() - 1].iter().copied().map(Some).collect::<Vec<_>>()
            );
        }
    }
}
