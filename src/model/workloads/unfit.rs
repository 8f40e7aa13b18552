//! Why the host of a replica does not meet the query of the role.

use super::Replica;
use super::hosts::HostList;
use super::spec::Role;
use crate::error::{Reason, ReasonCode};
use crate::model::explain::{self, HostRejection};
use crate::placing::{Eligible, PlacedReplica};
use crate::search::{self, Lack, ProviderState, SearchSettings, Slot, Snapshot};

/// The hosts of a snapshot, with the roles and the eligible hosts of a workload.
pub struct WorkloadHosts<'a> {
    pub snapshot: &'a Snapshot,
    pub list: &'a HostList,
    pub eligible: &'a Eligible,
    pub roles: &'a [Role],
    pub settings: &'a SearchSettings,
}

/// Why a host is not eligible for a role.
pub struct Unfit {
    pub code: ReasonCode,
    /// The class, if the reason is about a class.
    pub class: Option<String>,
    /// The host in words, as in "On …".
    pub host: String,
}

impl WorkloadHosts<'_> {
    fn slot(&self, host: u32) -> Slot {
        self.list.slots[host as usize]
    }

    pub fn is_up(&self, host: u32) -> bool {
        self.snapshot.state(self.slot(host)) == ProviderState::Up
    }

    /// Whether a placed replica is alive: any of these hosts of the replica is up. Without a host, all known providers
    /// of the replica are up.
    pub fn is_alive(&self, replica: &Replica, hosts: &[u32]) -> bool {
        let is_up = |slot: &Slot| self.snapshot.state(*slot) == ProviderState::Up;
        if hosts.is_empty() {
            return self.own(replica).iter().all(is_up);
        }
        hosts.iter().any(|host| self.is_up(*host))
    }

    /// Why a host is not eligible for the role of a placed replica. The states of the replica's own providers come
    /// first.
    pub fn unfit(&self, PlacedReplica { role, host }: PlacedReplica, replica: &Replica) -> Unfit {
        if !self.is_up(host) {
            return Unfit::new(ReasonCode::State, "a host that is not up");
        }
        if self
            .own(replica)
            .iter()
            .any(|slot| self.snapshot.state(*slot) != ProviderState::Up)
        {
            return Unfit::new(ReasonCode::State, "a host with a provider that is not up");
        }
        if let Some(dimension) = self.eligible.lacking_dimension(&self.list.cluster, host, role) {
            let name = &self.list.names[dimension];
            return Unfit::new(ReasonCode::Domain, format!("a host without a domain in {name}"));
        }
        let request = &self.roles[role].query.request;
        match explain::of_host_but_room(self.snapshot, request, self.slot(host), self.settings) {
            Ok(Some(rejection)) => Unfit::for_rejection(rejection),
            Ok(None) | Err(_) => Unfit::new(ReasonCode::NoCandidate, "a host that is not what the role asks for"),
        }
    }

    /// The provider of a host with too little room for a role, with the figures. If there are several, the replica's
    /// own providers come first. `None` if each provider has room by itself.
    pub fn lack_of_room(&self, role: usize, host: u32, replica: &Replica) -> Option<Reason> {
        let (request, slot) = (&self.roles[role].query.request, self.slot(host));
        let lacks = search::lacks_in_host(self.snapshot, request, slot, self.settings).ok()?;
        let own = self.own(replica);
        let without_room = lacks.iter().filter(|lack| lack.free < lack.requested);
        let Lack {
            provider,
            class,
            requested,
            free,
            ..
        } = *without_room.min_by_key(|lack| !own.contains(&lack.provider))?;
        let class = self.snapshot.catalog().class_name(class)?;
        Some(Reason {
            resource_provider: Some(self.snapshot.uuid(provider).to_owned()),
            provider_name: Some(self.snapshot.name(provider).into()),
            resource_class: Some(class.to_string()),
            requested: Some(requested),
            free: Some(free),
            ..Reason::new(ReasonCode::NoRoom, format!("Too little room for {class}."))
        })
    }

    /// The providers on which a replica is.
    fn own(&self, replica: &Replica) -> Vec<Slot> {
        let shares = replica.allocations.iter();
        shares
            .filter_map(|share| self.snapshot.by_uuid(&share.provider))
            .collect()
    }
}

impl Unfit {
    fn for_rejection(HostRejection { reason, unknown_name }: HostRejection) -> Unfit {
        let class = reason.resource_class.as_deref().unwrap_or_default();
        let host = match (reason.code, unknown_name) {
            (_, Some(name)) => format!("a host without {name}, which does not exist any more"),
            (ReasonCode::State, None) => "a host with a provider that is not up".to_owned(),
            (ReasonCode::Condition, None) => "a host that does not meet where".to_owned(),
            (ReasonCode::Domain, None) => "a host outside of the domains that the role asks for".to_owned(),
            (ReasonCode::Traits, None) => "a host that lacks a required trait or has a forbidden one".to_owned(),
            (ReasonCode::Aggregates, None) => {
                "a host that is in no required aggregate or in a forbidden one".to_owned()
            }
            (ReasonCode::RootTraits, None) => "a host whose traits do not match root_required".to_owned(),
            (ReasonCode::Units, None) => format!("a host that does not allow this amount of {class}"),
            (ReasonCode::NoInventory, None) => format!("a host without inventory of {class}"),
            _ => "a host that is not what the role asks for".to_owned(),
        };
        Unfit {
            code: reason.code,
            class: reason.resource_class,
            host,
        }
    }

    fn new(code: ReasonCode, host: impl Into<String>) -> Unfit {
        Unfit {
            code,
            class: None,
            host: host.into(),
        }
    }
}
