//! Claims, granted and refused. Each consumer with a request for allocations is a claim.

use crate::error::{Error, ReasonCode, Reasons, Result};
use crate::model::batch::command::ClaimCounts;
use crate::model::claims::{PlaceAnswer, PlaceRequest};
use crate::model::workloads::Report;
use crate::statistics::Counter;

/// The reasons of refusals. A reason of `POST /v1/claims` has the name of the answer's code.
const REASONS: [&str; 24] = [
    "no_room",
    "no_room_normal",
    "units",
    "no_inventory",
    "provider_not_found",
    "class_not_found",
    "no_candidate",
    "groups",
    "in_tree",
    "required",
    "member_of",
    "root_required",
    "where",
    "domain",
    "state",
    "no_place",
    "no_capacity",
    "other_refused",
    "concurrent_update",
    "generation_limit",
    "busy",
    "unavailable",
    "unknown_outcome",
    OTHER,
];
const OTHER: &str = "other";

/// Counts claims.
#[derive(Debug, Default)]
pub struct ClaimStatistics {
    pub granted: Counter,
    pub released: Counter,
    refused: [Counter; REASONS.len()],
}

impl ClaimStatistics {
    /// The refused claims, by reason.
    pub fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        REASONS.into_iter().zip(self.refused.iter().map(Counter::value))
    }

    /// Counts the consumers of an answered command.
    pub(in crate::model) fn note<T>(&self, consumers: ClaimCounts, answer: &Result<T>) {
        match answer {
            Ok(_) => {
                self.granted.add(consumers.claiming);
                self.released.add(consumers.releasing);
            }
            Err(error) => self.refuse(reason_of(error), consumers.claiming),
        }
    }

    /// Counts the consumers of a call.
    pub(in crate::model) fn note_call(&self, request: &PlaceRequest, answer: &Result<PlaceAnswer>) {
        match answer {
            _ if request.is_dry_run => {}
            Ok(PlaceAnswer::Repeated(_)) => {}
            Ok(PlaceAnswer::Placed(placed)) => {
                for consumer in &placed.consumers {
                    match consumer {
                        Ok(_) => self.granted.increment(),
                        Err(reasons) => self.refuse(first_reason(reasons), 1),
                    }
                }
            }
            Err(Error::ClaimRefused(refusal)) => {
                for consumer in &refusal.consumers {
                    self.refuse(first_reason(&consumer.reasons), 1);
                }
            }
            Err(error) => self.refuse(reason_of(error), request.consumers.len() as u64),
        }
    }

    /// Counts the replicas of a workload that asked for a place. If the request was refused: `missing` replicas.
    pub(in crate::model) fn note_workload(&self, missing: u32, answer: &Result<Report>) {
        match answer {
            Ok(report) => {
                self.granted.add(report.change.placed.len() as u64);
                self.released.add(report.change.released.len() as u64);
                if let Some(reason) = report.reasons.kept().first() {
                    let pending = report.replicas.iter().filter(|it| !it.replica.is_placed());
                    self.refuse(reason.code.short_name(), pending.count() as u64);
                }
            }
            Err(Error::NoPlace { refusal }) => self.refuse(first_reason(&refusal.reasons), refusal.missing.into()),
            Err(error) => self.refuse(reason_of(error), missing.into()),
        }
    }

    fn refuse(&self, reason: &str, claims: u64) {
        let at = REASONS.iter().position(|known| *known == reason);
        self.refused[at.unwrap_or(REASONS.len() - 1)].add(claims);
    }
}

fn first_reason(reasons: &Reasons) -> &'static str {
    reasons.kept().first().map_or(OTHER, |reason| reason.code.short_name())
}

fn reason_of(error: &Error) -> &'static str {
    match error {
        Error::NoCapacity { .. } => "no_capacity",
        Error::Busy { .. } => "busy",
        Error::Unavailable { .. } => "unavailable",
        Error::UnknownOutcome { .. } => "unknown_outcome",
        _ => error.claim_code().map_or(OTHER, ReasonCode::short_name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn every_reason_of_a_refused_claim_has_a_name_of_its_own() {
        for code in [
            ReasonCode::NoRoom,
            ReasonCode::NoRoomNormal,
            ReasonCode::Units,
            ReasonCode::NoInventory,
            ReasonCode::ProviderNotFound,
            ReasonCode::ClassNotFound,
            ReasonCode::NoCandidate,
            ReasonCode::Groups,
            ReasonCode::InTree,
            ReasonCode::Traits,
            ReasonCode::Aggregates,
            ReasonCode::RootTraits,
            ReasonCode::NoPlace,
            ReasonCode::OtherRefused,
            ReasonCode::ConcurrentUpdate,
            ReasonCode::ConsumerGenerationLimit,
            ReasonCode::ProviderGenerationLimit,
        ] {
            let reasons: Reasons = Reason::new(code, String::new()).into();
            assert!(REASONS.contains(&first_reason(&reasons)), "{code:?}");
            assert_ne!(first_reason(&reasons), OTHER, "{code:?}");
        }
    }

    #[test]
    fn a_refused_claim_is_counted_for_each_of_its_consumers() {
        let claims = ClaimStatistics::default();
        let consumers = ClaimCounts {
            claiming: 3,
            releasing: 1,
        };
        let busy = Err::<(), _>(Error::Busy { detail: String::new() });
        claims.note(consumers, &busy);
        claims.note(consumers, &Ok(()));
        let refused: Vec<_> = claims.refused().filter(|(_, count)| *count > 0).collect();
        assert_eq!(refused, [("busy", 3)]);
        assert_eq!((claims.granted.value(), claims.released.value()), (3, 1));
    }
}
