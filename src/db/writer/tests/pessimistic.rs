//! Tests of planned batches: optimistic batches and locked batches.

use super::script::Call::*;
use super::script::*;
use super::*;
use crate::db::change_feed::Revisions;

#[actix_web::test]
async fn a_locked_batch_has_no_more_commands_than_any_other() {
    let writer = number_writer(1000, LONG_TIMEOUT);
    let others: Vec<i64> = (2002..2302).collect();
    let answers = submit_before_locks(&writer, 2001, &others, HOLD_TIME).await;
    assert_eq!(answers, granted(&(2001..2302).collect::<Vec<i64>>()));
    let batches = writer.published.lock().unwrap().clone();
    let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [256, 45]);
}

#[actix_web::test]
async fn an_expired_command_does_not_join_a_locked_batch() {
    let mut writer = number_writer(100, SHORT_TIMEOUT);
    let answers = submit_before_locks(&writer, 2001, &[2002, 2003], 2 * SHORT_TIMEOUT).await;
    assert_eq!(answers[0], Ok(20010), "its attempt began in time");
    for answer in &answers[1..] {
        assert!(matches!(answer, Err(Error::Busy { .. })), "{answer:?}");
    }
    assert_eq!(writer.count(), 1);
}

#[actix_web::test]
async fn a_locked_batch_that_cannot_catch_up_reads_the_feed_and_locks_again() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    writer.script.fail_to_catch_up(1);
    assert_eq!(submit(&writer.handle, 2001).await, Ok(20010));
    let planned = Plan(vec![2001]);
    let attempt = [Follow, planned.clone(), Lock(vec![2]), CatchUp];
    assert_eq!(writer.script.calls(), [&attempt[..], &attempt, &[planned]].concat());
    assert_eq!(submit(&writer.handle, 2002).await, Ok(20020));
    let planned = Plan(vec![2002]);
    let locked = [Follow, planned.clone(), Lock(vec![2]), CatchUp, planned];
    assert_eq!(writer.script.calls()[9..], locked);
    assert_eq!(writer.count(), 2);
}

#[actix_web::test]
async fn a_locked_batch_that_cannot_catch_up_twice_is_decided_from_the_database() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    writer.script.fail_to_catch_up(2);
    assert_eq!(submit(&writer.handle, 2001).await, Ok(20010));
    let attempt = [Follow, Plan(vec![2001]), Lock(vec![2]), CatchUp];
    let run = [Follow, Run { from_database: true }];
    assert_eq!(writer.script.calls(), [&attempt[..], &attempt, &run].concat());
    assert_eq!(writer.count(), 1);
}

#[actix_web::test]
async fn a_command_that_is_refused_or_lacks_data_under_locks_is_decided_from_the_database() {
    for (other, is_granted) in [(2000 + REFUSED, false), (2000 + MISSING_DATA, true)] {
        let writer = number_writer(100, LONG_TIMEOUT);
        let answers = submit_before_locks(&writer, 2001, &[other], HOLD_TIME).await;
        assert_eq!(answers, [Ok(20010), answer(other)]);
        let calls = [
            Follow,
            Plan(vec![2001]),
            Plan(vec![other]),
            Lock(vec![2]),
            CatchUp,
            Plan(vec![2001, other]),
            Follow,
            Run { from_database: true },
        ];
        // After a refusal on rows the snapshot shows these rows.
        let after_refusal: &[_] = if is_granted { &[] } else { &[Follow] };
        assert_eq!(writer.script.calls(), [&calls, after_refusal].concat());
        let batches = writer.published.lock().unwrap().clone();
        let committed = if is_granted { vec![2001, other] } else { vec![2001] };
        assert_eq!(batches, [committed]);
    }
}

#[actix_web::test]
async fn a_refused_plan_is_decided_from_the_database_and_one_that_lacks_data_may_use_the_snapshot() {
    let refused = vec![Follow, Run { from_database: true }, Follow];
    let lacks_data = vec![Run { from_database: false }];
    for (number, then) in [(1000 + REFUSED, refused), (1000 + MISSING_DATA, lacks_data)] {
        let writer = number_writer(100, LONG_TIMEOUT);
        assert_eq!(submit(&writer.handle, number).await, answer(number));
        let planned = [Follow, Plan(vec![number])];
        assert_eq!(writer.script.calls(), [&planned[..], &then].concat());
    }
}

#[actix_web::test]
async fn a_conflict_leads_to_locks_and_a_conflict_under_locks_to_the_database() {
    let planned = Plan(vec![1001]);
    let optimistic = [Follow, planned.clone()];
    let locked = [&optimistic[..], &optimistic, &[Lock(vec![1]), CatchUp, planned]].concat();
    // The second plan is for the pre-inserts, which have no guard.
    for (conflicts, then) in [(1, vec![]), (3, vec![Follow, Run { from_database: true }])] {
        let mut writer = number_writer(100, LONG_TIMEOUT);
        writer.script.fail_guards(conflicts);
        assert_eq!(submit(&writer.handle, 1001).await, Ok(10010));
        assert_eq!(writer.script.calls(), [&locked[..], &then].concat());
        assert_eq!(writer.count(), 1, "a failed attempt leaves no row");
    }
}

#[actix_web::test]
async fn a_plan_on_a_stale_snapshot_is_made_again_after_reading_the_feed() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    // The plan expects no writer, but a writer exists.
    writer.script.expect_peers(Revisions::default());
    assert_eq!(submit(&writer.handle, 1001).await, Ok(10010));
    let planned = Plan(vec![1001]);
    assert_eq!(writer.script.calls(), [planned.clone(), Follow, planned]);
    assert_eq!(writer.count(), 1);
}

#[actix_web::test]
async fn only_the_command_at_fault_of_a_locked_batch_is_refused() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    let answers = submit_before_locks(&writer, 2001, &[2002, 2000 + PANICS_IN_PLAN, 2003], HOLD_TIME).await;
    assert!(matches!(answers[2], Err(Error::Internal { .. })), "{:?}", answers[2]);
    assert_eq!([&answers[..2], &answers[3..]].concat(), granted(&[2001, 2002, 2003]));
    assert_eq!(writer.count(), 3);
    assert_eq!(submit(&writer.handle, 2004).await, Ok(20040), "the writer continues");
}
