//! Ends the leases that are over: the work of the leader.
//!
//! A host is not taken for dead because of placet's own fault. The database alone compares times. A lease ends only if
//! its end was watched for a whole term without a gap: after a start, a pause of the process or a silence of the
//! database, each agent first gets the time for a report. If more than half of the hosts that report, or more than half
//! of the domains of a dimension, are silent when a lease is over, the network is the likely cause, and no lease ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::EndLeases;
use crate::caller::CallerKey;
use crate::db::boot_instant::BootInstant;
use crate::db::{DbConnection, DbResult, leases};
use crate::error::Result;
use crate::model::Model;
use crate::search::{ProviderState, Slot, Snapshot};

/// The longest time between two checks of an uninterrupted watch.
const MAX_GAP: Duration = Duration::from_secs(5);
/// The most leases that a command ends.
const MAX_ENDED: usize = 200;
/// The most names in a line of the log.
const MAX_NAMES: usize = 5;

/// Watches the leases, on a thread of its own. The functions wait for the database.
pub struct LeaseWatch {
    model: Model,
    runtime: Runtime,
    watch: Watch,
    held_back: Option<HeldBack>,
}

/// How long the leases have been watched without a gap.
#[derive(Debug, Default)]
struct Watch {
    since: Option<BootInstant>,
    last: Option<BootInstant>,
}

impl Watch {
    /// The time of the uninterrupted watch at a check at this moment.
    fn check(&mut self, now: BootInstant) -> Duration {
        let has_gap = self
            .last
            .is_none_or(|last| now.saturating_duration_since(last) > MAX_GAP);
        if has_gap || self.since.is_none() {
            self.since = Some(now);
        }
        self.last = Some(now);
        self.since
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// Why no lease ends: too many hosts fell silent at once.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HeldBack {
    silent: usize,
    of: usize,
    /// The dimension of the domains; `None` if hosts are counted.
    dimension: Option<String>,
}

impl LeaseWatch {
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn new(model: Model) -> std::io::Result<LeaseWatch> {
        Ok(LeaseWatch {
            model,
            runtime: Builder::new_current_thread().enable_time().build()?,
            watch: Watch::default(),
            held_back: None,
        })
    }

    /// Forgets how long the leases were watched: a different process watched the leases, or none did.
    pub fn begin_again(&mut self) {
        self.watch = Watch::default();
        self.held_back = None;
        self.model.silent_hosts.set(0);
    }

    /// Ends the leases that are over.
    ///
    /// # Errors
    /// Of the database. The watch begins again.
    pub fn check(&mut self) -> Result<()> {
        let watched = self.watch.check(BootInstant::now());
        let checked = self.end_leases(watched);
        if checked.is_err() {
            self.watch = Watch::default();
        }
        checked
    }

    fn end_leases(&mut self, watched: Duration) -> Result<()> {
        let watched = i32::try_from(watched.as_secs()).unwrap_or(i32::MAX);
        let overdue = self.runtime.block_on(super::overdue(&self.model, watched))?;
        let unknown = self.runtime.block_on(ask(&self.model, leases::unknown))?;
        if overdue.is_empty() && unknown.is_empty() {
            self.note(None);
            return Ok(());
        }
        let snapshot = self.runtime.block_on(self.model.snapshot())?;
        let is_deleted = |host: &String| snapshot.by_uuid(host).is_none();
        let deleted: Vec<String> = unknown.into_iter().filter(is_deleted).collect();
        self.submit(&deleted)?;
        if overdue.is_empty() {
            self.note(None);
            return Ok(());
        }
        let living = self.runtime.block_on(ask(&self.model, leases::living))?;
        let held_back = held_back(&snapshot, &living);
        let is_held_back = held_back.is_some();
        self.note(held_back);
        if is_held_back {
            return Ok(());
        }
        let names = names(&snapshot, &overdue);
        let ended = self.submit(&overdue.into_iter().collect::<Vec<_>>())?;
        if ended > 0 {
            log::warn!(
                "The leases of {ended} hosts are over, and the hosts are unknown: {names}. An unknown host gets nothing \
                 new on /v1 until the next report; replicas there stay"
            );
        }
        Ok(())
    }

    /// Ends leases by short commands, so that claims do not wait. Returns the number of hosts that were up.
    fn submit(&self, hosts: &[String]) -> Result<usize> {
        let caller = CallerKey::of_background();
        let ended = hosts.chunks(MAX_ENDED).map(|hosts| {
            let hosts = hosts.to_vec();
            self.runtime
                .block_on(self.model.submit_for(&caller, EndLeases { hosts }))
        });
        ended.sum()
    }

    /// Logs once that leases are held back, and once that they are no longer.
    fn note(&mut self, held_back: Option<HeldBack>) {
        self.model
            .silent_hosts
            .set(held_back.as_ref().map_or(0, |held| held.silent));
        if held_back.is_some() == self.held_back.is_some() {
            self.held_back = held_back;
            return;
        }
        match &held_back {
            Some(HeldBack { silent, of, dimension }) => {
                let things = dimension.as_ref().map_or_else(
                    || "hosts that report".to_owned(),
                    |dimension| format!("domains of {dimension}"),
                );
                log::error!(
                    "{silent} of {of} {things} fell silent at once, so none is taken for unknown: look at the network \
                     between agents and placet. To say which hosts are lost, set their state"
                );
            }
            None => log::info!("Less than half of the hosts are silent: leases end again"),
        }
        self.held_back = held_back;
    }
}

async fn ask<T: Send + 'static>(model: &Model, read: fn(&mut DbConnection) -> DbResult<T>) -> Result<T> {
    model.reader(false).ask(move |conn| Ok(read(conn)?)).await
}

