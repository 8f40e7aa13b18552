//! Increases of generations, and their limit: the columns are 32 bits wide on every engine.
//!
//! Naively, the database would refuse a higher number. PostgreSQL and MariaDB refuse the whole batch, with an unknown
//! error. SQLite stores the number, and the row has a negative number when it is read.
//!
//! So a command checks its increases before it changes anything, and only checked increases can be made. The log warns
//! long before: a provider with a hundred claims a second reaches half of the limit after four months.

use std::collections::BTreeMap;

use super::state::State;
use crate::error::{Error, Result};
use crate::search::{ProviderId, ProviderRow};

/// The highest generation that the tables store.
pub const GENERATION_MAX: i64 = i32::MAX as i64;
/// Warnings begin at this generation.
const WARN_FROM: i64 = 1 << 30;
/// The increases between two warnings about the same provider or consumer.
const WARN_EVERY: i64 = 1 << 20;

/// Providers whose generations may move, once for each occurrence in the list.
#[must_use]
pub struct GenerationMoves(Vec<ProviderId>);

impl State {
    /// Checks moves of generations, by one for each occurrence of a provider. The command may still be refused.
    pub fn check_moves(&mut self, providers: Vec<ProviderId>) -> Result<GenerationMoves> {
        let mut moves: BTreeMap<ProviderId, i64> = BTreeMap::new();
        for id in &providers {
            *moves.entry(*id).or_insert(0) += 1;
        }
        for (id, count) in moves {
            if let Some(row) = self.provider(id).filter(|row| row.generation + count > GENERATION_MAX) {
                return Err(Error::ProviderGenerationLimit {
                    provider: row.uuid.to_string(),
                });
            }
        }
        Ok(GenerationMoves(providers))
    }

    /// Makes the moves that [`State::check_moves`] allowed.
    pub fn move_generations(&mut self, moves: GenerationMoves) {
        for id in moves.0 {
            self.move_generation(id);
            if let Some((uuid, generation)) = self.provider(id).map(|row| (row.uuid.clone(), row.generation)) {
                self.warn_near_limit("Resource provider", &uuid, generation);
            }
        }
    }

    /// Changes a provider, and moves the generation by 1.
    ///
    /// # Errors
    /// As of [`State::check_moves`]; nothing is changed.
    pub fn edit_and_move(&mut self, id: ProviderId, change: impl FnOnce(&mut ProviderRow)) -> Result<()> {
        let moves = self.check_moves(vec![id])?;
        self.edit(id, change);
        self.move_generations(moves);
        Ok(())
    }

    /// Adds a log line if the generation, after an increase by 1, is a multiple of [`WARN_EVERY`] near the limit.
    pub fn warn_near_limit(&mut self, what: &str, uuid: &str, generation: i64) {
        if generation < WARN_FROM || generation % WARN_EVERY != 0 {
            return;
        }
        self.warnings.push(format!(
            "{what} {uuid} has generation {generation}: beyond {GENERATION_MAX} every change of it is refused; \
             docs/databases.md says how to reset it"
        ));
    }
}
