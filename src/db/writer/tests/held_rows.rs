//! Tests of held rows: a foreign transaction has locked a provider, and only commands on the provider wait.

use super::script::Call::{Plan, Run};
use super::script::{HOLD_TIME, granted, submit_during};
use super::*;
use crate::db::writer::held_rows::Parked;
use crate::db::writer::job::{Submitted, WhenHeld};
#[cfg(feature = "postgresql")]
use crate::db::writer::{committer::FAILED_BATCHES_MAX, waiting::MAX_BATCH};

/// Makes each plan for these providers time out at a lock, as if a foreign transaction had locked the providers.
fn hold(writer: &NumberWriter, providers: &[i32]) {
    *writer.script.held.lock().unwrap() = providers.iter().copied().collect();
}

#[actix_web::test]
async fn commands_that_need_a_held_row_wait_and_the_others_of_their_batch_do_not() {
    let writer = number_writer(100, LONG_TIMEOUT);
    hold(&writer, &[7]);
    let script = writer.script.clone();
    actix_web::rt::spawn(async move {
        actix_web::rt::time::sleep(5 * HOLD_TIME).await;
        script.held.lock().unwrap().clear();
    });
    let others = [7001, 5001, 7002];
    let answers = submit_during(Plan(vec![1001]), &writer, 1001, &others, HOLD_TIME).await;
    assert_eq!(answers, granted(&[1001, 7001, 5001, 7002]));
    let batches = writer.published.lock().unwrap().clone();
    assert_eq!(batches, [vec![1001], vec![5001], vec![7001, 7002]]);
}

#[actix_web::test]
async fn a_later_command_that_needs_a_held_row_is_parked_before_it_is_tried() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    hold(&writer, &[7]);
    let parked = writer.submit(7001);
    let is_planned = |number: i64| {
        let calls = writer.script.calls();
        calls
            .iter()
            .any(|call| matches!(call, Plan(numbers) if numbers.contains(&number)))
    };
    while !is_planned(7001) {
        actix_web::rt::time::sleep(HOLD_TIME / 20).await;
    }
    // 7001 is parked when 5001 is granted.
    assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
    let later = writer.submit(7002);
    actix_web::rt::time::sleep(HOLD_TIME).await;
    assert_eq!(submit(&writer.handle, 5002).await, Ok(50_020));
    assert!(!is_planned(7002));
    hold(&writer, &[]);
    let answers = [parked.await.unwrap(), later.await.unwrap()];
    assert_eq!(answers.to_vec(), granted(&[7001, 7002]));
    assert_eq!(writer.count(), 4);
}

/// The command's provider is held, and the command takes a different provider.
#[actix_web::test]
async fn a_command_with_a_choice_does_not_wait_for_a_held_row() {
    let writer = number_writer(100, LONG_TIMEOUT);
    hold(&writer, &[7]);
    assert_eq!(submit(&writer.handle, 7600).await, Ok(76_000));
    // The next command is granted by its first plan.
    let calls = writer.script.calls().len();
    assert_eq!(submit(&writer.handle, 8600).await, Ok(86_000));
    assert_eq!(writer.script.calls().len() - calls, 2, "{:?}", writer.script.calls());
}

/// Found by `race twins` on a busy machine: a claim got a later candidate although the first candidate had room. A peer
/// had locked the first candidate for a commit of its own.
#[actix_web::test]
async fn a_command_with_a_choice_waits_for_the_commit_of_a_peer() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    writer.script.lock_for_commits(7);
    writer.script.fail_guards(1);
    // The first choice. Only the lock of the peer could make the command miss the first choice.
    assert_eq!(submit(&writer.handle, 7600).await, Ok(76_000));
    assert!(!writer.script.knows_held());
    writer.script.fail_guards(1);
    assert_eq!(submit(&writer.handle, 7001).await, Ok(70_010));
    assert!(!writer.script.knows_held());
    assert_eq!(writer.count(), 2);
}

#[actix_web::test]
async fn a_command_whose_other_choice_has_no_room_waits_for_the_held_row() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    hold(&writer, &[7]);
    let waiting = writer.submit(7601);
    actix_web::rt::time::sleep(4 * HOLD_TIME).await;
    assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
    assert!(!waiting.is_finished());
    // The row was probed ten times by now. The probes alone decide nothing.
    let run = Run { from_database: true };
    let decided = writer.script.calls().into_iter().filter(|call| *call == run).count();
    assert_eq!(decided, 1);
    hold(&writer, &[]);
    assert_eq!(waiting.await.unwrap(), Ok(76_010));
    assert_eq!(writer.count(), 2);
}

/// Found by a reader: each row found later put off the next probe, also the probe of the rows before.
#[test]
fn rows_that_are_found_later_do_not_put_a_probe_off() {
    let named = |number: i64| script::rows_of(&[&number]);
    let mut parked: Parked<Numbers> = Parked::new(10);
    parked.add_rows(named(7001));
    for _ in 0..10 {
        parked.probed(named(7001));
    }
    let due = parked.due_at().unwrap();
    assert_eq!(parked.add_rows(named(7001)), 0);
    assert_eq!(parked.due_at(), Some(due));
    // A new row may be free soon.
    assert_eq!(parked.add_rows(named(8001)), 1);
    assert!(parked.due_at().unwrap() < due);
}

