//! Decides whether requests should go to this process: for balancers, and for the metrics.
//!
//! A process without any answer is not ready. A process with answers to some requests is ready and degraded: the cause
//! mostly holds for all processes. If a balancer took out all processes, the requests with answers would fail too.

use std::time::Duration;

use super::service::Service;
use crate::auth::keystone::{Keystone, KeystoneState};
use crate::model::DatabaseState;
use crate::model::statistics::WriteRefusal;

/// Why some requests fail while others are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Degradation {
    /// Keystone validated tokens, and cannot be asked now. Cached tokens are accepted.
    KeystoneGone,
    /// Writes are refused.
    DiskFull,
    ReadOnly,
    DiskFailed,
    /// Searches are answered from memory of a known age, and all else is refused.
    StaleReads,
}

impl Degradation {
    /// With their names, for clients.
    pub const ALL: [(Degradation, &'static str); 5] = [
        (Degradation::KeystoneGone, "keystone_gone"),
        (Degradation::DiskFull, "disk_full"),
        (Degradation::ReadOnly, "read_only"),
        (Degradation::DiskFailed, "disk_failed"),
        (Degradation::StaleReads, "stale_reads"),
    ];

    pub fn name(self) -> &'static str {
        let found = Degradation::ALL.into_iter().find(|(each, _)| *each == self);
        found.map_or("", |(_, name)| name)
    }
}

impl From<WriteRefusal> for Degradation {
    fn from(refusal: WriteRefusal) -> Degradation {
        match refusal {
            WriteRefusal::DiskFull => Degradation::DiskFull,
            WriteRefusal::ReadOnly => Degradation::ReadOnly,
            WriteRefusal::DiskFailed => Degradation::DiskFailed,
        }
    }
}

/// Whether requests should go to this process.
#[derive(Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Why no request can be answered; `None` if requests can be.
    pub unready: Option<String>,
    /// Why some requests fail, in the order of [`Degradation::ALL`].
    pub degraded: Vec<Degradation>,
}

/// The facts from the layers below.
#[derive(Debug, Clone, Copy)]
struct Observed {
    /// The time since the database answered.
    silence: Duration,
    /// `[placet] ready_timeout`.
    limit: Duration,
    /// How long the snapshot has been invalid.
    invalid: Duration,
    /// Whether searches are answered from memory while the database is silent or the snapshot is invalid.
    has_stale_reads: bool,
    write_refusal: Option<WriteRefusal>,
    /// `None` without Keystone.
    keystone: Option<KeystoneState>,
}

impl Readiness {
    /// The readiness of a loaded service.
    pub fn of(service: &Service) -> Readiness {
        let (database, settings) = (DatabaseState::of(&service.model), &service.settings);
        Readiness::judge(Observed {
            silence: database.silence(),
            limit: settings.ready_timeout,
            invalid: database.invalid_time(),
            has_stale_reads: database.has_stale_reads(settings.stale_reads),
            write_refusal: database.write_refusal(),
            keystone: service.auth.keystone().map(Keystone::state),
        })
    }

    fn judge(observed: Observed) -> Readiness {
        let is_silent = observed.silence > observed.limit;
        let silent = || format!("the database has not answered for {} s", observed.silence.as_secs());
        let keystone_reason = match observed.keystone {
            Some(KeystoneState::RefusesCredentials) => Some("Keystone refuses the credentials of placet"),
            Some(KeystoneState::NeverAvailable) => Some("Keystone has not answered for a token since the start"),
            Some(KeystoneState::Available | KeystoneState::Gone) | None => None,
        };
        let unready = (is_silent && !observed.has_stale_reads).then(silent);
        let has_stale_answers = observed.has_stale_reads && (is_silent || observed.invalid > observed.limit);
        let degraded = [
            (observed.keystone == Some(KeystoneState::Gone)).then_some(Degradation::KeystoneGone),
            observed.write_refusal.map(Degradation::from),
            has_stale_answers.then_some(Degradation::StaleReads),
        ];
        Readiness {
            unready: unready.or(keystone_reason.map(str::to_owned)),
            degraded: degraded.into_iter().flatten().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
