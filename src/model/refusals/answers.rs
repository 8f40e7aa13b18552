//! Refused claims and workloads as refusals.

use chrono::Utc;

use super::{MAX_QUERY_BYTES, RefusalKind, RefusalLog, RefusalRecord, add_ids, bounded};
use crate::error::{Error, Reason, ReasonCode, Reasons, Result};
use crate::log_context;
use crate::model::allocations::Claim;
use crate::model::batch::command::Command;
use crate::model::claims::{PlaceAnswer, PlaceRequest, Wanted};
use crate::model::explain::QueryText;
use crate::model::workloads::{Put, Report};

impl RefusalLog {
    /// Keeps the refusals of a call, by the first consumer without a place.
    pub(in crate::model) fn note_call(&self, request: &PlaceRequest, answer: &Result<PlaceAnswer>) {
        let refused: Vec<(usize, &Reasons)> = match answer {
            _ if request.is_dry_run => return,
            Ok(PlaceAnswer::Placed(placed)) => {
                let outcomes = placed.consumers.iter().enumerate();
                outcomes
                    .filter_map(|(at, outcome)| Some((at, outcome.as_ref().err()?)))
                    .collect()
            }
            Err(Error::ClaimRefused(refusal)) => {
                let consumers = refusal.consumers.iter().enumerate();
                consumers.map(|(at, consumer)| (at, &consumer.reasons)).collect()
            }
            Ok(PlaceAnswer::Repeated(_)) | Err(_) => return,
        };
        // Of an atomic call, most consumers are refused because of a further consumer.
        let has_cause = |(_, reasons): &&(usize, &Reasons)| !reasons.are_all(ReasonCode::OtherRefused);
        let Some((at, reasons)) = refused.iter().find(has_cause) else {
            return;
        };
        let consumer = &request.consumers[*at];
        let query = match consumer.wanted {
            Wanted::Query(query) => Some(QueryText::of(&request.queries[query].request, MAX_QUERY_BYTES)),
            Wanted::Candidates(_) => None,
        };
        self.add_answer(RefusalRecord {
            query,
            may_exceed_normal: request.purpose.may_exceed_normal(),
            count: refused.len() as u64,
            project: consumer.claim.owner.as_ref().map(|owner| owner.project.clone()),
            ..refusal(RefusalKind::Claim, &consumer.claim.consumer, reasons)
        });
    }

    /// Keeps the refusal of a command of OpenStack's API that claims.
    pub(in crate::model) fn note_claim<T>(&self, consumer: Option<ClaimingConsumer>, answer: &Result<T>) {
        let (Some(consumer), Err(error)) = (consumer, answer) else {
            return;
        };
        if let Some(code) = error.claim_code() {
            let reasons = Reasons::from(Reason::new(code, error.to_string()));
            self.add_answer(RefusalRecord {
                project: consumer.project,
                ..refusal(RefusalKind::Claim, &consumer.uuid, &reasons)
            });
        }
    }

    /// Keeps the refusal of a workload, or of some of its replicas.
    pub(in crate::model) fn note_workload(&self, put: &Put, answer: &Result<Report>) {
        let (missing, reasons) = match answer {
            Ok(report) if !report.reasons.is_empty() => {
                let pending = report.replicas.iter().filter(|it| !it.replica.is_placed());
                (pending.count() as u64, &report.reasons)
            }
            Err(Error::NoPlace { refusal }) => (refusal.missing.into(), &refusal.reasons),
            _ => return,
        };
        self.add_answer(RefusalRecord {
            count: missing,
            project: Some(put.owner.project.clone()),
            ..refusal(RefusalKind::Workload, &put.uuid, reasons)
        });
    }

    /// Keeps the refusal of the current request.
    fn add_answer(&self, mut refusal: RefusalRecord) {
        let context = log_context::current();
        add_ids(&mut refusal.request_ids, context.as_deref());
        if refusal.project.is_none() {
            let caller = context.as_ref().and_then(|context| context.caller.get());
            refusal.project = caller.and_then(|caller| caller.project.clone());
        }
        self.add(refusal);
    }
}

fn refusal(kind: RefusalKind, subject: &str, reasons: &Reasons) -> RefusalRecord {
    RefusalRecord {
        id: 0,
        time: Utc::now(),
        kind,
        subject: Some(subject.to_owned()),
        query: None,
        may_exceed_normal: false,
        count: 1,
        project: None,
        request_ids: Vec::new(),
        reasons: bounded(reasons),
    }
}

/// The first consumer of a command that claims.
pub struct ClaimingConsumer {
    uuid: String,
    project: Option<String>,
}

/// `None` for a command that claims nothing.
pub(in crate::model) fn claiming_consumer(command: &Command) -> Option<ClaimingConsumer> {
    let claim = command.get::<Claim>()?;
    let consumer = claim.consumers.iter().find(|it| !it.allocations.is_empty())?;
    Some(ClaimingConsumer {
        uuid: consumer.consumer.clone(),
        project: consumer.owner.as_ref().map(|owner| owner.project.clone()),
    })
}
