//! `GET /v1/workloads`: workloads with how many replicas have a place, and whether they are safe.

use super::{Page, Report, StoredWorkload, WorkloadRow, placed_and_pending};
use crate::caller::CallerKey;
use crate::error::Result;
use crate::model::judging::{JudgedPage, Keep, judge_page};
use crate::model::pages::PAGE_TIME;
use crate::model::{Model, Reader};
use crate::search::SearchSettings;

/// A workload with the figures of its state.
#[derive(Debug, Clone)]
pub struct Listed {
    pub row: WorkloadRow,
    pub placed: usize,
    pub pending: usize,
    /// As of [`Report::safety`]; `None` also if the workload could not be judged.
    pub is_safe: Option<bool>,
    pub is_quorum_lost: Option<bool>,
}

/// An estimate of the bytes of a workload's members, without the texts.
const MEMBERS_BYTES: usize = 250;

/// Keeps the figures.
#[derive(Clone)]
struct KeepFigures;

impl Keep for KeepFigures {
    type Kept = Listed;

    /// A workload that cannot be judged stays in the list.
    fn keep(&self, stored: &StoredWorkload, judged: Result<Report>) -> Option<Listed> {
        let uuid = &stored.row.uuid;
        let report = judged.inspect_err(|error| {
            log::error!("Whether workload {uuid} is safe cannot be judged: {error}; put it again");
        });
        let safety = report.map(|report| report.safety).unwrap_or_default();
        let (placed, pending) = placed_and_pending(stored.replicas.iter());
        Some(Listed {
            row: stored.row.clone(),
            placed,
            pending,
            is_safe: safety.is_safe,
            is_quorum_lost: safety.is_quorum_lost,
        })
    }

    fn bytes(kept: &Listed) -> usize {
        MEMBERS_BYTES + kept.row.body.len() + kept.row.name.len()
    }
}

/// The workloads of a page, and the uuid of the workload after which the next page begins.
///
/// # Errors
/// [`crate::error::Error::Busy`] if the page takes as long as a command may. Errors of the database.
pub async fn list(
    model: &Model,
    reader: &Reader,
    rows: Page,
    settings: &SearchSettings,
    caller: &CallerKey,
) -> Result<(Vec<Listed>, Option<String>)> {
    let page = JudgedPage {
        rows,
        named: None,
        time: PAGE_TIME,
    };
    judge_page(model, reader, page, KeepFigures, (settings, caller, None)).await
}
