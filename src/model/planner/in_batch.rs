//! The command that plans a request inside the writer's batch, after several plans of the request have lost.
//!
//! A plan beside the writer can lose the places to other commands again and again, because the search takes longer than
//! a claim. Inside the batch no command of this process comes in between. The writer follows the change feed, plans,
//! locks and reads the rows of the plan, and decides. If a row differs from the snapshot, the writer corrects the
//! snapshot and plans again. So the request ends when the rows agree with the snapshot.

use std::fmt;
use std::sync::Arc;

use crate::db::DbConnection;
use crate::db::writer::RowNames;
use crate::error::{Error, Result};
use crate::model::batch::command::{Answer, Command, Load, Write};
use crate::model::batch::decide::Rules;
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;
use crate::model::claims::ConsumerChoice;
use crate::search::Snapshot;

/// A search inside the batch takes as long as a command of this many rows: so the command is a batch of its own.
const SEARCH_ROWS: usize = 1_000;

/// Plans on the snapshot and on the rows that the connection reads. The plan avoids the held rows. `None` if the search
/// would stop the writer for too long.
type SearchInBatch =
    dyn Fn(&mut DbConnection, &Arc<Snapshot>, Arc<RowNames>) -> Result<Option<CommandPlan>> + Send + Sync;

/// The command that plans and writes in the same batch. The answer is the plan, and the answer to the command of the
/// plan: `None` if the plan writes nothing.
pub struct PlanInBatch {
    pub search: Box<SearchInBatch>,
    /// Whether the command of the plan is decided, and not written.
    pub is_dry_run: bool,
}

/// The plan of any request, with the command of the plan.
pub struct CommandPlan {
    /// The plan in the type of the request.
    pub plan: Answer,
    /// `None` if the plan writes nothing.
    pub command: Option<Command>,
    pub choices: Vec<ConsumerChoice>,
}

impl fmt::Debug for PlanInBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlanInBatch")
    }
}

impl Write for PlanInBatch {
    type Answer = (Answer, Option<Answer>);

    fn add_to<'a>(&'a self, _: &mut Footprint<'a>) {}

    fn load(&self) -> Load {
        Load::of(SEARCH_ROWS, Reach::All)
    }

    fn decide(&self, _: &mut State, _: &Rules) -> Result<Self::Answer> {
        Err(Error::Internal {
            detail: "a command was to be planned before it is decided".to_owned(),
        })
    }
}
