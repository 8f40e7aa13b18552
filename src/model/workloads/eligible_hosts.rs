//! Which hosts are eligible for the roles of a workload, and in which domains these hosts are.
//!
//! Naively, each plan and each judgement would ask it of all hosts. But room does not count for it: it changes with
//! providers, descriptions and names, and not with claims. So the answers are kept with the snapshot, and versions that
//! differ in usage alone share them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::hosts::HostList;
use super::near;
use super::wish::{Role, Wish};
use crate::error::{Error, Result};
use crate::mutants::{Mutant, is};
use crate::placing::Eligible;
use crate::search::{self, Request, SearchSettings, Snapshot};

/// The hosts of a snapshot, and those that are eligible for each role.
#[derive(Clone)]
pub struct EligibleHosts {
    pub list: Arc<HostList>,
    pub eligible: Arc<Eligible>,
}

impl EligibleHosts {
    /// `roles` are those of the wish, with names as the tables spell them.
    ///
    /// # Errors
    /// Of the search. [`Error::InMember`] with the path of a query that names an unknown class or trait.
    pub fn of(
        snapshot: &Snapshot,
        dimensions: &[&str],
        wish: &Wish,
        roles: &[Role],
        settings: &SearchSettings,
    ) -> Result<EligibleHosts> {
        EligibleHosts::find(snapshot, dimensions, wish, roles, |known, list, (at, request)| {
            let hosts = known.of_query(snapshot, list, request, settings);
            hosts.map_err(|error| in_role(at, error))
        })
    }

    /// As [`Self::of`], for roles that were stored. No host is eligible for a query that names what has been deleted
    /// since.
    ///
    /// # Errors
    /// Of the search.
    pub fn of_stored(
        snapshot: &Snapshot,
        dimensions: &[&str],
        wish: &Wish,
        roles: &[Role],
        settings: &SearchSettings,
    ) -> Result<EligibleHosts> {
        EligibleHosts::find(
            snapshot,
            dimensions,
            wish,
            roles,
            |known, list, (_, request)| match known.of_query(snapshot, list, request, settings) {
                Err(Error::UnknownClassInQuery { .. } | Error::UnknownTraitsInCandidates { .. }) => {
                    Ok(known.none(list.slots.len()))
                }
                hosts => hosts,
            },
        )
    }

    fn find(
        snapshot: &Snapshot,
        dimensions: &[&str],
        wish: &Wish,
        roles: &[Role],
        of_query: impl Fn(&KnownHosts, &HostList, (usize, &Request)) -> Result<Arc<[bool]>>,
    ) -> Result<EligibleHosts> {
        let known = snapshot.derived_from_all(KnownHosts::default);
        let list = known.list(snapshot, dimensions);
        let by_role = roles.iter().enumerate();
        let by_role = by_role.map(|(at, role)| of_query(known, &list, (at, &role.query.request)));
        let by_role = by_role.collect::<Result<_>>()?;
        let needed = near::needed_dimensions(&list, wish);
        Ok(known.of_roles(list, by_role, needed))
    }
}

/// The error about a name with the path of the query that has it.
fn in_role(at: usize, error: Error) -> Error {
    match error {
        Error::UnknownClassInQuery { .. } | Error::UnknownTraitsInCandidates { .. } => {
            error.in_member(&format!("roles[{at}].query"))
        }
        error => error,
    }
}

/// What was found on versions that differ in usage alone.
#[derive(Default)]
struct KnownHosts {
    /// By dimensions.
    lists: Newest<Vec<String>, HostList>,
    /// By query, whether each host is eligible. All lists have the same hosts.
    by_query: Newest<Request, [bool]>,
    by_roles: Newest<ListedRoles, Eligible>,
    /// For each host that it is not eligible.
    none: OnceLock<Arc<[bool]>>,
}

/// A list of hosts, for each role whether each of them is what it asks for, and the dimensions in which a host needs a
/// domain. The first two are compared by address.
type ListedRoles = (Arc<HostList>, Vec<Arc<[bool]>>, Vec<usize>);

impl KnownHosts {
    fn list(&self, snapshot: &Snapshot, dimensions: &[&str]) -> Arc<HostList> {
        self.lists.find(|known| *known == dimensions).unwrap_or_else(|| {
            let list = Arc::new(HostList::new(snapshot, dimensions));
            let names = dimensions.iter().map(|name| (*name).to_owned());
            self.lists.add(names.collect(), &list);
            list
        })
    }

    fn of_query(
        &self,
        snapshot: &Snapshot,
        list: &HostList,
        request: &Request,
        settings: &SearchSettings,
    ) -> Result<Arc<[bool]>> {
        let of_found = |found: search::HostCosts| list.slots.iter().map(|slot| found.of(*slot).is_some()).collect();
        if is(Mutant::JudgeRoom) {
            return search::best_of_each_host(snapshot, request, None, settings).map(of_found);
        }
        if let Some(hosts) = self.by_query.find(|known| known == request) {
            return Ok(hosts);
        }
        let hosts = of_found(search::eligible_hosts(snapshot, request, settings)?);
        self.by_query.add(request.clone(), &hosts);
        Ok(hosts)
    }

    fn none(&self, hosts: usize) -> Arc<[bool]> {
        Arc::clone(self.none.get_or_init(|| vec![false; hosts].into()))
    }

    fn of_roles(&self, list: Arc<HostList>, by_role: Vec<Arc<[bool]>>, needed: Vec<usize>) -> EligibleHosts {
        let is_same = |(known, roles, known_needed): &ListedRoles| {
            Arc::ptr_eq(known, &list)
                && *known_needed == needed
                && roles.len() == by_role.len()
                && roles.iter().zip(&by_role).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        let eligible = self.by_roles.find(is_same).unwrap_or_else(|| {
            let eligible = Arc::new(Eligible::of(&list.cluster, by_role.clone(), needed.clone()));
            self.by_roles
                .add((Arc::clone(&list), by_role.clone(), needed.clone()), &eligible);
            eligible
        });
        EligibleHosts { list, eligible }
    }
}

/// The answers to a query have a byte for each host; a list of hosts has 20, and as many for each dimension.
const KEPT_VALUES: usize = 128;

/// The values that were added last. Two threads that miss the same one both find it out: no lock is held for that time.
struct Newest<K, V: ?Sized>(Mutex<VecDeque<(K, Arc<V>)>>);

impl<K, V: ?Sized> Default for Newest<K, V> {
    fn default() -> Self {
        Newest(Mutex::default())
    }
}

impl<K, V: ?Sized> Newest<K, V> {
    fn find(&self, is_it: impl Fn(&K) -> bool) -> Option<Arc<V>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().rev().find(|(key, _)| is_it(key));
        found.map(|(_, value)| Arc::clone(value))
    }

    fn add(&self, key: K, value: &Arc<V>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == KEPT_VALUES {
            all.pop_front();
        }
        all.push_back((key, Arc::clone(value)));
    }
}
