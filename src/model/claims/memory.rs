//! The idempotency keys of calls: a call with an id can be repeated, and is carried out once.
//!
//! Naively, a scheduler whose connection broke cannot know whether the call was carried out. So a call may have an id.
//! If the call claims anything, the transaction of the claim stores the answer under the id. A repetition of the call,
//! at any process, gets this answer:
//! - [`super::place()`] looks for the answer before the search, and again before a refusal;
//! - the batch looks for the answer if the call was carried out since then: the batch finds the consumers, or the id.
//!
//! A refusal is not stored: a repetition is decided as a new call. So is a dry run, which stores nothing and is
//! answered from the present state.

use std::collections::BTreeMap;

use diesel::prelude::*;

use crate::db::engines::dialect::in_lists;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::placet_claims;
use crate::db::statements::claims as statements;
use crate::db::{DbConnection, DbResult};
use crate::error::{Error, Result};
use crate::model::batch::entry::{Entries, changed};
use crate::model::reads::reader::Reader;
use crate::mutants::{self, Mutant};

/// The id of a call, within a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimId {
    /// Uuid.
    pub id: String,
    /// The caller's project; empty if the token has none.
    pub project: String,
}

/// The id of a call, and the digests that recognise a repetition.
#[derive(Debug, Clone)]
pub struct RepeatableCall {
    pub id: ClaimId,
    /// Differs if the call differs.
    pub digest: String,
    /// The digest of the body's bytes, which earlier versions stored. After an upgrade the table has these digests for
    /// `[placet] claim_memory`. A repetition gets the answer if no byte differs.
    pub digest_of_bytes: String,
}

/// The answer to an earlier call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Of the earlier call.
    pub digest: String,
    /// The body of the answer.
    pub answer: String,
}

impl StoredAnswer {
    /// The answer to a repetition.
    ///
    /// # Errors
    /// [`Error::IdReused`] if the stored answer is of a different call.
    pub fn repeated(&self, call: &RepeatableCall) -> Result<String> {
        if self.digest == call.digest || self.digest == call.digest_of_bytes {
            Ok(self.answer.clone())
        } else {
            Err(Error::IdReused { id: call.id.id.clone() })
        }
    }
}

/// The stored answer, if the call was carried out before.
///
/// # Errors
/// [`Error::IdReused`].
pub(super) async fn stored_answer(reader: Reader, call: Option<&RepeatableCall>) -> Result<Option<String>> {
    let Some(call) = call else {
        return Ok(None);
    };
    let id = call.id.clone();
    let stored = reader.ask(move |conn| Ok(read(conn, &[&id])?.remove(&id))).await?;
    stored.map(|stored| stored.repeated(call)).transpose()
}

/// The stored answers to these calls.
pub fn read(conn: &mut DbConnection, ids: &[&ClaimId]) -> DbResult<BTreeMap<ClaimId, StoredAnswer>> {
    use placet_claims as t;
    let uuids: Vec<&str> = ids.iter().map(|id| id.id.as_str()).collect();
    // Different projects may use the same ids.
    let rows: Vec<(String, String, String, String)> = in_lists(&uuids, |uuids| {
        t::table
            .filter(t::id.eq_any(uuids))
            .select((t::id, t::project_id, t::digest, t::answer))
            .load(&mut *conn)
    })?;
    let stored = rows
        .into_iter()
        .map(|(id, project, digest, answer)| (ClaimId { id, project }, StoredAnswer { digest, answer }));
    Ok(stored.filter(|(id, _)| ids.contains(&id)).collect())
}

/// Inserts new answers, in the transaction of their claims. Guard: the primary key. The insert fails if a different
/// process has answered this id.
pub fn insert(answers: &Entries<ClaimId, StoredAnswer>) -> GuardedWrite {
    let new = changed(answers).filter(|_| !mutants::is(Mutant::ForgetAnswers));
    let rows = new.filter_map(|(id, entry)| {
        let stored = entry.now.as_ref()?;
        Some(vec![
            Value::Text(id.id.clone()),
            Value::Text(id.project.clone()),
            Value::Text(stored.digest.clone()),
            Value::Text(stored.answer.clone()),
        ])
    });
    GuardedWrite::Insert(statements::INSERT, rows.collect())
}