#[actix_web::test]
async fn a_command_that_can_be_planned_again_is_returned_to_its_caller() {
    for number in [7001, 7601] {
        let mut writer = number_writer(100, LONG_TIMEOUT);
        hold(&writer, &[7]);
        // By this command the writer learns about the held row.
        assert_eq!(submit(&writer.handle, 7600).await, Ok(76_000));
        let send = |avoided: RowNames| {
            let when_held = WhenHeld::PlanAgain(avoided.into());
            let handle = writer.handle.clone();
            // The refusal on the snapshot was verified.
            let sent = async move {
                handle
                    .submit_from_database(&caller(), number, handle.deadline(), when_held)
                    .await
            };
            actix_web::rt::spawn(sent)
        };
        let returned = send(RowNames::default()).await.unwrap();
        assert!(matches!(returned, Ok(Submitted::Held)), "{number}");
        // The caller knows about the held row, and has no further plan.
        let waiting = send(script::rows_of(&[&number]));
        actix_web::rt::time::sleep(HOLD_TIME).await;
        assert!(!waiting.is_finished(), "{number}");
        hold(&writer, &[]);
        assert!(
            matches!(waiting.await.unwrap(), Ok(Submitted::Committed(_))),
            "{number}"
        );
        assert_eq!(writer.count(), 2);
    }
}

/// No command waits for the row, so only a probe finds the free row.
#[actix_web::test]
async fn a_row_that_no_command_waits_for_is_probed_too() {
    let writer = number_writer(100, LONG_TIMEOUT);
    hold(&writer, &[7]);
    assert_eq!(submit(&writer.handle, 7600).await, Ok(76_000));
    assert!(writer.script.knows_held());
    hold(&writer, &[]);
    let began = Instant::now();
    while writer.script.knows_held() {
        assert!(began.elapsed() < LONG_TIMEOUT, "the row is never probed");
        actix_web::rt::time::sleep(HOLD_TIME / 20).await;
    }
}

#[actix_web::test]
async fn a_writer_ends_although_rows_are_held_that_no_command_waits_for() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    hold(&writer, &[7]);
    assert_eq!(submit(&writer.handle, 7600).await, Ok(76_000));
    writer.close_queue();
    writer.join().await;
}

#[actix_web::test]
async fn a_command_whose_timeout_passes_while_it_is_parked_is_refused() {
    let mut writer = number_writer(100, SHORT_TIMEOUT);
    hold(&writer, &[7]);
    let answer = submit(&writer.handle, 7001).await;
    assert!(matches!(answer, Err(Error::Busy { .. })), "{answer:?}");
    hold(&writer, &[]);
    assert_eq!(submit(&writer.handle, 7002).await, Ok(70_020));
    assert_eq!(writer.count(), 1, "a refused command is not committed later");
}

/// The writer cannot see the reason for the wait: a foreign transaction has inserted the same number.
#[actix_web::test]
async fn a_lock_that_cannot_be_seen_delays_the_command_that_needs_it() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    if Kind::of(&writer.conn) == Kind::Sqlite {
        return;
    }
    writer.hold_number(5001);
    let waiting = writer.submit(5001);
    for number in 5002..5010 {
        assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
    }
    assert!(!waiting.is_finished(), "the other transaction may still be rolled back");
    dialect::rollback(&mut writer.conn).unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(50_010));
    assert_eq!(writer.count(), 9);
}

/// As during `CREATE INDEX`: no row is held, and every command needs the table.
#[cfg(feature = "postgresql")]
#[actix_web::test]
async fn commands_that_waited_for_the_lock_of_a_table_are_committed_together_after_it() {
    const COMMANDS: usize = 300;
    let mut writer = number_writer(1000, LONG_TIMEOUT);
    if Kind::of(&writer.conn) != Kind::Postgresql {
        return;
    }
    dialect::begin_write(&mut writer.conn).unwrap();
    diesel::sql_query("LOCK TABLE numbers IN SHARE MODE")
        .execute(&mut writer.conn)
        .unwrap();
    let waiting: Vec<_> = (5001..).take(COMMANDS).map(|number| writer.submit(number)).collect();
    actix_web::rt::time::sleep(10 * HOLD_TIME).await;
    assert!(waiting.iter().all(|task| !task.is_finished()));
    dialect::rollback(&mut writer.conn).unwrap();
    for task in waiting {
        assert!(task.await.unwrap().is_ok());
    }
    let batches = writer.published.lock().unwrap().len();
    // If the lock is released while batches are halved, the parts are committed separately: one for each failure.
    let halved = COMMANDS.div_ceil(MAX_BATCH) + FAILED_BATCHES_MAX;
    assert!(batches <= halved, "{batches} batches");
}

#[actix_web::test]
async fn commands_that_wait_for_a_held_row_are_bounded_and_take_no_place_of_others() {
    let mut writer = number_writer(3, LONG_TIMEOUT);
    hold(&writer, &[7]);
    let mut waiting = Vec::new();
    for number in 7001..7006 {
        waiting.push(writer.submit(number));
        // One at a time, so the queue has room for each number.
        actix_web::rt::time::sleep(HOLD_TIME).await;
    }
    assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
    hold(&writer, &[]);
    let mut refused = 0;
    for task in waiting {
        refused += usize::from(matches!(task.await.unwrap(), Err(Error::Busy { .. })));
    }
    assert_eq!((refused, writer.count()), (2, 4));
}
