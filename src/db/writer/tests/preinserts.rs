//! Tests of pre-inserts: rows inserted before the lock set is locked, and commands that join the batch in between.

use super::script::Call::*;
use super::script::{HOLD_TIME, REFUSED_ONCE, UNSTABLE, granted, submit_before_locks, submit_during};
use super::*;

#[actix_web::test]
async fn plannable_commands_that_arrive_before_the_locks_join_the_batch_and_its_lock_set() {
    let mut writer = number_writer(100, Duration::from_secs(2));
    let others = [3001, 2002, 5, 1001, 2003, 3002];
    let answers = submit_before_locks(&writer, 2001, &others, HOLD_TIME).await;
    assert_eq!(answers, granted(&[2001, 3001, 2002, 5, 1001, 2003, 3002]));
    let batches = writer.published.lock().unwrap().clone();
    assert_eq!(batches, [vec![2001, 3001, 2002, 1001, 2003, 3002], vec![5]]);
    let joined = Plan(vec![3001, 2002, 1001, 2003, 3002]);
    let locked = [Lock(vec![2, 3]), CatchUp, Plan(batches[0].clone())];
    let calls = [&[Follow, Plan(vec![2001]), joined][..], &locked].concat();
    assert_eq!(writer.script.calls()[..6], calls);
    assert_eq!(writer.count(), 7, "each is written once");
}

#[actix_web::test]
async fn commands_that_arrive_while_locks_are_taken_are_the_next_batch() {
    let writer = number_writer(100, LONG_TIMEOUT);
    let answers = submit_during(Lock(vec![2]), &writer, 2001, &[2002, 2003], HOLD_TIME).await;
    assert_eq!(answers, granted(&[2001, 2002, 2003]));
    let batches = writer.published.lock().unwrap().clone();
    assert_eq!(batches, [vec![2001], vec![2002, 2003]]);
}

#[actix_web::test]
async fn locks_are_taken_although_commands_keep_arriving() {
    let writer = number_writer(100, LONG_TIMEOUT);
    writer.script.slow_down();
    let mut tasks = Vec::new();
    for number in 2001..2041 {
        tasks.push(writer.submit(number));
        actix_web::rt::time::sleep(HOLD_TIME / 5).await;
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let calls = writer.script.calls();
    let plans = calls[1..].iter().take_while(|call| matches!(call, Plan(_))).count();
    assert!((2..=3).contains(&plans), "{calls:?}");
    assert_eq!(calls[plans + 1..plans + 3], [Lock(vec![2]), CatchUp]);
}

#[actix_web::test]
async fn a_command_that_could_not_be_preinserted_is_written_under_the_locks() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    let numbers = [2001, 2000 + REFUSED_ONCE];
    let answers = submit_before_locks(&writer, numbers[0], &numbers[1..], HOLD_TIME).await;
    assert_eq!(answers, granted(&numbers));
    assert_eq!(*writer.published.lock().unwrap(), [numbers]);
    let rounds = [Follow, Plan(vec![numbers[0]]), Plan(vec![numbers[1]])];
    let locked = [Lock(vec![2]), CatchUp, Plan(numbers.to_vec())];
    assert_eq!(writer.script.calls(), [&rounds[..], &locked].concat());
    assert_eq!(writer.count(), 2);
}

/// The rollback removes the pre-inserted rows, so the rest must not be committed alone.
#[actix_web::test]
async fn a_batch_that_the_server_rolled_back_after_its_preinserts_is_tried_again() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    if Kind::of(&writer.conn) != Kind::Mariadb {
        return;
    }
    writer.script.roll_back_locks(1);
    // The second number is written under the locks, after the first was rolled back.
    let numbers = [2001, 2000 + REFUSED_ONCE];
    let answers = submit_before_locks(&writer, numbers[0], &numbers[1..], HOLD_TIME).await;
    assert_eq!(answers, granted(&numbers));
    assert_eq!(writer.count(), 2);
    assert!(!writer.is_invalid.load(Ordering::Acquire), "no fence is needed");
}

/// The plan under the locks may differ, as if a class was deleted since and created again with a new id.
#[actix_web::test]
async fn preinserted_rows_that_the_plan_no_longer_has_are_rolled_back() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    let number = 2000 + UNSTABLE;
    assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
    let planned = Plan(vec![number]);
    let locked = [Follow, planned.clone(), Lock(vec![2]), CatchUp, planned];
    let run = [Follow, Run { from_database: true }];
    assert_eq!(writer.script.calls(), [&locked[..], &locked, &run].concat());
    assert_eq!(writer.count(), 1);
}
