//! Numbers that are planned behind a commit that is under way, where the database is a way off.

use std::collections::BTreeMap;

use super::turns::Asked;
use super::*;
use crate::db::followed;

const CLIENTS: i64 = 16;
const EACH: i64 = 10;
const ALL: i64 = CLIENTS * EACH;
/// So many crowds come at most until what a test is about has happened: who meets whom is chance.
const CROWDS: i64 = 20;
/// Where the numbers of a crowd begin: below those of each thousand that mean something.
fn first_of(crowd: i64) -> i64 {
    (10 + crowd) * 1000
}

/// Where the writer has nobody to hand a plan to nothing of this happens.
fn is_a_way_off(bench: &mut Bench) -> bool {
    dialect::at_once(&mut bench.conn).unwrap().writes
}

/// The writer knows how far everybody is.
fn know_everybody(bench: &mut Bench) {
    let news = followed::news(&mut bench.conn, &Default::default()).unwrap();
    *bench.turns.expected.lock().unwrap() = Some(news.now);
}

/// Several clients, each of which submits one number after the other that may be planned, no two of which are the same.
async fn crowd(bench: &Bench, first: i64) -> Vec<Result<i64>> {
    let client = |client: i64| {
        let writer = bench.writer.clone();
        actix_web::rt::spawn(async move {
            let mut answers = Vec::new();
            for turn in 0..EACH {
                answers.push(writer.submit(first + client * EACH + turn).await);
                // Or all of them come together ever after.
                actix_web::rt::time::sleep(Duration::from_millis((client as u64 + turn as u64) % 4)).await;
            }
            answers
        })
    };
    let clients: Vec<_> = (0..CLIENTS).map(client).collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.extend(client.await.unwrap());
    }
    answers
}

/// What was planned behind what.
fn behind(bench: &Bench) -> Vec<(Vec<i64>, Vec<i64>)> {
    let asked = bench.turns.asked().into_iter();
    let behind = asked.filter_map(|asked| match asked {
        Asked::PlanBehind(change, numbers) => Some((change, numbers)),
        _ => None,
    });
    behind.collect()
}

/// How often each number was planned.
fn times_planned(bench: &Bench) -> BTreeMap<i64, usize> {
    let mut times = BTreeMap::new();
    for asked in bench.turns.asked() {
        if let Asked::PlanFor(numbers) | Asked::PlanBehind(_, numbers) = asked {
            numbers
                .into_iter()
                .for_each(|number| *times.entry(number).or_default() += 1);
        }
    }
    times
}

/// Has crowds come until it happened: what is granted is there once, and published once.
async fn crowds_until(bench: &mut Bench, has_happened: impl Fn(&Bench) -> bool) {
    know_everybody(bench);
    let mut came = Vec::new();
    for first in (0..CROWDS).map(first_of) {
        let answers = crowd(bench, first).await;
        assert!(
            answers
                .into_iter()
                .eq((first..first + ALL).map(|number| Ok(number * 10)))
        );
        came.extend(first..first + ALL);
        let mut seen: Vec<i64> = bench.seen.lock().unwrap().concat();
        seen.sort_unstable();
        assert_eq!(seen, came, "each is published once");
        assert_eq!(bench.count(), came.len() as i64);
        if has_happened(bench) {
            return;
        }
    }
    panic!("it never happened: {:?}", behind(bench));
}

#[actix_web::test]
async fn who_comes_while_a_batch_is_committed_is_decided_behind_it() {
    let mut bench = bench(100, LONG);
    if !is_a_way_off(&mut bench) {
        return;
    }
    crowds_until(&mut bench, |bench| !behind(bench).is_empty()).await;
    let (batches, behind) = (bench.seen.lock().unwrap().clone(), behind(&bench));
    let follows = |(change, numbers): &(Vec<i64>, Vec<i64>)| {
        batches.windows(2).any(|two| two[0] == *change && two[1] == *numbers)
    };
    assert!(behind.iter().all(follows), "{behind:?} in {batches:?}");
    assert!(times_planned(&bench).into_values().all(|times| times == 1));
}

#[actix_web::test]
async fn what_was_decided_behind_a_commit_that_fails_is_decided_anew() {
    let mut bench = bench(100, LONG);
    if Kind::of(&bench.conn) != Kind::Postgresql {
        return; // only there does a check that waits for COMMIT fail it
    }
    bench
        .conn
        .batch_execute(
            "CREATE SEQUENCE rows_that_came;
             CREATE FUNCTION fail_some() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF nextval('rows_that_came') % 23 = 0 THEN
                     RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure';
                 END IF;
                 RETURN NULL;
             END $$;
             CREATE CONSTRAINT TRIGGER fails_some AFTER INSERT ON numbers
                 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_some()",
        )
        .unwrap();
    let is_forgotten = |bench: &Bench| {
        let batches = bench.seen.lock().unwrap().clone();
        behind(bench).iter().any(|(_, numbers)| !batches.contains(numbers))
    };
    crowds_until(&mut bench, is_forgotten).await;
    assert!(times_planned(&bench).into_values().any(|times| times > 1));
}

#[actix_web::test]
async fn a_plan_that_loses_a_guard_behind_a_commit_is_tried_again_and_the_one_before_it_holds() {
    let mut bench = bench(100, LONG);
    if !is_a_way_off(&mut bench) {
        return;
    }
    bench.turns.lose(20);
    crowds_until(&mut bench, |bench| {
        !behind(bench).is_empty() && bench.turns.has_lost_all()
    })
    .await;
}
