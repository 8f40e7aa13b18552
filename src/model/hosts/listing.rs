//! Reads hosts that report, with their leases.

use chrono::{NaiveDateTime, SecondsFormat};

use super::leases::{Health, health};
use super::rows::{HostRow, OwnProvider};
use crate::db::DbConnection;
use crate::db::leases::{self, StoredLease};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::model::batch::own_tables::OwnRow;
use crate::model::pages;
use crate::search::{Domain, ProviderState, Snapshot, is_in_domain};

/// A host that reports.
#[derive(Debug, Clone)]
pub struct HostView {
    pub uuid: String,
    /// `None` if the host was deleted.
    pub name: Option<String>,
    /// The state by a person.
    pub state: ProviderState,
    pub health: Health,
    /// Whether the lease is over, and the health is not yet unknown.
    pub is_overdue: bool,
    pub holder: String,
    pub user: String,
    /// In seconds.
    pub term: i32,
    /// Until when the lease holds, by the database's clock, in the form of RFC 3339.
    pub until: String,
    pub providers: Vec<OwnProvider>,
}

/// `GET /v1/hosts`.
#[derive(Debug, Clone, Default)]
pub struct HostQuestion {
    pub state: Option<ProviderState>,
    pub health: Option<Health>,
    pub in_domain: Option<Domain>,
    pub limit: usize,
    pub after: Option<String>,
}

/// A page of hosts, and the uuid before the next page.
#[derive(Debug, Clone)]
pub struct HostPage {
    pub hosts: Vec<HostView>,
    pub next: Option<String>,
}

/// How many leases a statement reads.
const READ_AT_ONCE: usize = 1_000;

/// The hosts of a page, by uuid.
///
/// # Errors
/// Of the database.
pub async fn fetch_list(model: &Model, question: HostQuestion) -> Result<HostPage> {
    let snapshot = model.snapshot().await?;
    let reader = model.reader(false);
    let read = move |conn: &mut DbConnection| read_page(conn, &snapshot, &question);
    reader.read(read).await
}

fn read_page(conn: &mut DbConnection, snapshot: &Snapshot, question: &HostQuestion) -> Result<HostPage> {
    let (mut after, mut hosts) = (question.after.clone().unwrap_or_default(), Vec::new());
    loop {
        let found = leases::page(conn, &after, READ_AT_ONCE)?;
        let is_last = found.len() < READ_AT_ONCE;
        for lease in found {
            after.clone_from(&lease.host);
            let host = view(snapshot, lease);
            if question.admits(snapshot, &host) {
                hosts.push(host);
            }
            if hosts.len() > question.limit {
                return cut(conn, hosts, question.limit);
            }
        }
        if is_last {
            return cut(conn, hosts, question.limit);
        }
    }
}

/// The first hosts that make a page, with the providers of the agents. A page ends by bytes, too.
fn cut(conn: &mut DbConnection, hosts: Vec<HostView>, limit: usize) -> Result<HostPage> {
    let uuids: Vec<&str> = hosts.iter().map(|host| host.uuid.as_str()).collect();
    let bytes = HostRow::bytes(conn, &uuids)?;
    let (hosts, has_more) = pages::cut(hosts, limit, |host| bytes.get(&host.uuid).copied().unwrap_or(0));
    let next = hosts.last().filter(|_| has_more).map(|host| host.uuid.clone());
    Ok(HostPage {
        hosts: with_providers(conn, hosts)?,
        next,
    })
}

impl HostQuestion {
    fn admits(&self, snapshot: &Snapshot, host: &HostView) -> bool {
        let in_domain = |domain: &Domain| {
            let slot = snapshot.by_uuid(&host.uuid);
            let path = slot.and_then(|slot| snapshot.domain(slot, &domain.dimension));
            path.is_some_and(|path| is_in_domain(path, &domain.path))
        };
        self.state.is_none_or(|state| host.state == state)
            && self.health.is_none_or(|health| host.health == health)
            && self.in_domain.as_ref().is_none_or(in_domain)
    }
}

fn view(snapshot: &Snapshot, lease: StoredLease) -> HostView {
    let slot = snapshot.by_uuid(&lease.host);
    let health = health(&lease);
    HostView {
        name: slot.map(|slot| snapshot.name(slot).to_owned()),
        state: slot.map(|slot| snapshot.given_state(slot)).unwrap_or_default(),
        health,
        is_overdue: lease.is_over() && health == Health::Up,
        uuid: lease.host,
        holder: lease.values.holder,
        user: lease.values.user,
        term: lease.values.term,
        until: time_text(lease.held_until),
        providers: Vec::new(),
    }
}

fn with_providers(conn: &mut DbConnection, mut hosts: Vec<HostView>) -> Result<Vec<HostView>> {
    let uuids: Vec<&str> = hosts.iter().map(|host| host.uuid.as_str()).collect();
    let mut rows = HostRow::rows(conn, &uuids)?;
    for host in &mut hosts {
        host.providers = rows.remove(&host.uuid).map(|row| row.providers).unwrap_or_default();
    }
    Ok(hosts)
}

/// One host.
///
/// # Errors
/// [`Error::NotFound`] for a host that never reported.
pub async fn fetch(model: &Model, uuid: String) -> Result<HostView> {
    let snapshot = model.snapshot().await?;
    let read = move |conn: &mut DbConnection| {
        let lease = leases::of_hosts(conn, &[&uuid])?.pop();
        let found = lease.map(|lease| view(&snapshot, lease)).into_iter().collect();
        let host = with_providers(conn, found)?.pop();
        host.ok_or_else(|| Error::NotFound {
            noun: format!("report of host {uuid}"),
        })
    };
    model.reader(false).read(read).await
}

/// The time in the form of RFC 3339, to the second.
pub fn time_text(time: NaiveDateTime) -> String {
    time.and_utc().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The lease of a host; `None` if the host never reported.
pub async fn lease_of(model: &Model, host: String) -> Result<Option<StoredLease>> {
    let read = move |conn: &mut DbConnection| Ok(leases::of_hosts(conn, &[&host])?.pop());
    model.reader(false).ask(read).await
}
