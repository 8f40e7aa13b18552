//! The domains of each dimension, as sums over their hosts (`/v1/domains`).

mod counted_elsewhere;
mod declared;
mod report;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub use self::counted_elsewhere::HostElsewhere;
pub use self::declared::{DeclaredDomain, DeclaredKey, Delete, DomainRow, Set, aggregates_of_domains, fetch};
pub use self::report::{Amounts, DomainReport, Loss};
use super::Model;
use super::pages::PAGE_BYTES;
use super::workloads::too_long;
use crate::caller::CallerKey;
use crate::error::Result;
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::snapshot::{by_levels, is_in_domain};
use crate::search::{ClassId, HOST_DIMENSION, HostConditions, ProviderState, Slot, Snapshot, hosts_within};

/// The domains of more providers take longer than [`crate::pools::INLINE_TIME`].
const MAX_INLINE_PROVIDERS: usize = 300;

/// A page of the domains of a dimension.
#[derive(Debug, PartialEq)]
pub struct Page {
    pub dimension: String,
    /// Only hosts with these conditions count.
    pub of_hosts: HostConditions,
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
    let mut all = Vec::new();
    for host in hosts_within(snapshot, &page.of_hosts) {
        go_on(interrupt)?;
        all.push(host);
    }
    let declared = declared_paths(snapshot, page);
    let elsewhere = counted_elsewhere::CountedElsewhere::of(snapshot, (&all, &declared), &page.dimension, interrupt)?;
    let hosts = HostsByPath::of(snapshot, (&all, &page.dimension), interrupt)?;
    let mut domains = hosts.count_domains(snapshot, interrupt)?;
    if page.of_hosts == HostConditions::default() {
        let paths = declared.keys().flat_map(|path| prefixes(path));
        paths.for_each(|path| {
            domains.entry(path).or_default();
        });
    }
    let siblings = siblings(&domains, interrupt)?;
    let free = free(snapshot, &all, interrupt)?;
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
        let report = DomainReport {
            aggregate: declared.get(path).map(|uuid| Arc::clone(uuid)),
            counted_elsewhere: elsewhere.of_domain(path),
            ..report(snapshot, path, counts, (&sums, &free))
        };
        bytes += report.bytes();
        reports.push(report);
    }
    let next = reports.last().filter(|_| has_more).map(|last| last.path.clone());
    Ok((reports, next))
}

/// The paths and aggregates of the declared domains of the dimension.
fn declared_paths<'s>(snapshot: &'s Snapshot, page: &Page) -> BTreeMap<&'s str, &'s Arc<str>> {
    let domains = &snapshot.catalog().declarations().domains;
    let declared = domains.iter();
    let declared = declared.filter(|((dimension, _), _)| **dimension == *page.dimension);
    declared.map(|((_, path), uuid)| (&**path, uuid)).collect()
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
    fn of(
        snapshot: &'s Snapshot,
        (hosts, dimension): (&[Slot], &str),
        interrupt: &Interrupt,
    ) -> Result<HostsByPath<'s>> {
        let mut found = Vec::new();
        for &host in hosts {
            go_on(interrupt)?;
            found.extend(snapshot.domain(host, dimension).map(|path| (&**path, host)));
        }
        found.sort_unstable_by(|(one, _), (other, _)| by_levels(one).cmp(by_levels(other)));
        Ok(HostsByPath(found))
    }

    /// The hosts in the domain `path` and in the domains inside.
    fn in_domain(&self, path: &str) -> &[(&'s str, Slot)] {
        let begin = self.0.partition_point(|(host, _)| by_levels(host).lt(by_levels(path)));
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

/// The free amounts of the eligible among these hosts.
fn free(snapshot: &Snapshot, hosts: &[Slot], interrupt: &Interrupt) -> Result<Free> {
    let mut free = Free::new();
    for &host in hosts {
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
        aggregate: None,
        counted_elsewhere: Vec::new(),
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

/// The paths of all domains around the domain `path`, and at the end `path` itself.
pub(super) fn prefixes(path: &str) -> impl Iterator<Item = &str> {
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