fn names(snapshot: &Snapshot, hosts: &BTreeSet<String>) -> String {
    let name = |host: &String| {
        let slot = snapshot.by_uuid(host);
        slot.map_or_else(|| host.clone(), |slot| snapshot.name(slot).to_owned())
    };
    let mut names: Vec<String> = hosts.iter().take(MAX_NAMES).map(name).collect();
    if hosts.len() > MAX_NAMES {
        names.push(format!("{} more", hosts.len() - MAX_NAMES));
    }
    names.join(", ")
}

/// Whether too many of the hosts with a lease are silent. A host whose state is not up does not count: a person has
/// said what the host is.
fn held_back(snapshot: &Snapshot, living: &[(String, bool)]) -> Option<HeldBack> {
    let counted = living.iter().filter_map(|(host, is_silent)| {
        let slot = snapshot.by_uuid(host)?;
        let is_up = snapshot.given_state(slot) == ProviderState::Up;
        is_up.then_some((slot, *is_silent))
    });
    let counted: Vec<(Slot, bool)> = counted.collect();
    let silent = counted.iter().filter(|(_, is_silent)| *is_silent).count();
    if silent * 2 > counted.len() {
        return Some(HeldBack {
            silent,
            of: counted.len(),
            dimension: None,
        });
    }
    silent_domains(snapshot, &counted)
}

/// Whether more than half of the domains of a dimension are silent, at any level. A domain is silent if all of its
/// hosts are.
fn silent_domains(snapshot: &Snapshot, counted: &[(Slot, bool)]) -> Option<HeldBack> {
    // By dimension and level: by path, whether the domain is silent.
    let mut levels: BTreeMap<(String, usize), BTreeMap<String, bool>> = BTreeMap::new();
    for (slot, is_silent) in counted {
        for (dimension, path) in snapshot.effective_description(*slot).domains {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            for (level, end) in ends.enumerate() {
                let domains = levels.entry((dimension.to_string(), level)).or_default();
                *domains.entry(path[..end].to_owned()).or_insert(true) &= is_silent;
            }
        }
    }
    levels.into_iter().find_map(|((dimension, _), domains)| {
        let silent = domains.values().filter(|is_silent| **is_silent).count();
        let held_back = HeldBack {
            silent,
            of: domains.len(),
            dimension: Some(dimension),
        };
        // A level with a single domain says no more than the hosts do.
        (held_back.of > 1 && silent * 2 > held_back.of).then_some(held_back)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Catalog, Description, ProviderId, ProviderRow};

    /// Hosts, each in a domain of the dimension `fault` or in none, and silent or not. Returns the number of silent
    /// hosts, and of all counted hosts.
    fn judge(hosts: &[(&str, bool)], state: ProviderState) -> Option<(usize, usize)> {
        let uuid = |at: usize| format!("host-{at}");
        let ids = || (0..hosts.len()).map(|at| (at, ProviderId(i32::try_from(at).unwrap() + 1)));
        let rows = ids().map(|(at, id)| ProviderRow::bare(id, uuid(at).as_str(), uuid(at).as_str()));
        let rows: Vec<ProviderRow> = rows.map(|row| ProviderRow { root: row.id, ..row }).collect();
        let snapshot = Snapshot::lay_out(Catalog::default(), [false; 2], rows);
        let domain = |path: &str| (!path.is_empty()).then(|| ("fault".into(), path.into()));
        let described = ids().map(|(at, id)| {
            let description = Description {
                domains: domain(hosts[at].0).into_iter().collect(),
                // The state of the first host alone differs.
                state: if at == 0 { state } else { ProviderState::Up },
                ..Description::default()
            };
            (id, description)
        });
        let snapshot = snapshot.with_descriptions(described);
        let living = hosts
            .iter()
            .enumerate()
            .map(|(at, (_, is_silent))| (uuid(at), *is_silent));
        held_back(&snapshot, &living.collect::<Vec<_>>()).map(|held| (held.silent, held.of))
    }

    #[test]
    fn leases_end_unless_more_than_half_of_the_hosts_are_silent() {
        let up = ProviderState::Up;
        assert_eq!(judge(&[("a", true), ("a", false)], up), None, "exactly half");
        assert_eq!(judge(&[("a", true), ("a", true), ("a", false)], up), Some((2, 3)));
        assert_eq!(
            judge(&[("a", true), ("a", true), ("a", false)], ProviderState::Lost),
            None,
            "a person has said that the first host is lost"
        );
    }

    #[test]
    fn leases_end_unless_more_than_half_of_the_domains_of_a_level_are_silent() {
        let up = ProviderState::Up;
        let racks = [
            ("z/1", true),
            ("z/2", true),
            ("z/3", false),
            ("z/3", false),
            ("z/3", false),
        ];
        assert_eq!(judge(&racks, up), Some((2, 3)), "two of three racks");
        let half = [("z/1", true), ("z/1", false), ("z/2", true), ("z/3", false)];
        assert_eq!(judge(&half, up), None, "one of three racks is silent as a whole");
        let single = [("z", true), ("", false), ("", false)];
        assert_eq!(judge(&single, up), None, "a single domain");
    }

    #[test]
    fn a_watch_begins_again_after_a_gap() {
        let (mut watch, start) = (Watch::default(), BootInstant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(watch.check(at(0)), Duration::ZERO);
        assert_eq!(watch.check(at(4)), Duration::from_secs(4));
        assert_eq!(watch.check(at(8)), Duration::from_secs(8));
        assert_eq!(watch.check(at(60)), Duration::ZERO, "no process looked for 52 seconds");
        assert_eq!(watch.check(at(61)), Duration::from_secs(1));
    }
}
