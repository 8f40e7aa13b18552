//! The rules of reports: the lease admits the report, and the agent owns each provider that the report changes.
//!
//! Each part of a report is stored or refused alone: a refused provider keeps no further provider from being stored. A
//! part equal to the stored part is not written, and the generation of the provider stays.

use std::collections::{HashMap, HashSet};

use super::{Rules, inventories, providers, resource_providers, traits};
use crate::error::{Error, Result};
use crate::model::batch::command::{Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;
use crate::model::hosts::{
    EndLeases, Health, HostReport, HostRow, LeaseRow, LeaseValues, OwnProvider, RefusedPart, ReportedProvider,
};
use crate::model::providers::{Describe, encode};
use crate::model::resource_providers::{NewParent, Update};
use crate::search::{Description, ProviderId, ProviderRow};

/// How many boots before the present boot a lease remembers.
const FORMER_BOOTS: usize = 3;
/// The beginning of names that are created by their first use.
const CUSTOM_PREFIX: &str = "CUSTOM_";

impl Write for HostReport {
    type Answer = Vec<RefusedPart>;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.own.entry::<HostRow>(&self.host);
        footprint.own.entry::<LeaseRow>(&self.host);
        footprint.add_described(self.uuids());
        footprint.descriptions.push(&self.description);
        for own in &self.providers {
            own.create.add_to(footprint);
            footprint.descriptions.push(&own.description);
            footprint.traits.extend(own.traits.iter().map(String::as_str));
        }
    }

    fn load(&self) -> Load {
        let rows = |own: &ReportedProvider| 2 + own.inventories.len() + own.traits.len();
        Load::of(2 + self.providers.iter().map(rows).sum::<usize>(), Reach::All)
    }

    /// # Errors
    /// [`Error::ProviderNotFound`], [`Error::BadRequest`] for a provider with a parent, [`Error::NotOwner`],
    /// [`Error::LeaseHeld`], [`Error::OldReport`].
    fn decide(&self, state: &mut State, rules: &Rules) -> Result<Vec<RefusedPart>> {
        let mut lease = check_lease(state, self)?;
        let makes_host = self.providers.iter().any(|own| own.create.uuid == self.host);
        if state.find_provider(&self.host).is_none() && !makes_host {
            return Err(Error::ProviderNotFound {
                uuid: self.host.clone(),
            });
        }
        if let Some(id) = state.find_provider(&self.host)
            && state.provider(id).is_some_and(|row| row.parent.is_some())
        {
            return Err(Error::BadRequest {
                detail: format!(
                    "Provider {} has a parent. An agent reports for a root provider.",
                    self.host
                ),
            });
        }
        let row = state.own.tables.row::<HostRow>(&self.host).cloned().unwrap_or_default();
        let mut storing = Storing {
            state,
            rules,
            report: self,
            row,
            refused: Vec::new(),
        };
        storing.providers();
        storing.missing_providers();
        storing.description();
        let Storing { row, refused, .. } = storing;
        state.own.tables.entry(&self.host).now = Some(row);
        // Without the digest of a stored report, the next report tries a refused part again.
        if refused.is_empty() {
            lease.values.digest.clone_from(&self.digest);
        }
        state.own.tables.entry(&self.host).now = Some(lease);
        Ok(refused)
    }
}

/// The lease after the report.
fn check_lease(state: &State, report: &HostReport) -> Result<LeaseRow> {
    let (host, new) = (&report.host, &report.lease);
    let base = state.own.tables.row::<LeaseRow>(host);
    let mut user = report.user.clone();
    let mut former_boots = String::new();
    if let Some(LeaseRow {
        values,
        health,
        is_over,
    }) = base
    {
        if values.user != report.user {
            if !report.may_report_all {
                return Err(Error::NotOwner { host: host.clone() });
            }
            user.clone_from(&values.user);
        }
        let is_alive = *health == Health::Up && !is_over;
        if values.holder != new.holder && is_alive {
            return Err(Error::LeaseHeld {
                host: host.clone(),
                holder: values.holder.clone(),
            });
        }
        let is_older = values.boot == new.boot && values.holder == new.holder && new.number < values.number;
        if is_older || values.former_boots.split(' ').any(|boot| boot == new.boot) {
            return Err(Error::OldReport {
                host: host.clone(),
                number: new.number,
                last: values.number,
            });
        }
        former_boots.clone_from(&values.former_boots);
        if values.boot != new.boot {
            let boots = std::iter::once(values.boot.as_str()).chain(former_boots.split(' '));
            let boots: Vec<&str> = boots.filter(|boot| !boot.is_empty()).take(FORMER_BOOTS).collect();
            former_boots = boots.join(" ");
        }
    }
    Ok(LeaseRow {
        values: LeaseValues {
            user,
            holder: new.holder.clone(),
            boot: new.boot.clone(),
            former_boots,
            number: new.number,
            digest: String::new(),
            term: new.term,
        },
        health: Health::Up,
        is_over: false,
    })
}

