//! Decides a batch before BEGIN, on the snapshot alone: the batch plan. `optimistic` says which commands have a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Decider;
use super::transaction::StateSource;
use crate::db::writer::{BatchPlan, LockSet};
use crate::db::{DbConnection, DbResult};
use crate::model::batch::base::Base;
use crate::model::batch::command::Command;
use crate::model::batch::optimistic;
use crate::model::batch::own_rows::OwnRows;
use crate::model::batch::save;
use crate::model::batch::state::{ConsumerRow, State};
use crate::search::{ProviderId, Snapshot};

impl Decider {
    /// A plan on the snapshot `base`. Without `conn`, the ids of the consumers' owners must be known.
    ///
    /// The peers' revisions that the writer compares were read before `base`, and the stamp is read after `base`. So if
    /// revisions and stamp are as expected, no peer has committed between the search of a claim and its guards.
    pub(super) fn plan_on(
        &mut self,
        base: Arc<Snapshot>,
        commands: &[&Command],
        conn: Option<&mut DbConnection>,
    ) -> DbResult<Option<BatchPlan<Self>>> {
        let now = self.precision.row_time();
        let mut state = State::new(Base::Snapshot(base), BTreeMap::new(), OwnRows::default(), now.and_utc());
        let stamp = self.store.stamp();
        state.held = self.held_providers();
        let decide = |command: &&Command| self.decide(&mut state, &stamp, command, StateSource::Snapshot);
        let decisions = commands.iter().map(decide).collect();
        // A warning depends on usage, and the snapshot may show more usage than there is now.
        if !optimistic::keeps_classes(&state) || !state.warnings.is_empty() {
            return Ok(None);
        }
        let consumers = state.consumers.values();
        let rows: Vec<&ConsumerRow> = consumers.filter_map(|entry| entry.now.as_ref()).collect();
        let has_ids = match conn {
            Some(conn) => self.owner_ids.load_missing(conn, &rows)?,
            None => self.owner_ids.has_all(&rows),
        };
        if !has_ids {
            return Ok(None);
        }
        let (writes, change) = save::plan(self.precision, &state, &self.owner_ids);
        let written: LockSet = state.written_providers().map(|id| id.0).collect();
        let contended = self.store.contended_providers();
        let is_contended = |id: &i32| contended.contains(&ProviderId(*id));
        Ok(Some(BatchPlan {
            decisions,
            change,
            writes,
            now,
            contended: written.iter().copied().filter(is_contended).collect(),
            written,
        }))
    }
}
