//! The positions of writers, up to which a reader follows the change feed.

use std::collections::BTreeMap;

/// The last followed commit of a writer: its revision and its commit token. The default is the position of a new
/// writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub revision: i64,
    pub token: String,
}

/// The position of every writer, under one epoch. The epoch changes when a writer is pruned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revisions {
    pub epoch: String,
    pub writers: BTreeMap<String, Position>,
}

impl Revisions {
    /// The last followed revision of a writer; 0 for an unknown or new writer.
    pub fn of(&self, writer: &str) -> i64 {
        self.writers.get(writer).map_or(0, |position| position.revision)
    }

    /// Takes over each position of `newer` that is not behind the own position.
    pub fn advance(&mut self, newer: Revisions) {
        for (writer, position) in newer.writers {
            if position.revision >= self.of(&writer) {
                self.writers.insert(writer, position);
            }
        }
    }
}