/// A report in the course of being stored.
struct Storing<'s, 'r> {
    state: &'s mut State,
    rules: &'r Rules,
    report: &'r HostReport,
    row: HostRow,
    refused: Vec<RefusedPart>,
}

impl Storing<'_, '_> {
    /// Notes a refusal of a part.
    fn note(&mut self, path: String, stored: Result<()>) -> bool {
        let refused = stored.err().map(|error| RefusedPart { path, error });
        let is_stored = refused.is_none();
        self.refused.extend(refused);
        is_stored
    }

    fn providers(&mut self) {
        for (at, own) in self.report.providers.iter().enumerate() {
            let found = self.find_or_create(own);
            let path = |member: &str| HostReport::path(at, member);
            let id = match found {
                Ok(id) => id,
                Err(error) => {
                    self.note(path(""), Err(error));
                    continue;
                }
            };
            let inventories = self.inventories(id, own);
            self.note(path("inventories"), inventories);
            let traits = self.traits(id, own);
            self.note(path("traits"), traits);
            let description = describe(self.state, &own.description, id, self.rules);
            self.note(path("properties"), description);
        }
    }

    /// The provider of the agent, in the reported place and by the reported name.
    fn find_or_create(&mut self, own: &ReportedProvider) -> Result<ProviderId> {
        let create = &own.create;
        if let Some(parent) = create.parent.as_ref().filter(|parent| **parent != self.report.host)
            && !self.row.owns(parent)
        {
            return Err(Error::BadRequest {
                detail: format!("parent_provider_uuid: {parent} is neither the host nor a provider before this one."),
            });
        }
        let Some(id) = self.state.find_provider(&create.uuid) else {
            create.decide(self.state, self.rules)?;
            self.own(own);
            return resource_providers::find(self.state, &create.uuid);
        };
        if !self.row.owns(&create.uuid) {
            return Err(Error::DuplicateProvider {
                duplicate: format!("uuid: {}", create.uuid),
            });
        }
        let parent = create
            .parent
            .as_ref()
            .and_then(|parent| self.state.find_provider(parent));
        let is_in_place = |row: &ProviderRow| row.parent == parent && *row.name == *create.name;
        if !self.state.provider(id).is_some_and(is_in_place) {
            let update = Update {
                uuid: create.uuid.clone(),
                name: create.name.clone(),
                parent: NewParent::Set(create.parent.clone()),
                may_reparent: true,
            };
            update.decide(self.state, self.rules)?;
        }
        self.own(own);
        Ok(id)
    }

    /// Notes that the agent owns the provider.
    fn own(&mut self, own: &ReportedProvider) {
        self.row.providers.retain(|known| known.uuid != own.create.uuid);
        self.row.providers.push(OwnProvider {
            uuid: own.create.uuid.clone(),
            name: own.create.name.clone(),
            is_gone: false,
        });
    }

    fn inventories(&mut self, id: ProviderId, own: &ReportedProvider) -> Result<()> {
        for (class, _) in &own.inventories {
            if self.state.class_id(class).is_none() && class.starts_with(CUSTOM_PREFIX) {
                self.state.add_class(class);
            }
        }
        let Some(row) = self.state.provider(id).cloned() else {
            return Ok(());
        };
        let state = &*self.state;
        let has = |(class, inventory): &(String, _)| {
            let id = state.class_id(class);
            id.is_some_and(|id| row.inventories.get(&id) == Some(inventory))
        };
        if row.inventories.len() == own.inventories.len() && own.inventories.iter().all(has) {
            return Ok(());
        }
        let replace = crate::model::inventories::Replace {
            provider: own.create.uuid.clone(),
            generation: row.generation,
            inventories: own.inventories.clone(),
            reserved_may_equal_total: true,
        };
        inventories::replace(self.state, &replace).map(drop)
    }

    fn traits(&mut self, id: ProviderId, own: &ReportedProvider) -> Result<()> {
        for name in &own.traits {
            if self.state.trait_id(name).is_none() && name.starts_with(CUSTOM_PREFIX) {
                self.state.add_trait(name);
            }
        }
        traits::replace(self.state, id, &own.traits)
    }

