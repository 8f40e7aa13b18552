//! The domains of each dimension, as sums over their hosts (`/v1/domains`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Model;
use super::pages::PAGE_BYTES;
use super::workloads::too_long;
use crate::caller::CallerKey;
use crate::error::Result;
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::snapshot::is_in_domain;
use crate::search::{ClassId, HOST_DIMENSION, ProviderState, Slot, Snapshot};

/// The domains of more providers take longer than [`crate::pools::INLINE_TIME`].
const MAX_INLINE_PROVIDERS: usize = 300;

/// The length of a report without paths and amounts, and of the quotes, colon and comma of an amount.
const MEMBERS_BYTES: usize = 180;
const PUNCTUATION_BYTES: usize = 4;

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

impl DomainReport {
    /// The approximate length in the answer.
    fn bytes(&self) -> usize {
        let Loss {
            free_elsewhere,
            missing,
            ..
        } = &self.loss;
        let amounts = [&self.capacity, &self.usage, free_elsewhere, missing]
            .into_iter()
            .flatten();
        let paths = self.path.len() + self.parent.as_ref().map_or(0, String::len);
        let of_amounts = amounts.map(|(class, amount)| class.len() + digits(*amount) + PUNCTUATION_BYTES);
        MEMBERS_BYTES + paths + of_amounts.sum::<usize>()
    }
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

/// Searches all hosts of this snapshot, until the deadline of a command.
pub(super) async fn search_version<T: Send + 'static>(
    model: &Model,
    snapshot: Arc<Snapshot>,
    caller: &CallerKey,
    search: impl Fn(&Snapshot, &Interrupt) -> Result<T> + Send + Sync + 'static,
) -> Result<T> {
    let is_large = snapshot.len() > MAX_INLINE_PROVIDERS;
    let search = move |interrupt: &Interrupt| search(&snapshot, interrupt);
    if is_large {
        return model.in_time(model.pools.long_search(caller, search)).await;
    }
    model.in_time(model.pools.search(caller, search)).await
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
/// A page ends with the domain that brings the page to [`PAGE_BYTES`]. No further domain is summed.
///
/// # Errors
/// [`crate::error::Error::Busy`] if the search was interrupted.
pub fn page_of(snapshot: &Snapshot, page: &Page, interrupt: &Interrupt) -> Result<PageOfDomains> {
    let hosts = HostsByPath::of(snapshot, &page.dimension, interrupt)?;
    let domains = hosts.count_domains(snapshot, interrupt)?;
    let siblings = siblings(&domains, interrupt)?;
    let free = free(snapshot, interrupt)?;
    let (paths, mut has_more) = first_paths(&domains, page);
    let (mut reports, mut bytes): (Vec<DomainReport>, usize) = (Vec::new(), 0);
    for path in paths {
        if bytes >= PAGE_BYTES {
            has_more = true;
            break;
        }
        // A report names all classes.
        interrupt.spend(free.len() as u64 / OPERATIONS_A_STEP);
        let sums = hosts.sum(snapshot, path, interrupt)?;
        let counts = (&domains[path], siblings.get(&parent(path)));
        let report = report(snapshot, path, counts, (&sums, &free));
        bytes += report.bytes();
        reports.push(report);
    }
    let next = reports.last().filter(|_| has_more).map(|last| last.path.clone());
    Ok((reports, next))
}

/// The first paths after the beginning of the page, in order, and whether there are more paths.
fn first_paths<'s>(domains: &HashMap<&'s str, HostsOfDomain>, page: &Page) -> (Vec<&'s str>, bool) {
    let after = page.after.as_deref();
    let mut paths: Vec<&str> = domains.keys().copied().collect();
    paths.retain(|path| after.is_none_or(|after| *path > after));
    let has_more = paths.len() > page.limit;
    if has_more {
        paths.select_nth_unstable(page.limit);
        paths.truncate(page.limit);
    }
    paths.sort_unstable();
    (paths, has_more)
}

/// The hosts with a domain in a dimension, by path. The hosts of each domain are neighbours.
struct HostsByPath<'s>(Vec<(&'s str, Slot)>);

