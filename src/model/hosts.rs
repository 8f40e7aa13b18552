//! Hosts that report (`/v1/hosts`): what an agent says of its host, and the lease by which the host counts as alive.
//!
//! A report names the agent's own providers below the host. placet creates, changes and deletes these providers alone.
//! The program that made the host keeps the generation, inventories and traits of the host.
//!
//! Most reports are equal to the last report. An equal report renews the lease, and nothing else (`renewals.rs` of the
//! writer). Health changes by commands, so each process learns of a change.

mod leases;
mod listing;
mod rows;
mod watch;

use std::collections::BTreeSet;

use super::inventories::Inventory;
use super::providers::Describe;
use super::resource_providers::Create;
use crate::caller::CallerKey;
use crate::db::leases::{self as lease_rows, Renewal};
use crate::error::{Error, Result};
use crate::model::Model;

pub use leases::{Health, LeaseRow, LeaseValues};
pub use listing::{HostPage, HostQuestion, HostView, fetch, fetch_list};
pub use rows::{HostRow, OwnProvider};
pub use watch::LeaseWatch;

/// `PUT /v1/hosts/{uuid}/report`.
#[derive(Debug, Clone)]
pub struct HostReport {
    /// Uuid of the root provider.
    pub host: String,
    /// The user who sends the report.
    pub user: String,
    /// Whether the user may report for the hosts of all users.
    pub may_report_all: bool,
    pub lease: ReportedLease,
    /// A digest of the report without the number. Equal reports have equal digests.
    pub digest: String,
    /// The description of the host. Its state is not read.
    pub description: Describe,
    /// Parents come before their children.
    pub providers: Vec<ReportedProvider>,
}

/// The lease of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedLease {
    /// The name of the agent. Two agents with different names cannot hold the lease of one host.
    pub holder: String,
    /// A text, new after each boot of the host.
    pub boot: String,
    /// A number, which rises with each report of a boot.
    pub number: i64,
    /// In seconds.
    pub term: i32,
}

/// A provider of a report, which the agent owns. The first provider may be the host.
#[derive(Debug, Clone)]
pub struct ReportedProvider {
    pub create: Create,
    pub description: Describe,
    pub inventories: Vec<(String, Inventory)>,
    pub traits: Vec<String>,
}

/// A refused part of a report. The remaining parts are stored.
#[derive(Debug, Clone)]
pub struct RefusedPart {
    /// The path in the report, such as `providers[2]`.
    pub path: String,
    pub error: Error,
}

/// The effect of a report.
#[derive(Debug, Clone)]
pub struct Reported {
    /// Until when the lease holds, by the database's clock, in the form of RFC 3339; `None` if a dry run met no lease.
    pub until: Option<String>,
}

/// Ends the leases of these hosts, as far as the leases are over: a command of the leader.
#[derive(Debug, Clone)]
pub struct EndLeases {
    pub hosts: Vec<String>,
}

impl HostReport {
    /// The path of a member of the report.
    pub fn path(at: usize, member: &str) -> String {
        match member {
            "" => format!("providers[{at}]"),
            member => format!("providers[{at}].{member}"),
        }
    }

    /// The uuids of the host and of the providers.
    pub fn uuids(&self) -> impl Iterator<Item = &str> + Clone {
        let own = self.providers.iter().map(|own| own.create.uuid.as_str());
        std::iter::once(self.host.as_str()).chain(own)
    }

    fn renewal(&self) -> Renewal {
        Renewal {
            host: self.host.clone(),
            user: self.user.clone(),
            holder: self.lease.holder.clone(),
            boot: self.lease.boot.clone(),
            number: self.lease.number,
            digest: self.digest.clone(),
        }
    }
}

/// Stores a report and renews the lease. A report equal to the last report renews the lease alone.
///
/// # Errors
/// - [`Error::ProviderNotFound`] for a host that does not exist, and is not among the providers of the report.
/// - [`Error::NotOwner`] if the host belongs to a different user.
/// - [`Error::LeaseHeld`], [`Error::OldReport`].
/// - [`Error::ReportRefused`] with the paths of the refused parts.
pub async fn report(model: &Model, caller: &CallerKey, report: HostReport, is_dry_run: bool) -> Result<Reported> {
    if !is_dry_run && let Some(lease) = model.writer.renew(report.renewal()).await? {
        return Ok(Reported {
            until: Some(listing::time_text(lease.held_until)),
        });
    }
    let host = report.host.clone();
    let refused = model.submit_or_foresee(caller, report, is_dry_run).await?;
    if !refused.is_empty() {
        let sentence = |part: &RefusedPart| format!("{}: {}", part.path, part.error.to_string().trim_end_matches('.'));
        let sentences: Vec<String> = refused.iter().map(sentence).collect();
        return Err(Error::ReportRefused {
            sentences: sentences.join("; "),
        });
    }
    let lease = listing::lease_of(model, host).await?;
    Ok(Reported {
        until: lease.map(|lease| listing::time_text(lease.held_until)),
    })
}

/// The hosts whose leases are over, although the health is up. `watched` is the time without a gap in the watch of the
/// leases, in seconds.
///
/// # Errors
/// Of the database.
pub async fn overdue(model: &Model, watched: i32) -> Result<BTreeSet<String>> {
    let read = model
        .reader(false)
        .ask(move |conn| Ok(lease_rows::overdue(conn, watched)?));
    Ok(read.await?.into_iter().collect())
}