    /// Deletes the providers of the agent that the report lacks, children first. A provider with allocations or with a
    /// child is kept and gone. One pass is enough: each report has parents before children, and so has the row.
    fn missing_providers(&mut self) {
        let reported: HashSet<&str> = self.report.uuids().collect();
        let (kept, missing): (Vec<_>, Vec<_>) = std::mem::take(&mut self.row.providers)
            .into_iter()
            .partition(|own| reported.contains(own.uuid.as_str()));
        let mut children = self.children();
        let mut gone: Vec<OwnProvider> = Vec::new();
        for own in missing.into_iter().rev() {
            let Some(id) = self.state.find_provider(&own.uuid) else {
                continue;
            };
            let row = self.state.provider(id);
            let (parent, is_used) = row.map_or((None, false), |row| (row.parent, !row.used.is_empty()));
            if is_used || children.get(&id).is_some_and(|count| *count > 0) {
                gone.push(OwnProvider { is_gone: true, ..own });
                continue;
            }
            self.state.delete_provider(id);
            if let Some(count) = parent.and_then(|parent| children.get_mut(&parent)) {
                *count -= 1;
            }
        }
        self.row.providers = kept;
        self.row.providers.extend(gone.into_iter().rev());
    }

    /// The number of children, by provider of the host's tree.
    fn children(&mut self) -> HashMap<ProviderId, usize> {
        let host = self.state.find_provider(&self.report.host);
        let mut children = HashMap::new();
        for id in self.state.with_all_below(host.into_iter().collect()) {
            if let Some(parent) = self.state.provider(id).and_then(|row| row.parent) {
                *children.entry(parent).or_default() += 1;
            }
        }
        children
    }

    /// Writes the description of the host, unless a different client has described the host.
    fn description(&mut self) {
        let Some(id) = self.state.find_provider(&self.report.host) else {
            return;
        };
        if self
            .report
            .providers
            .iter()
            .any(|own| own.create.uuid == self.report.host)
        {
            return;
        }
        let without_state = |description: &Description| encode(description).1;
        let stored = self.state.description(id).map(|row| without_state(&row.description));
        let (new, empty) = (&self.report.description.description, Description::default());
        let is_ours = stored.is_none() || stored == self.row.description || stored == Some(without_state(&empty));
        if !is_ours || stored.is_none() && new.is_empty() {
            return;
        }
        let described = describe(self.state, &self.report.description, id, self.rules);
        if self.note("properties".to_owned(), described) {
            self.row.description = Some(without_state(new));
        }
    }
}

/// Describes a provider. The stored state stays: a person may have given the state after the agent. The reported state
/// is for a new provider.
fn describe(state: &mut State, new: &Describe, id: ProviderId, rules: &Rules) -> Result<()> {
    let row = state.description(id);
    let (generation, given) = (row.map(|row| row.generation), row.map(|row| row.description.state));
    let new = Describe {
        generation,
        description: Description {
            state: given.unwrap_or(new.description.state),
            ..new.description.clone()
        },
        ..new.clone()
    };
    if state
        .description(id)
        .map_or_else(|| new.description.is_empty(), |row| row.description == new.description)
    {
        return Ok(());
    }
    providers::describe_one(state, &new, id, rules)
}

/// Ends leases that are over. The lease of a deleted host is deleted.
impl Write for EndLeases {
    type Answer = usize;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        for host in &self.hosts {
            footprint.own.entry::<LeaseRow>(host);
            footprint.own.entry::<HostRow>(host);
        }
        footprint.providers.extend(self.hosts.iter().map(String::as_str));
    }

    fn load(&self) -> Load {
        Load::of(self.hosts.len(), Reach::All)
    }

    /// Returns the number of hosts whose health was up and is unknown now. A renewed lease stays.
    fn decide(&self, state: &mut State, _: &Rules) -> Result<usize> {
        let mut ended = 0;
        for host in &self.hosts {
            let Some(lease) = state.own.tables.row::<LeaseRow>(host).cloned() else {
                continue;
            };
            if lease.is_over && state.find_provider(host).is_none() {
                state.own.tables.entry::<LeaseRow>(host).now = None;
                state.own.tables.entry::<HostRow>(host).now = None;
                continue;
            }
            if lease.health != Health::Up || !lease.is_over {
                continue;
            }
            ended += 1;
            state.own.tables.entry(host).now = Some(LeaseRow {
                health: Health::Unknown,
                ..lease
            });
        }
        Ok(ended)
    }
}
