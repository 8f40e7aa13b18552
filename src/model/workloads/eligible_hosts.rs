//! Which hosts are eligible for the roles of a workload, and in which domains these hosts are.
//!
//! Naively, each plan and each judgement would search all hosts. But room does not count for eligibility, which changes
//! with providers, descriptions and names, and not with claims. So the answers are kept with the snapshot, and shared
//! by versions that differ in usage alone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::affinity;
use super::hosts::HostList;
use super::spec::{Role, Spec};
use super::time::too_long;
use crate::error::{Error, Result};
use crate::mutants::{Mutant, is};
use crate::placing::Eligible;
use crate::search::{self, Interrupt, Request, SearchSettings, Snapshot};

/// The hosts of a snapshot, and the eligible hosts of each role.
#[derive(Clone)]
pub struct EligibleHosts {
    pub list: Arc<HostList>,
    pub eligible: Arc<Eligible>,
}

impl EligibleHosts {
    /// The eligible hosts for each role of the spec. If the spec is stored, no host is eligible for a query with a
    /// class or trait that has been deleted.
    ///
    /// # Errors
    /// Of the search. [`Error::InMember`] with the path of a query that names an unknown class or trait.
    pub fn of(
        snapshot: &Snapshot,
        (spec, dimensions): (&Spec, &[&str]),
        settings: &SearchSettings,
        is_stored: bool,
    ) -> Result<EligibleHosts> {
        let interrupt = &settings.interrupt;
        let known = snapshot.derived_from_all(KnownHosts::default);
        let list = known.list(snapshot, dimensions, interrupt)?;
        let mut by_role = Vec::with_capacity(spec.roles.len());
        for (at, role) in spec.roles.iter().enumerate() {
            by_role.push(match known.of_query(snapshot, &list, role, settings) {
                Err(error @ (Error::UnknownClassInQuery { .. } | Error::UnknownTraitsInCandidates { .. })) => {
                    if !is_stored {
                        return Err(error.in_member(&format!("roles[{at}].query")));
                    }
                    known.none(list.slots.len())
                }
                hosts => hosts?,
            });
        }
        let needed = affinity::needed_dimensions(snapshot, &list, spec);
        known.of_roles(list, by_role, (needed, spec.is_single()), interrupt)
    }
}

/// Hosts and eligible hosts, for all versions that differ in usage alone.
#[derive(Default)]
struct KnownHosts {
    /// By dimensions.
    lists: Newest<Vec<String>, HostList>,
    /// By query, whether each host is eligible. All lists have the same hosts.
    by_query: Newest<Request, [bool]>,
    by_roles: Newest<ListedRoles, Eligible>,
    /// False for each host.
    none: OnceLock<Arc<[bool]>>,
    /// The dimensions in which a host has a domain.
    dimensions: OnceLock<Vec<Arc<str>>>,
}

/// The names of the dimensions in which a host has a domain.
pub fn known_dimensions(snapshot: &Snapshot) -> Vec<Arc<str>> {
    let known = snapshot.derived_from_all(KnownHosts::default);
    let of_hosts = || snapshot.dimensions().into_iter().cloned().collect();
    known.dimensions.get_or_init(of_hosts).clone()
}

/// A list of hosts, the eligible hosts of each role, the dimensions in which a host needs a domain, and whether the
/// workload has at most one replica. The first two are compared by address.
type ListedRoles = (Weak<HostList>, Vec<Arc<[bool]>>, (Vec<usize>, bool));

impl KnownHosts {
    fn list(&self, snapshot: &Snapshot, dimensions: &[&str], interrupt: &Interrupt) -> Result<Arc<HostList>> {
        if let Some(list) = self.lists.find(|known| *known == dimensions) {
            return Ok(list);
        }
        let list = Arc::new(HostList::new(snapshot, dimensions, interrupt));
        if interrupt.has_ended() {
            return Err(too_long());
        }
        let names = dimensions.iter().map(|name| (*name).to_owned());
        self.lists.add((names.collect(), 0), &list, HostList::bytes);
        Ok(list)
    }

