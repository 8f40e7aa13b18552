//! Turns the plan of a call into the command that claims: some consumers claim, and the plan refuses the rest.

use std::sync::Arc;

use super::{
    Candidates, ClaimFirst, ClaimOutcome, ConsumerChoice, Limits, Memory, PlaceAnswer, PlaceRequest, PlacedCall, Plan,
    PlannedConsumer, Wanted,
};
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, Reasons, RefusedConsumer, Result};
use crate::model::allocations::Expected;

/// The plan of a call.
#[derive(Debug, Clone)]
pub struct PlannedCall {
    /// By consumer of the call, the reasons of the refusal. `None` for the consumers of the command.
    pub refused: Vec<Option<Reasons>>,
    /// False if a tree had too many combinations for a comparison of all by rank.
    pub is_exact: bool,
    pub command: ClaimFirst,
    /// Whether the plan claims nothing.
    pub is_refusal: bool,
}

impl PlannedCall {
    /// `refused` has the reasons of the consumers without a plan, `plan` has the remaining consumers.
    pub fn new(request: &Arc<PlaceRequest>, mut refused: Vec<Option<Reasons>>, plan: Plan) -> PlannedCall {
        let mut choices = Vec::with_capacity(plan.consumers.len());
        let pending = request.pending(&refused);
        for (at, planned) in pending.into_iter().zip(plan.consumers) {
            match planned {
                Ok(planned) => choices.push(ConsumerChoice {
                    claim: request.consumers[at].claim.clone(),
                    candidates: planned.candidates,
                    limits: planned.limits,
                    is_required: request.is_atomic || planned.fits,
                }),
                Err(reasons) => refused[at] = Some(reasons),
            }
        }
        let memory = request.remembered().map(|call| Memory {
            call: call.clone(),
            request: Arc::clone(request),
            refused: refused.clone(),
            is_exact: plan.is_exact,
        });
        PlannedCall {
            is_refusal: choices.is_empty() || request.is_atomic && refused.iter().any(Option::is_some),
            is_exact: plan.is_exact,
            command: ClaimFirst::new(choices, memory.map(Arc::new)),
            refused,
        }
    }

    /// The answer, with the outcomes of the consumers of the command.
    pub fn placed(self, outcomes: &[ClaimOutcome]) -> PlacedCall {
        PlacedCall::new(self.refused, outcomes, self.is_exact)
    }
}

impl PlaceRequest {
    /// The indexes of the consumers without a refusal.
    pub fn pending(&self, refused: &[Option<Reasons>]) -> Vec<usize> {
        (0..self.consumers.len()).filter(|at| refused[*at].is_none()).collect()
    }

    /// The plan of a call without queries: all candidates of each consumer. Rows alone decide about the candidates.
    pub fn posted(&self, refused: &[Option<Reasons>]) -> Plan {
        let planned = self.pending(refused).into_iter();
        let planned = planned.filter_map(|at| match &self.consumers[at].wanted {
            Wanted::Candidates(list) => Some(Ok(PlannedConsumer {
                candidates: Candidates::all(Arc::clone(list)),
                limits: Limits::of(self.purpose),
                fits: false,
            })),
            Wanted::Query(_) => None,
        });
        Plan {
            consumers: planned.collect(),
            is_exact: true,
        }
    }

    /// Whether these consumers are new and have queries. If so, only rows of providers can refuse the claim.
    pub fn are_new_with_queries(&self, consumers: &[usize]) -> bool {
        let mut consumers = consumers.iter().map(|at| &self.consumers[*at]);
        consumers.all(|it| it.claim.generation == Expected::New && matches!(it.wanted, Wanted::Query(_)))
    }

    /// The answer to a call of which the plan claims nothing.
    ///
    /// # Errors
    /// [`Error::ClaimRefused`] if the call is atomic.
    pub fn refused(&self, planned: PlannedCall) -> Result<PlaceAnswer> {
        if self.is_atomic {
            return Err(self.refusal(&planned.refused));
        }
        Ok(PlaceAnswer::Placed(planned.placed(&[])))
    }

    /// The refusal of an atomic call.
    pub fn refusal(&self, refused: &[Option<Reasons>]) -> Error {
        let refused = self.consumers.iter().zip(refused);
        let consumers = refused.map(|(consumer, reasons)| RefusedConsumer {
            consumer: consumer.claim.consumer.clone(),
            reasons: reasons.clone().unwrap_or_else(other_refused),
        });
        Error::ClaimRefused(Arc::new(ClaimRefusal {
            consumers: consumers.collect(),
        }))
    }
}

/// The reason for a consumer with a place, whose atomic call is refused.
fn other_refused() -> Reasons {
    Reason::new(
        ReasonCode::OtherRefused,
        "Another consumer of this call cannot be placed, and the call is atomic.".to_owned(),
    )
    .into()
}
