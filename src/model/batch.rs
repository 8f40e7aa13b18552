//! What the writer carries out: the commands of a batch decided in order, then their net effect written.
//!
//! Claims, and inventories of classes that a provider has, are decided on the snapshot first, and the guards of their rows
//! say whether it was the newest. Whatever no guard can vouch for is decided on rows read in the batch's own transaction:
//! everything else, a batch that lost a guard, and every refusal, for none may rest on a snapshot that somebody else has
//! outrun. So is everything while the snapshot is in doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::base::Base;
use super::command::{Answer, Command};
use super::decide::{Rules, decide};
use super::follower::Follower;
use super::gather;
use super::live::{Live, QUIET};
use super::named::Named;
use super::plannable;
use super::save::{self, Committed, Owners, Saved, save};
use super::spelled::Spelled;
use super::state::{ConsumerRow, State};
use super::turn::Turn;
use crate::db::dialect::{self, Precision};
use crate::db::followed::Revisions;
use crate::db::writer::{Batch, Plan, Planned, Ran};
use crate::db::{Commit, DbConnection, DbResult, fault};
use crate::error::{Error, Result};
use crate::mutants::{self, Mutant};
use crate::search::{Catalog, Snapshot};

/// See the module.
pub struct Decider {
    live: Arc<Live>,
    /// Who mends the snapshot where it is in doubt.
    follower: Follower,
    /// Whether nobody else writes changes that would have to be followed.
    alone: bool,
    /// How often in a row nothing was new when others were followed.
    heard_nothing: u32,
    /// Whose consumers were met by plans before, and how often everything had been read by then: in another database than
    /// that they have other ids.
    owners: Owners,
    owners_since: u64,
    turn: Turn,
    rules: Rules,
    precision: Precision,
    #[cfg(feature = "mutants")]
    earlier: super::mutant::Earlier,
}

/// What a batch's state rests on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basis {
    Snapshot,
    Database,
}

impl Decider {
    pub fn new(live: Arc<Live>, follower: Follower, alone: bool, rules: Rules, precision: Precision) -> Decider {
        Decider {
            live,
            follower,
            alone,
            heard_nothing: 0,
            owners: Owners::default(),
            owners_since: 0,
            turn: Turn::default(),
            rules,
            precision,
            #[cfg(feature = "mutants")]
            earlier: Default::default(),
        }
    }

    /// Whether a mutant is at work that spoils what `follow` and `run` read.
    fn is_spoiled(&self) -> bool {
        mutants::is(Mutant::UsageFirst) || mutants::is(Mutant::SubtractUnremoved)
    }

    /// What others committed is learned by `follow`, and whether there was anything is remembered.
    fn listen<T>(&mut self, follow: impl FnOnce(&Live) -> DbResult<T>) -> DbResult<T> {
        let before = self.live.known();
        let followed = follow(&self.live)?;
        self.heard_nothing = match self.live.known() == before {
            true => self.heard_nothing.saturating_add(1),
            false => 0,
        };
        Ok(followed)
    }

    /// The state to decide on, and the rows it was made of where those came from the database.
    fn state(&self, conn: &mut DbConnection, named: &Named<'_>, basis: Basis) -> DbResult<State> {
        if !named.going_classes.is_empty() {
            // Nothing in the tables ties an inventory to its class: nobody may give a provider one while the class goes.
            dialect::hold_writers(conn)?;
        }
        let newest = self.live.newest();
        let now = dialect::row_time(conn);
        let consumers = gather::consumers(conn, named, now)?;
        #[cfg(feature = "mutants")]
        let consumers = self.earlier.spoil_consumers(consumers);
        let base = match basis {
            Basis::Snapshot => Base::Snapshot(newest),
            Basis::Database if self.live.is_doubtful() => {
                // Not even the ids of classes can be trusted.
                Base::Rows(gather::rows(conn, named, &consumers, &Catalog::default())?)
            }
            Basis::Database => Base::Rows(gather::rows(conn, named, &consumers, newest.catalog())?),
        };
        #[cfg(feature = "mutants")]
        let base = self.earlier.spoil(base);
        let touched = base.count();
        let mut state = State::new(base, consumers, now.and_utc());
        state.names_first = dialect::checks_names_first(conn);
        state.class_users = gather::class_users(conn, named, touched)?;
        state.trait_users = gather::trait_users(conn, named, touched)?;
        state.trait_times = gather::trait_times(conn, named)?;
        Ok(state)
    }

