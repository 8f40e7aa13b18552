//! The commands in the writer's queue, and their answers.
//!
//! A command is one `impl` of [`Write`], in the noun's file of `decide/`. The writer and the batch know no nouns: they
//! have [`Command`] and [`Answer`], which hide the types.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use super::decide::Rules;
use super::footprint::{Footprint, Reach};
use super::state::State;
use crate::error::{Error, Result};
use crate::model::snapshot::stamp::Stamp;

/// A change by a client.
pub trait Write: Debug + Send + Sync + Sized + 'static {
    type Answer: AnyAnswer + Clone;

    /// Adds the rows that the command may read or write.
    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>);

    /// Decides the command on the state that the earlier commands of the batch left. A refusal leaves the state
    /// unchanged. Pure: no SQL, and the only clock is the batch's time.
    fn decide(&self, state: &mut State, rules: &Rules) -> Result<Self::Answer>;

    fn load(&self) -> Load {
        Load::of(1, Reach::All)
    }

    /// The number of consumers that the command claims for and releases, for the statistics.
    fn counts(&self) -> ClaimCounts {
        ClaimCounts::default()
    }

    /// The consumers of a claim, whose rows a batch plan inserts.
    fn claimed_consumers(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Counts the rows of the command, which takes milliseconds for the longest body: not on an HTTP worker.
    fn into_command(self) -> Command {
        Command {
            load: self.load(),
            counts: self.counts(),
            write: Arc::new(self),
        }
    }
}

/// The properties of a command by which the writer forms batches.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The number of rows that the command writes, as far as the command shows: consumers, their allocations, and the
    /// inventories, traits, aggregates and descriptions of providers.
    pub rows: usize,
    /// Whether the command may be planned before BEGIN, as far as the command alone decides (`optimistic`).
    pub is_plannable: bool,
    pub reach: Reach,
    /// The stamp of the snapshot on which the candidates were found, if the snapshot may lack commits of peers.
    pub searched: Option<Stamp>,
}

impl Load {
    /// The load of a command that is decided on rows.
    pub fn of(rows: usize, reach: Reach) -> Load {
        Load {
            rows,
            is_plannable: false,
            reach,
            searched: None,
        }
    }
}

/// The number of consumers to which a command gives allocations, and of consumers that lose all allocations.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ClaimCounts {
    pub claiming: u64,
    pub releasing: u64,
}

/// A command of any type. Clones share the command.
#[derive(Debug, Clone)]
pub struct Command {
    pub load: Load,
    pub counts: ClaimCounts,
    write: Arc<dyn AnyWrite>,
}

impl Command {
    /// The footprint of commands, without the candidates that name a provider of `held`.
    pub fn footprint<'a>(commands: &[&'a Command], held: Option<&'a BTreeSet<String>>) -> Footprint<'a> {
        let mut footprint = Footprint {
            held,
            ..Footprint::default()
        };
        for command in commands {
            footprint.reach = footprint.reach.max(command.load.reach);
            command.write.add_to(&mut footprint);
        }
        footprint
    }

    /// As [`Write::decide`].
    pub fn decide(&self, state: &mut State, rules: &Rules) -> Result<Answer> {
        self.write.decide(state, rules)
    }

    pub fn claimed_consumers(&self) -> Vec<&str> {
        self.write.claimed_consumers()
    }

    /// The command in its type; `None` for a command of a different type.
    pub fn get<C: Write>(&self) -> Option<&C> {
        let write: &dyn Any = &*self.write;
        write.downcast_ref()
    }
}

/// [`Write`] without the type of the answer.
trait AnyWrite: Any + Debug + Send + Sync {
    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>);
    fn decide(&self, state: &mut State, rules: &Rules) -> Result<Answer>;
    fn claimed_consumers(&self) -> Vec<&str>;
}

impl<C: Write> AnyWrite for C {
    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        Write::add_to(self, footprint);
    }

    fn decide(&self, state: &mut State, rules: &Rules) -> Result<Answer> {
        Write::decide(self, state, rules).map(Answer::new)
    }

    fn claimed_consumers(&self) -> Vec<&str> {
        Write::claimed_consumers(self)
    }
}

/// The answer of a command of any type, given after its commit.
#[derive(Debug, Clone)]
pub struct Answer(Arc<dyn AnyAnswer>);

pub trait AnyAnswer: Any + Debug + Send + Sync {}

impl<T: Any + Debug + Send + Sync> AnyAnswer for T {}

impl Answer {
    pub fn new(answer: impl AnyAnswer) -> Answer {
        Answer(Arc::new(answer))
    }

    /// # Errors
    /// [`Error::Internal`] if the answer belongs to a command of a different type.
    pub fn typed<T: AnyAnswer + Clone>(self) -> Result<T> {
        let answer: Arc<dyn Any + Send + Sync> = self.0;
        match answer.downcast() {
            Ok(answer) => Ok(Arc::unwrap_or_clone(answer)),
            Err(_) => Err(Error::Internal {
                detail: "another command was answered than was given".into(),
            }),
        }
    }

    /// The answer of this type; `None` for an answer of a different type.
    #[cfg(test)]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        let answer: &dyn Any = &*self.0;
        answer.downcast_ref()
    }
}

/// The answer of a `PUT` that creates a missing class or trait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ensured {
    pub created: bool,
    /// When the class or trait was created.
    pub since: crate::model::Moment,
}