impl<'s> HostsByPath<'s> {
    fn of(snapshot: &'s Snapshot, dimension: &str, interrupt: &Interrupt) -> Result<HostsByPath<'s>> {
        let mut found = Vec::new();
        for host in hosts(snapshot) {
            go_on(interrupt)?;
            found.extend(snapshot.domain(host, dimension).map(|path| (&**path, host)));
        }
        found.sort_unstable_by(|(one, _), (other, _)| in_order(one).cmp(in_order(other)));
        Ok(HostsByPath(found))
    }

    /// The hosts in the domain `path` and in the domains inside.
    fn in_domain(&self, path: &str) -> &[(&'s str, Slot)] {
        let begin = self.0.partition_point(|(host, _)| in_order(host).lt(in_order(path)));
        let rest = &self.0[begin..];
        &rest[..rest.partition_point(|(host, _)| is_in_domain(host, path))]
    }

    /// The number of hosts in each domain, by path.
    fn count_domains(&self, snapshot: &Snapshot, interrupt: &Interrupt) -> Result<HashMap<&'s str, HostsOfDomain>> {
        let mut found: HashMap<&str, HostsOfDomain> = HashMap::new();
        for (path, host) in &self.0 {
            let is_eligible = snapshot.state(*host) == ProviderState::Up;
            for path in prefixes(path) {
                let domain = found.entry(path).or_default();
                domain.all += 1;
                domain.eligible += usize::from(is_eligible);
                go_on(interrupt)?;
            }
        }
        Ok(found)
    }

    /// The amounts of the domain `path`.
    fn sum(&self, snapshot: &Snapshot, path: &str, interrupt: &Interrupt) -> Result<Sums> {
        let mut sums = Sums::new();
        for (_, host) in self.in_domain(path) {
            go_on(interrupt)?;
            let is_eligible = snapshot.state(*host) == ProviderState::Up;
            for (class, capacity, used) in amounts(snapshot, *host) {
                let sum = sums.entry(class).or_default();
                sum.capacity += capacity;
                sum.usage += used;
                if is_eligible {
                    sum.free += (capacity - used).max(0);
                }
            }
        }
        Ok(sums)
    }
}

/// A path as bytes whose order puts the paths in a domain next to each other. By its own bytes, `/a-b` would be between
/// `/a` and `/a/b`. No path has a NUL.
fn in_order(path: &str) -> impl Iterator<Item = u8> {
    path.bytes().map(|byte| if byte == b'/' { 0 } else { byte })
}

/// The free amounts of all eligible hosts.
fn free(snapshot: &Snapshot, interrupt: &Interrupt) -> Result<Free> {
    let mut free = Free::new();
    for host in hosts(snapshot) {
        go_on(interrupt)?;
        if snapshot.state(host) == ProviderState::Up {
            for (class, capacity, used) in amounts(snapshot, host) {
                *free.entry(class).or_default() += (capacity - used).max(0);
            }
        }
    }
    Ok(free)
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

/// Whether a provider lies in any of these domains, by itself or by an ancestor. Each host is a domain of
/// [`HOST_DIMENSION`].
pub(super) fn lies_in_any(snapshot: &Snapshot, slot: Slot, dimension: &str, paths: &[&str]) -> bool {
    if dimension == HOST_DIMENSION {
        return paths.contains(&snapshot.uuid(snapshot.root(slot)));
    }
    let own = snapshot.domain(slot, dimension);
    own.is_some_and(|own| paths.iter().any(|path| is_in_domain(own, path)))
}

/// The hosts: root providers without sharing providers, whose capacity belongs to no domain.
fn hosts(snapshot: &Snapshot) -> impl Iterator<Item = Slot> {
    snapshot.iter().filter(|slot| snapshot.is_host(*slot))
}

/// The paths of all domains around the domain `path`, and at the end `path` itself.
pub(super) fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.chain([path.len()]).map(|end| &path[..end])
}

/// The path of the parent domain; `None` at the top.
fn parent(path: &str) -> Option<&str> {
    path.rfind('/').filter(|at| *at > 0).map(|at| &path[..at])
}

/// The number of digits of an amount.
fn digits(amount: i128) -> usize {
    amount.checked_ilog10().unwrap_or_default() as usize + 1
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