    /// On the snapshot where that may do, and on the database where it does not.
    fn attempts(
        &self,
        conn: &mut DbConnection,
        commands: &[&Command],
        named: &Named<'_>,
        on_database: bool,
    ) -> DbResult<Attempt> {
        if !named.beyond_claims && !on_database && !self.live.is_doubtful() {
            let attempt = self.attempt(conn, commands, named, Basis::Snapshot)?;
            if !matches!(attempt, Attempt::Doubted) {
                return Ok(attempt);
            }
        }
        self.attempt(conn, commands, named, Basis::Database)
    }

    fn attempt(
        &self,
        conn: &mut DbConnection,
        commands: &[&Command],
        named: &Named<'_>,
        basis: Basis,
    ) -> DbResult<Attempt> {
        let mut state = self.state(conn, named, basis)?;
        let answers: Vec<Result<Answer>> = commands
            .iter()
            .map(|command| decide(&mut state, &self.rules, command))
            .collect();
        if basis == Basis::Snapshot && answers.iter().any(|answer| answer.is_err()) {
            return Ok(Attempt::Doubted);
        }
        match save(conn, &state)? {
            Saved::Lost => Ok(Attempt::Lost),
            Saved::Written { wrote: false, .. } => Ok(Attempt::Settled {
                answers,
                committed: None,
            }),
            Saved::Written { mut committed, .. } => {
                if basis == Basis::Database {
                    mark_what_others_changed(&self.live.newest(), &state, &mut committed);
                }
                Ok(Attempt::Settled {
                    answers,
                    committed: Some(committed),
                })
            }
        }
    }

    /// A plan on what `base` shows. `knows`: whether the ids of what consumers belong to are known, or can be.
    fn plan_on(
        &mut self,
        base: Arc<Snapshot>,
        commands: &[&Command],
        knows: impl FnOnce(&mut Owners, &[&ConsumerRow]) -> DbResult<bool>,
    ) -> DbResult<Planned<Self>> {
        let now = self.precision.row_time();
        let mut state = State::new(Base::Snapshot(base), BTreeMap::new(), now.and_utc());
        let answers = commands.iter().map(|command| decide(&mut state, &self.rules, command));
        let Ok(answers) = answers.collect::<Result<Vec<Answer>>>() else {
            return Ok(Planned::Refused);
        };
        // A warning rests on usage, of which the snapshot may show too much.
        if !plannable::keeps_classes(&state) || !state.warnings.is_empty() {
            return Ok(Planned::Unknown);
        }
        let consumers = state.consumers.values();
        let rows: Vec<&ConsumerRow> = consumers.filter_map(|entry| entry.now.as_ref()).collect();
        if std::mem::replace(&mut self.owners_since, self.live.times_read()) != self.owners_since {
            self.owners = Owners::default();
        }
        if !knows(&mut self.owners, &rows)? {
            return Ok(Planned::Unknown);
        }
        let (parts, change) = save::plan(self.precision, &state, &self.owners);
        Ok(Planned::Plan(Plan {
            answers,
            change,
            parts,
            now,
        }))
    }
}

/// Whether a command means one consumer by two spellings, which MariaDB takes for the same. To whom they come one after
/// the other the second is stale.
fn names_one_consumer_twice(conn: &DbConnection, named: &Named<'_>) -> bool {
    if named.consumers.len() < 2 || dialect::compares_exactly(conn) {
        return false;
    }
    let consumers: Vec<&str> = named.consumers.iter().copied().collect();
    Spelled::apart(conn, &consumers).is_err()
}

enum Attempt {
    Settled {
        answers: Vec<Result<Answer>>,
        committed: Option<Committed>,
    },
    /// Something was refused on the snapshot's word; nothing is written yet.
    Doubted,
    /// A guard found another state. What was written so far must be rolled back.
    Lost,
}

impl Batch for Decider {
    type Command = Command;
    type Answer = Answer;
    type Change = Committed;

    fn may_be_planned(command: &Command) -> bool {
        plannable::may_be_planned(command)
    }