    fn of_query(
        &self,
        snapshot: &Snapshot,
        list: &HostList,
        role: &Role,
        settings: &SearchSettings,
    ) -> Result<Arc<[bool]>> {
        let request = &role.query.request;
        let of_found = |found: search::HostCosts| list.slots.iter().map(|slot| found.of(*slot).is_some()).collect();
        if is(Mutant::JudgeRoom) {
            return search::best_of_each_host(snapshot, request, None, settings).map(of_found);
        }
        if let Some(hosts) = self.by_query.find(|known| known == request) {
            return Ok(hosts);
        }
        let hosts = of_found(search::eligible_hosts(snapshot, request, settings)?);
        // A query in memory is larger than its text.
        let query = (request.clone(), role.definition.len() * 4);
        self.by_query.add(query, &hosts, |hosts| hosts.len());
        Ok(hosts)
    }

    fn none(&self, hosts: usize) -> Arc<[bool]> {
        Arc::clone(self.none.get_or_init(|| vec![false; hosts].into()))
    }

    fn of_roles(
        &self,
        list: Arc<HostList>,
        by_role: Vec<Arc<[bool]>>,
        needed: (Vec<usize>, bool),
        interrupt: &Interrupt,
    ) -> Result<EligibleHosts> {
        let is_same = |(known, roles, known_needed): &ListedRoles| {
            std::ptr::eq(known.as_ptr(), Arc::as_ptr(&list))
                && *known_needed == needed
                && roles.len() == by_role.len()
                && roles.iter().zip(&by_role).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some(eligible) = self.by_roles.find(is_same) {
            return Ok(EligibleHosts { list, eligible });
        }
        let eligible = Arc::new(Eligible::for_workload(
            &list.cluster,
            by_role.clone(),
            needed.clone(),
            interrupt,
        ));
        if interrupt.has_ended() {
            return Err(too_long());
        }
        // The list is not owned, because many values have the same list. The value has the hosts of each role, too.
        let roles = (Arc::downgrade(&list), by_role, needed);
        self.by_roles.add((roles, 0), &eligible, Eligible::bytes);
        Ok(EligibleHosts { list, eligible })
    }
}

/// At most this many values are kept, so a look-up takes little time.
const KEPT_VALUES: usize = 128;
/// At most this many bytes of values are kept.
const KEPT_BYTES: usize = 32 << 20;

/// The values that were added last, each with the size of the key in bytes. Two threads that miss the same value both
/// compute the value, without a lock.
struct Newest<K, V: ?Sized>(Mutex<VecDeque<(K, Arc<V>, usize)>>);

impl<K, V: ?Sized> Default for Newest<K, V> {
    fn default() -> Self {
        Newest(Mutex::default())
    }
}

impl<K, V: ?Sized> Newest<K, V> {
    fn find(&self, is_it: impl Fn(&K) -> bool) -> Option<Arc<V>> {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = values.iter().rev().find(|(key, ..)| is_it(key));
        found.map(|(_, value, _)| Arc::clone(value))
    }

    /// Keeps a value, and drops the oldest values for which there is no room any more. A value may have grown since the
    /// value was added, so all sizes are asked again.
    fn add(&self, (key, key_bytes): (K, usize), value: &Arc<V>, bytes_of: impl Fn(&V) -> usize) {
        if key_bytes + bytes_of(value) > KEPT_BYTES {
            return;
        }
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.push_back((key, Arc::clone(value), key_bytes));
        let sizes: Vec<usize> = values.iter().map(|(_, value, key)| key + bytes_of(value)).collect();
        let mut bytes: usize = sizes.iter().sum();
        for size in sizes {
            if values.len() <= KEPT_VALUES && bytes <= KEPT_BYTES {
                break;
            }
            values.pop_front();
            bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_kept_value_that_grows_takes_the_room_of_the_oldest() {
        let kept: Newest<u32, AtomicUsize> = Newest::default();
        let add = |key| {
            let value = Arc::new(AtomicUsize::new(KEPT_BYTES / 4 - 1));
            kept.add((key, 1), &value, |bytes| bytes.load(Ordering::Relaxed));
            value
        };
        let values: Vec<Arc<AtomicUsize>> = (0..4).map(add).collect();
        assert!(kept.find(|key| *key == 0).is_some());
        values[3].store(KEPT_BYTES / 2 - 1, Ordering::Relaxed);
        add(4);
        let known: Vec<bool> = (0..5).map(|key| kept.find(|known| *known == key).is_some()).collect();
        assert_eq!(known, [false, false, true, true, true]);
    }
}
