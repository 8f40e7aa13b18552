//! Numbers that are planned, and that wait for their turn where others are met.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use super::*;
use crate::db::followed::{Mark, Revisions};
use crate::db::rows::{InsertFromRows, Look, Value};
use crate::db::together::Part;

/// Numbers from here on may be planned. Each thousand of them is a place.
const PLANNED: i64 = 1000;
/// Where others are met.
const BUSY: [i64; 2] = [2, 3];
/// What some numbers of each place come to.
const REFUSED: i64 = 404;
const UNKNOWN: i64 = 405;
/// It is refused the first time that it is planned.
pub const SHY: i64 = 407;
/// It is written as another number each time that it is planned.
pub const FICKLE: i64 = 406;
const PANICS_IN_PLAN: i64 = 500;

const A_LITTLE: Duration = Duration::from_millis(5);
pub const A_MOMENT: Duration = Duration::from_millis(100);

const INSERT: InsertFromRows = InsertFromRows {
    table: "numbers",
    columns: &["n"],
};

/// What a batch was asked, as far as it matters how it was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Follow,
    TakeTurn,
    CatchUp,
    PlanFor(Vec<i64>),
    PlanBehind(Vec<i64>, Vec<i64>),
    Run { on_database: bool },
}
use Asked::*;

/// What a test has happen, and finds out afterwards.
#[derive(Default)]
pub struct Turns {
    /// What is begun and does not end as long as it is here.
    held: Mutex<Option<Asked>>,
    /// Plans take a moment each.
    pub is_slow: AtomicBool,
    fickle: AtomicI64,
    met: AtomicBool,
    /// How many more times a transaction is undone before a turn.
    pub undone: AtomicUsize,
    /// How many more times others turn out to be too far ahead, and a guard of a plan fails.
    behind: AtomicUsize,
    losing: AtomicUsize,
    /// How far everybody is expected to be, if nobody is to be followed. The writer's own commits are added.
    pub expected: Mutex<Option<Revisions>>,
    /// Where the last turn was to be taken.
    at: Mutex<BTreeSet<i64>>,
    asked: Mutex<Vec<Asked>>,
}

pub fn may_be_planned(number: i64) -> bool {
    number >= PLANNED
}

pub fn is_refused(number: i64) -> bool {
    is(number, REFUSED)
}

pub fn answer(number: i64) -> Result<i64> {
    match is_refused(number) {
        true => Err(Error::StaleProviderGeneration),
        false => Ok(number * 10),
    }
}

fn is(number: i64, kind: i64) -> bool {
    may_be_planned(number) && number % PLANNED == kind
}

fn place(number: i64) -> i64 {
    number / PLANNED
}

/// Whether something that is to happen some times happens now.
fn happens(times: &AtomicUsize) -> bool {
    let one_less = times.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
    one_less.is_ok()
}

impl Turns {
    pub fn note(&self, asked: Asked) {
        self.asked.lock().unwrap().push(asked.clone());
        while self.held.lock().unwrap().as_ref() == Some(&asked) {
            std::thread::sleep(A_LITTLE);
        }
    }

    pub fn plan(&self, commands: &[&i64]) -> Planned<Numbers> {
        let numbers: Vec<i64> = commands.iter().map(|number| **number).collect();
        self.note(PlanFor(numbers.clone()));
        if self.is_slow.load(Ordering::Acquire) {
            std::thread::sleep(A_MOMENT);
        }
        self.planned(numbers)
    }

    pub fn foresee(&self, change: &[i64], commands: &[&i64]) -> Option<Plan<Numbers>> {
        let numbers: Vec<i64> = commands.iter().map(|number| **number).collect();
        self.note(PlanBehind(change.to_vec(), numbers.clone()));
        match self.planned(numbers) {
            Planned::Plan(plan) => Some(plan),
            _ => None,
        }
    }

