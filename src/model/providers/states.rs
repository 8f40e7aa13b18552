//! The state of all hosts in a domain, and of the sharing providers there (`PATCH /v1/providers`).
//!
//! The snapshot finds the hosts, and the command names the hosts by uuid. The writer sets the states on the rows that
//! its batch has read. So the command needs no generations, and a description that changes in between keeps the change.
//! A host that leaves the domain in between keeps its state.

use super::Described;
use crate::caller::CallerKey;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::model::domains::{go_on, search_hosts};
use crate::search::snapshot::is_in_domain;
use crate::search::{AggregateId, Domain, HOST_DIMENSION, ProviderState, Slot, Snapshot};

/// The most hosts whose state a request sets.
const MAX_HOSTS: usize = 1_000;

/// A state for all hosts in a domain.
#[derive(Debug, Clone)]
pub struct DomainState {
    pub domain: Domain,
    pub state: ProviderState,
}

/// The command that sets the state of hosts.
#[derive(Debug, Clone)]
pub struct SetStates {
    /// The hosts in the domain, as a snapshot shows the hosts, by uuid.
    pub hosts: Vec<HostOfDomain>,
    pub wanted: DomainState,
}

/// A host in a domain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostOfDomain {
    pub uuid: String,
    /// The aggregate behind the domain; `None` if the description names the domain.
    pub aggregate: Option<AggregateId>,
}

impl DomainState {
    /// Whether a host is in the domain. `path` is the path of the host in the dimension.
    pub fn has_host(&self, uuid: &str, path: Option<&str>) -> bool {
        let Domain {
            dimension,
            path: domain,
        } = &self.domain;
        match &**dimension {
            HOST_DIMENSION => uuid == &**domain,
            _ => path.is_some_and(|path| is_in_domain(path, domain)),
        }
    }

    /// The refusal if no host is in the domain.
    pub fn without_hosts(&self) -> Error {
        let Domain { dimension, path } = &self.domain;
        Error::BadRequest {
            detail: format!(
                "in_domain: no host is in {dimension}:{path}. GET /v1/domains lists the domains of a dimension."
            ),
        }
    }
}

/// Sets the state of all hosts in a domain: of all or of none. Returns the hosts in their new form, by uuid.
///
/// # Errors
/// - [`Error::BadRequest`] for a domain without a host, or with more than [`MAX_HOSTS`].
/// - [`Error::ProviderGenerationLimit`]. Errors of the search and of the writer.
pub async fn set_states(
    model: &Model,
    wanted: DomainState,
    is_dry_run: bool,
    caller: &CallerKey,
) -> Result<Vec<Described>> {
    let searched = wanted.clone();
    let search = move |snapshot: &Snapshot, interrupt: &Interrupt| hosts_in(snapshot, &searched, interrupt);
    let hosts = search_hosts(model, caller, search).await?;
    match hosts.len() {
        0 => Err(wanted.without_hosts()),
        1..=MAX_HOSTS => {
            let set = SetStates { hosts, wanted };
            model.submit_or_foresee(caller, set, is_dry_run).await
        }
        count => {
            let Domain { dimension, path } = wanted.domain;
            Err(Error::BadRequest {
                detail: format!(
                    "in_domain: {count} hosts are in {dimension}:{path}, and a request sets the state of at most \
                     {MAX_HOSTS}. Name a smaller domain."
                ),
            })
        }
    }
}

/// The hosts in the domain, by uuid.
fn hosts_in(snapshot: &Snapshot, wanted: &DomainState, interrupt: &Interrupt) -> Result<Vec<HostOfDomain>> {
    let mut found = Vec::new();
    // A pool in the domain goes down with the hosts.
    for host in snapshot.iter().filter(|slot| snapshot.parent(*slot).is_none()) {
        go_on(interrupt)?;
        let path = snapshot.domain(host, &wanted.domain.dimension);
        if wanted.has_host(snapshot.uuid(host), path.map(|path| &**path)) {
            found.push(HostOfDomain {
                uuid: snapshot.uuid(host).to_owned(),
                aggregate: aggregate_of(snapshot, host, wanted),
            });
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The aggregate behind the domain of a host; `None` if the description names the domain.
fn aggregate_of(snapshot: &Snapshot, host: Slot, wanted: &DomainState) -> Option<AggregateId> {
    let dimension = &wanted.domain.dimension;
    if snapshot.own_domain(host, dimension).is_some() {
        return None;
    }
    let counted = snapshot.domain(host, dimension)?;
    let mut of_aggregates = snapshot.domains_of_aggregates(host, dimension).into_iter();
    of_aggregates.find_map(|(aggregate, path)| (path == counted).then_some(aggregate))
}
