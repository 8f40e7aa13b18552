//! Stores the answers to calls with an id, in the transaction of their claims.

use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::statements::claims as statements;
use crate::model::batch::state::State;
use crate::mutants::{self, Mutant};

/// Inserts the batch's answers. Guard: the primary key. The insert fails if a different process has answered this id.
pub fn insert(state: &State) -> GuardedWrite {
    let new = state
        .answers
        .iter()
        .filter(|(_, entry)| entry.is_new && !mutants::is(Mutant::ForgetAnswers));
    let rows = new.map(|(id, entry)| {
        vec![
            Value::Text(id.id.clone()),
            Value::Text(id.project.clone()),
            Value::Text(entry.stored.digest.clone()),
            Value::Text(entry.stored.answer.clone()),
        ]
    });
    GuardedWrite::Insert(statements::INSERT, rows.collect())
}