    fn planned(&self, numbers: Vec<i64>) -> Planned<Numbers> {
        let any = |kind| numbers.iter().any(|number| is(*number, kind));
        assert!(!any(PANICS_IN_PLAN), "a defect");
        if any(REFUSED) || any(SHY) && !self.met.swap(true, Ordering::AcqRel) {
            return Planned::Refused;
        }
        if any(UNKNOWN) {
            return Planned::Unknown;
        }
        let written = |number: i64| match is(number, FICKLE) {
            true => self.fickle.fetch_add(-1, Ordering::AcqRel) - PLANNED,
            false => number,
        };
        let rows = numbers
            .iter()
            .map(|number| vec![Value::Int(written(*number))])
            .collect();
        let mut parts = vec![Part::Insert(INSERT, rows)];
        if happens(&self.losing) {
            parts.push(Part::There(Look("numbers WHERE 1 = 0".to_owned()), Vec::new()));
        }
        Planned::Plan(Plan {
            answers: numbers.iter().map(|number| number * 10).collect(),
            change: numbers,
            parts,
            now: dialect::now(),
        })
    }

    pub fn expected(&self) -> Option<Revisions> {
        self.expected.lock().unwrap().clone()
    }

    pub fn committed(&self, commit: &Commit) {
        if let Some(expected) = self.expected.lock().unwrap().as_mut() {
            let Commit {
                writer,
                revision,
                token,
            } = commit.clone();
            expected.writers.insert(writer, Mark { revision, token });
        }
    }

    pub fn is_needed(&self, commands: &[&i64], lost: bool) -> bool {
        let places = commands.iter().map(|number| place(**number));
        let mut at = self.at.lock().unwrap();
        *at = places.filter(|place| lost || BUSY.contains(place)).collect();
        !at.is_empty()
    }

    /// A guard of so many plans fails from now on.
    pub fn lose(&self, times: usize) {
        self.losing.store(times, Ordering::Release);
    }

    /// False where the transaction is to be undone, as Galera does it where another node was faster.
    pub fn take(&self) -> bool {
        self.note(TakeTurn);
        !happens(&self.undone)
    }

    pub fn is_for(&self, number: i64) -> bool {
        let at = self.at.lock().unwrap();
        may_be_planned(number) && (at.contains(&place(number)) || !BUSY.contains(&place(number)))
    }

