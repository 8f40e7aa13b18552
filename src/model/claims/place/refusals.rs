//! Which refusals of a call are final, and which consumers are tried again.
//!
//! Rows decide all consumers of a call in one transaction. If one is refused nothing is written, so the others are
//! claimed in the next round. A refusal may rest on what those others would have taken. It is final if the next round
//! places them. If one of them gets nothing then, the refused consumer is tried again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Call, Claiming};
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, Reasons, RefusedConsumer, Result};
use crate::model::claims::{Contradiction, RequestedConsumer, Wanted};

/// How often posted candidates that rows refused are tried again in a call. After that the refusal is final: rows may
/// refuse for a reason that the plan does not know.
const MAX_POSTED_LOSSES: u32 = 8;

/// Consumers that rows refused beside others of the call, which come before them and would have been placed.
#[derive(Default)]
pub(super) struct BesideOthers {
    refused: Vec<usize>,
    others: BTreeSet<usize>,
}

impl BesideOthers {
    /// `at` was refused beside `others`, and beside those that were noted before in the round.
    fn note(&mut self, at: usize, others: &[usize]) {
        self.refused.push(at);
        self.others.extend(others);
    }

    /// The consumers to try again, if one of the others gets nothing.
    fn take_if(&mut self, is_lost: impl Fn(usize) -> bool) -> Vec<usize> {
        if !self.others.iter().any(|at| is_lost(*at)) {
            return Vec::new();
        }
        self.others.clear();
        std::mem::take(&mut self.refused)
    }
}

impl Call<'_> {
    /// Tries those again that were refused beside others of the call, if one of the others gets nothing. Returns
    /// whether there are any.
    pub(super) fn try_again_beside(&mut self, is_lost: impl Fn(usize) -> bool) -> bool {
        if self.posted_losses >= MAX_POSTED_LOSSES {
            return false;
        }
        let again = self.beside_others.take_if(is_lost);
        again.iter().for_each(|at| self.refused[*at] = None);
        self.posted_losses += u32::from(!again.is_empty());
        !again.is_empty()
    }

    /// Notes what was refused on rows. If the plan had room for a consumer, another plan may serve it.
    ///
    /// # Errors
    /// As of [`Self::claim`].
    pub(super) fn take_refusal(&mut self, claiming: &[Claiming], refusal: &ClaimRefusal) -> Result<()> {
        let is_last = self.posted_losses >= MAX_POSTED_LOSSES;
        let lost = claiming.iter().zip(&refusal.consumers);
        let lost = lost.filter(|(_, consumer)| !consumer.reasons.is_empty());
        let lost: BTreeSet<usize> = lost.map(|(it, _)| it.at).collect();
        let is_counted = self.try_again_beside(|at| lost.contains(&at));
        let (mut has_lost_posted, mut others, mut noted) = (false, Vec::new(), 0);
        // How many consumers there are up to the last refused one: what rows gave to an earlier one, a later one lacks.
        let mut contradicted = 0;
        for (index, (Claiming { at, planned }, consumer)) in claiming.iter().zip(&refusal.consumers).enumerate() {
            let reasons = &consumer.reasons;
            let is_final = reasons.kept().iter().any(|reason| reason.code.concerns_consumer())
                || reasons.are_all(ReasonCode::ProviderGenerationLimit);
            let is_posted = matches!(self.request.consumers[*at].wanted, Wanted::Candidates(_));
            if reasons.is_empty() {
                others.push(*at);
            } else if planned.taken.is_some() && !is_final && !(is_posted && is_last) {
                has_lost_posted |= is_posted;
                self.contradictions.refusals.extend(Contradiction::of(consumer));
                contradicted = index + 1;
            } else {
                self.refused[*at] = Some(reasons.clone());
                if !is_final && !others.is_empty() {
                    self.beside_others.note(*at, &others[noted..]);
                    noted = others.len();
                }
            }
        }
        if let Some(snapshot) = &self.planned_on {
            let compared = claiming[..contradicted].iter().flat_map(|it| it.planned.compared());
            let providers = compared.flat_map(|candidate| &candidate.allocations);
            let providers = providers.map(|(provider, _)| provider);
            self.contradictions.note_compared(snapshot, providers);
        }
        self.posted_losses += u32::from(has_lost_posted && !is_counted);
        if self.request.is_atomic && self.refused.iter().any(Option::is_some) {
            return Err(self.refusal(&self.refused));
        }
        Ok(())
    }

    /// The refusal of an atomic call.
    pub(super) fn refusal(&self, refused: &[Option<Reasons>]) -> Error {
        let consumers = self.request.consumers.iter().zip(refused);
        let consumers = consumers.map(|(consumer, reasons): (&RequestedConsumer, _)| RefusedConsumer {
            consumer: consumer.claim.consumer.clone(),
            reasons: reasons.clone().unwrap_or_else(other_refused),
        });
        Error::ClaimRefused(Arc::new(ClaimRefusal {
            consumers: consumers.collect(),
        }))
    }
}

/// Why a consumer gets nothing that would have got a place.
fn other_refused() -> Reasons {
    Reason::new(
        ReasonCode::OtherRefused,
        "Another consumer of this call cannot be placed, and the call is atomic.".to_owned(),
    )
    .into()
}
