//! Why the host of a replica does not meet the query of the role.

use super::Replica;
use super::hosts::HostList;
use super::spec::Role;
use crate::error::{Error, Reason, ReasonCode, Result};
use crate::model::claims;
use crate::placing::{Eligible, PlacedReplica};
use crate::search::{self, ProviderState, Rejection, RoomCounts, SearchSettings, Slot, Snapshot};

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

    /// Why a host is not eligible for the role of a placed replica. Reasons about the replica's own providers come
    /// first.
    pub fn unfit(&self, PlacedReplica { role, host }: PlacedReplica, replica: &Replica) -> Unfit {
        if !self.is_up(host) {
            return Unfit::new(ReasonCode::State, "a host that is not up");
        }
        if let Some(dimension) = self.eligible.lacking_dimension(&self.list.cluster, host, role) {
            let name = &self.list.names[dimension];
            return Unfit::new(ReasonCode::Domain, format!("a host without a domain in {name}"));
        }
        match self.rejection(&self.roles[role], host, replica) {
            Ok(Some(rejection)) => self.unfit_for(&self.roles[role], rejection),
            Ok(None) => Unfit::new(ReasonCode::NoCandidate, "a host that is not what the role asks for"),
            Err(Error::UnknownTraitsInCandidates { .. }) => Unfit::new(
                ReasonCode::Traits,
                "a host that lacks a trait which does not exist any more",
            ),
            Err(_) => Unfit::new(
                ReasonCode::ClassNotFound,
                "a host without a class which does not exist any more",
            ),
        }
    }

    fn rejection(&self, role: &Role, host: u32, replica: &Replica) -> Result<Option<Rejection>> {
        let (request, slot) = (&role.query.request, self.slot(host));
        let rejected = search::rejected_in_host(self.snapshot, request, slot, RoomCounts::No, self.settings)?;
        let own = self.own(replica);
        let first = rejected
            .iter()
            .min_by_key(|(slot, rejection)| (!own.contains(slot), order(rejection)));
        Ok(first.map(|(_, rejection)| *rejection))
    }

    /// The provider of a host with too little room for a role, with the figures. If there are several, the replica's
    /// own providers come first. `None` if each provider has room by itself.
    pub fn lack_of_room(&self, role: usize, host: u32, replica: &Replica) -> Option<Reason> {
        let (request, slot) = (&self.roles[role].query.request, self.slot(host));
        let rejected = search::rejected_in_host(self.snapshot, request, slot, RoomCounts::Yes, self.settings).ok()?;
        let own = self.own(replica);
        let lacking = rejected.iter().filter_map(|(slot, rejection)| match rejection {
            Rejection::NoRoom { class, .. } => Some((*slot, *class, *rejection)),
            _ => None,
        });
        let (slot, class, rejection) = lacking.min_by_key(|(slot, ..)| !own.contains(slot))?;
        let limit = self.snapshot.inventory(slot, class)?.limit();
        Some(Reason {
            resource_provider: Some(self.snapshot.uuid(slot).to_owned()),
            provider_name: Some(self.snapshot.name(slot).into()),
            free: Some(limit.saturating_sub(self.snapshot.used(slot, class))),
            ..claims::of_one(self.snapshot, request, rejection)
        })
    }

    /// The providers on which a replica is.
    fn own(&self, replica: &Replica) -> Vec<Slot> {
        let shares = replica.allocations.iter();
        shares
            .filter_map(|share| self.snapshot.by_uuid(&share.provider))
            .collect()
    }

    fn unfit_for(&self, role: &Role, rejection: Rejection) -> Unfit {
        let Reason {
            code, resource_class, ..
        } = claims::of_one(self.snapshot, &role.query.request, rejection);
        let class = resource_class.as_deref().unwrap_or_default();
        let host = match code {
            ReasonCode::State => "a host with a provider that is not up".to_owned(),
            ReasonCode::Condition => "a host that does not meet where".to_owned(),
            ReasonCode::Domain => "a host outside of the domains that the role asks for".to_owned(),
            ReasonCode::Traits => "a host that lacks a required trait or has a forbidden one".to_owned(),
            ReasonCode::Aggregates => "a host that is in no required aggregate or in a forbidden one".to_owned(),
            ReasonCode::RootTraits => "a host whose traits do not match root_required".to_owned(),
            ReasonCode::Units => format!("a host that does not allow this amount of {class}"),
            ReasonCode::NoInventory => format!("a host without inventory of {class}"),
            _ => "a host that is not what the role asks for".to_owned(),
        };
        Unfit {
            code,
            class: resource_class,
            host,
        }
    }
}

impl Unfit {
    fn new(code: ReasonCode, host: impl Into<String>) -> Unfit {
        Unfit {
            code,
            class: None,
            host: host.into(),
        }
    }
}

/// The order of reasons: conditions that are usually changed to take a provider away come first.
fn order(rejection: &Rejection) -> u8 {
    match rejection {
        Rejection::State { .. } => 0,
        Rejection::Condition { .. } => 1,
        Rejection::OtherDomain | Rejection::ForbiddenDomain => 2,
        Rejection::MissingTrait { .. } | Rejection::MissingTraitInTree { .. } | Rejection::ForbiddenTrait { .. } => 3,
        Rejection::NotMember { .. } | Rejection::ForbiddenMember { .. } => 4,
        Rejection::Root => 5,
        Rejection::Units { .. } => 6,
        Rejection::NoInventory { .. } => 7,
        Rejection::NoRoom { .. } => 8,
    }
}