    fn plan(&mut self, conn: &mut DbConnection, commands: &[&Command]) -> DbResult<Planned<Self>> {
        if self.live.is_doubtful() || self.is_spoiled() || !plannable::may_share_a_plan(commands) {
            return Ok(Planned::Unknown);
        }
        self.plan_on(self.live.newest(), commands, |owners, rows| owners.learn(conn, rows))
    }

    fn foresee(&mut self, change: &Committed, commit: &Commit, commands: &[&Command]) -> Option<Plan<Self>> {
        if self.is_spoiled() || !plannable::may_share_a_plan(commands) {
            return None;
        }
        let base = self.live.foresee(change, commit)?;
        match self.plan_on(base, commands, |owners, rows| Ok(owners.know(rows))) {
            Ok(Planned::Plan(plan)) => Some(plan),
            _ => None,
        }
    }

    fn run(&mut self, conn: &mut DbConnection, commands: &[&Command], on_database: bool) -> DbResult<Ran<Self>> {
        let named = Named::of(commands);
        if commands.len() == 1 && names_one_consumer_twice(conn, &named) {
            return Ok(Ran::Decided {
                answers: vec![Err(Error::StaleConsumerGeneration {
                    expected: "0".to_owned(),
                    got: "None".to_owned(),
                })],
                change: None,
            });
        }
        let attempt = match self.attempts(conn, commands, &named, on_database) {
            // What one command writes stands in nobody's way but another process's, which wrote it meanwhile.
            Err(error) if commands.len() == 1 && dialect::has_other_writers(conn) && fault::is_constraint(&error) => {
                Attempt::Lost
            }
            other => other?,
        };
        Ok(match attempt {
            Attempt::Settled { answers, committed } => Ran::Decided {
                answers,
                change: committed,
            },
            Attempt::Doubted | Attempt::Lost => Ran::Lost,
        })
    }

    fn describe(&self, change: &Committed) -> String {
        super::change::body(change)
    }

    fn publish(&mut self, change: Committed, commit: &Commit) -> bool {
        change.warnings.iter().for_each(|warning| log::warn!("{warning}"));
        self.live.publish(change, commit)
    }

    fn read_back(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        self.live.read_back(conn)
    }

    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        #[cfg(feature = "mutants")]
        self.earlier.read(conn)?;
        if self.live.is_doubtful() {
            // The batch does not wait for all to be read: until then it decides on rows that it reads itself.
            self.follower.wake();
        } else if !self.alone {
            self.listen(|live| live.follow(conn))?;
        }
        Ok(())
    }

    fn quiet(&self) -> Option<Revisions> {
        let trusts = self.heard_nothing >= QUIET && !self.live.is_doubtful() && !self.is_spoiled();
        trusts.then(|| self.live.known())
    }

    fn needs_turn(&mut self, commands: &[&Command], lost: bool) -> bool {
        let may_count = !self.alone && !self.live.is_doubtful() && !self.is_spoiled();
        may_count && self.turn.is_needed(&self.live, commands, lost)
    }

    fn take_turn(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        self.turn.take(conn)
    }

    fn may_join(&self, command: &Command) -> bool {
        Self::may_be_planned(command) && self.turn.is_for(&self.live, command)
    }

    fn catch_up(&mut self, conn: &mut DbConnection) -> DbResult<bool> {
        self.listen(|live| live.catch_up(conn))
    }

    fn doubt(&mut self) {
        self.live.doubt();
        self.follower.wake();
    }
}

/// Providers whose rows are not what the snapshot shows were changed by somebody who leaves no deltas: they are read
/// again, and no delta of this batch is added to what is out of date.
fn mark_what_others_changed(snapshot: &Snapshot, state: &State, committed: &mut Committed) {
    let mut changed = BTreeSet::new();
    for (id, entry) in &state.providers {
        let Some(base) = &entry.base else { continue };
        let shown = snapshot.by_id(*id).map(|slot| snapshot.row(slot));
        if shown.as_ref() != Some(base) && entry.now.is_some() {
            changed.insert(*id);
        }
    }
    committed.rewritten.retain(|it| !changed.contains(&it.delta.provider));
    committed.reload.extend(changed);
    committed
        .deltas
        .retain(|delta| !committed.reload.contains(&delta.provider));
}