    pub fn catch_up(&self) -> bool {
        self.note(CatchUp);
        !happens(&self.behind)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// Submits the first number, and the others when the writer is at `step` with it, which lasts for `meanwhile`.
pub async fn during(step: Asked, bench: &Bench, first: i64, others: &[i64], meanwhile: Duration) -> Vec<Result<i64>> {
    let turns = &bench.turns;
    *turns.held.lock().unwrap() = Some(step.clone());
    let mut tasks = vec![bench.submit(first)];
    let began = Instant::now();
    while turns.asked().last() != Some(&step) {
        assert!(began.elapsed() < LONG, "it never is: {:?}", turns.asked());
        actix_web::rt::time::sleep(A_LITTLE).await;
    }
    tasks.extend(others.iter().map(|number| bench.submit(*number)));
    actix_web::rt::time::sleep(meanwhile).await;
    *turns.held.lock().unwrap() = None;
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

/// The others come while the first one is planned, before its turn.
pub async fn beforehand(bench: &Bench, first: i64, others: &[i64], meanwhile: Duration) -> Vec<Result<i64>> {
    during(PlanFor(vec![first]), bench, first, others, meanwhile).await
}

pub fn granted(numbers: &[i64]) -> Vec<Result<i64>> {
    numbers.iter().map(|number| Ok(number * 10)).collect()
}

#[actix_web::test]
async fn no_more_share_a_turn_than_a_transaction_may_have() {
    let bench = bench(1000, LONG);
    let others: Vec<i64> = (2002..2302).collect();
    let answers = beforehand(&bench, 2001, &others, A_MOMENT).await;
    assert_eq!(answers, granted(&(2001..2302).collect::<Vec<i64>>()));
    let batches = bench.seen.lock().unwrap().clone();
    let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [256, 45]);
}

#[actix_web::test]
async fn who_waited_too_long_does_not_share_a_turn() {
    let mut bench = bench(100, SHORT);
    let answers = beforehand(&bench, 2001, &[2002, 2003], 2 * SHORT).await;
    assert_eq!(answers[0], Ok(20010), "it has had its turn");
    for answer in &answers[1..] {
        assert!(matches!(answer, Err(Error::Busy { .. })), "{answer:?}");
    }
    assert_eq!(bench.count(), 1);
}

#[actix_web::test]
async fn who_finds_others_too_far_ahead_in_a_turn_follows_and_takes_another() {
    let mut bench = bench(100, LONG);
    bench.turns.behind.store(1, Ordering::Release);
    assert_eq!(bench.writer.submit(2001).await, Ok(20010));
    let planned = PlanFor(vec![2001]);
    let turn = [planned.clone(), TakeTurn, CatchUp];
    assert_eq!(bench.turns.asked(), [&turn[..], &[Follow], &turn, &[planned]].concat());
    // What was followed once is not followed before the next turn.
    assert_eq!(bench.writer.submit(2002).await, Ok(20020));
    let planned = PlanFor(vec![2002]);
    assert_eq!(bench.turns.asked()[8..], [planned.clone(), TakeTurn, CatchUp, planned]);
    assert_eq!(bench.count(), 2);
}

#[actix_web::test]
async fn who_finds_others_too_far_ahead_twice_decides_on_the_database() {
    let mut bench = bench(100, LONG);
    bench.turns.behind.store(2, Ordering::Release);
    assert_eq!(bench.writer.submit(2001).await, Ok(20010));
    let turn = [PlanFor(vec![2001]), TakeTurn, CatchUp, Follow];
    let run = [Run { on_database: true }];
    assert_eq!(bench.turns.asked(), [&turn[..], &turn, &run].concat());
    assert_eq!(bench.count(), 1);
}

#[actix_web::test]
async fn nothing_is_refused_in_a_turn() {
    for (other, is_granted) in [(2000 + REFUSED, false), (2000 + UNKNOWN, true)] {
        let bench = bench(100, LONG);
        let answers = beforehand(&bench, 2001, &[other], A_MOMENT).await;
        assert_eq!(answers, [Ok(20010), answer(other)]);
        let asked = [
            PlanFor(vec![2001]),
            PlanFor(vec![other]),
            TakeTurn,
            CatchUp,
            PlanFor(vec![2001, other]),
            Follow,
            Run { on_database: true },
        ];
        assert_eq!(bench.turns.asked(), asked);
        let batches = bench.seen.lock().unwrap().clone();
        let together = if is_granted { vec![2001, other] } else { vec![2001] };
        assert_eq!(batches, [together]);
    }
}

#[actix_web::test]
async fn what_a_plan_refuses_is_decided_on_the_database_and_what_it_does_not_know_need_not_be() {
    for (number, on_database) in [(1000 + REFUSED, true), (1000 + UNKNOWN, false)] {
        let bench = bench(100, LONG);
        assert_eq!(bench.writer.submit(number).await, answer(number));
        assert_eq!(
            bench.turns.asked(),
            [Follow, PlanFor(vec![number]), Run { on_database }]
        );
    }
}

#[actix_web::test]
async fn a_plan_that_loses_a_guard_waits_for_its_turn_and_one_that_loses_there_is_decided_on_the_database() {
    let planned = PlanFor(vec![1001]);
    let turn = [Follow, planned.clone(), planned.clone(), TakeTurn, CatchUp, planned];
    // What is written before a turn has no guard to lose.
    for (times, then) in [(1, vec![]), (3, vec![Follow, Run { on_database: true }])] {
        let mut bench = bench(100, LONG);
        bench.turns.lose(times);
        assert_eq!(bench.writer.submit(1001).await, Ok(10010));
        assert_eq!(bench.turns.asked(), [&turn[..], &then].concat());
        assert_eq!(bench.count(), 1, "what lost left nothing");
    }
}

#[actix_web::test]
async fn a_plan_that_finds_others_ahead_follows_and_is_made_again() {
    let mut bench = bench(100, LONG);
    // Which is not so.
    *bench.turns.expected.lock().unwrap() = Some(Revisions::default());
    assert_eq!(bench.writer.submit(1001).await, Ok(10010));
    let planned = PlanFor(vec![1001]);
    assert_eq!(bench.turns.asked(), [planned.clone(), Follow, planned]);
    assert_eq!(bench.count(), 1);
}

#[actix_web::test]
async fn a_guilty_command_is_found_among_those_that_share_a_turn() {
    let mut bench = bench(100, LONG);
    let answers = beforehand(&bench, 2001, &[2002, 2000 + PANICS_IN_PLAN, 2003], A_MOMENT).await;
    assert!(matches!(answers[2], Err(Error::Internal { .. })), "{:?}", answers[2]);
    assert_eq!([&answers[..2], &answers[3..]].concat(), granted(&[2001, 2002, 2003]));
    assert_eq!(bench.count(), 3);
    assert_eq!(bench.writer.submit(2004).await, Ok(20040), "the writer goes on");
}
