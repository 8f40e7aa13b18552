//! Tests of large commands with a defect, a silent host, or a COMMIT in doubt. The writer's own connection is the
//! relay's number 0, and the connection for inserting rows is number 1.

use super::relay::{Fault, Host, INSERT, relayed_writer};
use super::script::Call::{CatchUp, Follow, Lock, Plan};
use super::*;

/// A plannable number which counts as many rows.
const LARGE: i64 = 9800;

/// After half of this time the writer no longer waits for the second connection.
const TIMEOUT: Duration = Duration::from_secs(4);

#[actix_web::test]
async fn a_large_command_whose_insert_met_a_defect_is_committed_as_a_batch_of_its_own() {
    let Some((mut writer, relay)) = relayed_writer(LONG_TIMEOUT) else {
        return;
    };
    writer.script.lack_values(1);
    assert_eq!(submit(&writer.handle, LARGE).await, Ok(LARGE * 10));
    let planned = Plan(vec![LARGE]);
    assert_eq!(writer.script.calls(), [planned.clone(), Follow, planned]);
    assert_eq!(relay.accepted(), 2);
    let next = LARGE + 1000;
    assert_eq!(submit(&writer.handle, next).await, Ok(next * 10));
    assert_eq!(relay.accepted(), 3, "there is no reason for a pause");
    assert_eq!((writer.count(), writer.published.lock().unwrap().len()), (2, 2));
    relay.has_open(&[0]).await;
}

#[actix_web::test]
async fn a_large_command_whose_plan_meets_a_defect_twice_is_refused_and_the_writer_goes_on() {
    let Some((mut writer, relay)) = relayed_writer(LONG_TIMEOUT) else {
        return;
    };
    let planned = Plan(vec![LARGE]);
    writer.script.panic_in(planned.clone());
    assert_eq!(submit(&writer.handle, LARGE).await, Ok(LARGE * 10), "the second time");
    let other = LARGE + 1;
    for _ in 0..2 {
        writer.script.panic_in(Plan(vec![other]));
    }
    let refused = submit(&writer.handle, other).await;
    assert!(matches!(refused, Err(Error::Internal { .. })), "{refused:?}");
    assert_eq!(relay.accepted(), 1, "no row was to be inserted");
    assert_eq!(submit(&writer.handle, other).await, Ok(other * 10));
    assert_eq!(writer.count(), 2);
    relay.has_open(&[0]).await;
}

/// The early rows are rolled back.
#[actix_web::test]
async fn a_large_command_that_meets_a_defect_after_its_insert_is_refused_and_leaves_no_row() {
    for call in [Lock(vec![9]), CatchUp] {
        let Some((mut writer, relay)) = relayed_writer(LONG_TIMEOUT) else {
            return;
        };
        writer.script.panic_in(call);
        let refused = submit(&writer.handle, LARGE).await;
        assert!(matches!(refused, Err(Error::Internal { .. })), "{refused:?}");
        relay.has_open(&[0]).await;
        assert_eq!(writer.count(), 0);
        for number in [5001, LARGE] {
            assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
        }
        assert_eq!(*writer.published.lock().unwrap(), [[5001], [LARGE]]);
    }
}

/// Small commands are committed while the writer waits, and later large commands do not wait at all.
#[actix_web::test]
async fn large_commands_are_batches_of_their_own_when_the_second_connection_is_not_answered() {
    for host in [Host::IsSilent, Host::Refuses] {
        let Some((mut writer, relay)) = relayed_writer(TIMEOUT) else {
            return;
        };
        relay.set_host(host);
        let large = writer.submit(LARGE);
        relay.has_accepted(2).await;
        assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
        assert_eq!(large.await.unwrap(), Ok(LARGE * 10));
        relay.set_host(Host::Answers);
        for number in [LARGE + 1, LARGE + 1000] {
            assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
        }
        assert_eq!(relay.accepted(), 2, "it is not tried again for a minute");
        assert!(!writer.script.calls().contains(&CatchUp));
        assert_eq!(writer.count(), 4);
        relay.break_all();
    }
}

/// The server has inserted the rows, and holds the rows until the server notices the loss of the connection.
#[actix_web::test]
async fn rows_on_a_connection_that_fell_silent_delay_only_the_commands_that_need_them() {
    let Some((mut writer, relay)) = relayed_writer(TIMEOUT) else {
        return;
    };
    relay.fail(1, INSERT, Fault::Silence);
    let large = writer.submit(LARGE);
    relay.reached().await;
    let mut number = 5001;
    while !large.is_finished() {
        assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
        number += 1;
        // Numbers of this thousand are refused from 5404 on.
        actix_web::rt::time::sleep(TIMEOUT / 200).await;
    }
    let given_up = Error::Unavailable {
        detail: "it does not answer".into(),
    };
    let refused = large.await.unwrap().unwrap_err();
    assert_ne!(refused, given_up, "the writer answers before its caller gives up");
    relay.break_connection(1);
    relay.has_open(&[0]).await;
    assert_eq!(submit(&writer.handle, LARGE).await, Ok(LARGE * 10));
    assert_eq!(writer.count(), number - 5000);
}

#[actix_web::test]
async fn a_writer_whose_queue_closes_while_the_second_connection_is_not_answered_ends() {
    let Some((mut writer, relay)) = relayed_writer(TIMEOUT) else {
        return;
    };
    relay.set_host(Host::IsSilent);
    let caller = writer.submit(LARGE);
    relay.has_accepted(2).await;
    caller.abort();
    assert!(caller.await.is_err(), "it has no answer yet");
    writer.close_queue();
    writer.join().await;
    assert_eq!(*writer.published.lock().unwrap(), [[LARGE]]);
    assert_eq!(writer.count(), 1);
    relay.break_all();
}

/// Submits a large command whose COMMIT is in doubt. The writer's old connection is silent from the COMMIT on, as after
/// a failover.
async fn submit_in_doubt(writer: &NumberWriter, relay: &relay::Relay, fault: Fault, then: Host) -> Result<i64> {
    writer.script.block(CatchUp);
    let large = writer.submit(LARGE);
    writer.script.reaches(&CatchUp).await;
    relay.fail(1, "COMMIT", fault);
    relay.silence(0);
    relay.set_host(then);
    writer.script.unblock();
    large.await.unwrap()
}

#[actix_web::test]
async fn the_fence_decides_a_large_command_in_doubt_and_later_batches_use_its_connection() {
    for fault in [Fault::LoseStatement, Fault::LoseAnswer] {
        let Some((mut writer, relay)) = relayed_writer(LONG_TIMEOUT) else {
            return;
        };
        let answer = submit_in_doubt(&writer, &relay, fault, Host::Answers).await;
        assert_eq!(answer, Ok(LARGE * 10));
        relay.has_open(&[2]).await;
        let planned = Plan(vec![LARGE]);
        let mut calls = vec![planned.clone(), Lock(vec![9]), CatchUp, planned.clone()];
        if fault == Fault::LoseStatement {
            calls.extend([Follow, planned]);
        }
        assert_eq!(writer.script.calls(), calls);
        for number in [5001, LARGE + 1000] {
            assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
        }
        assert_eq!(*writer.published.lock().unwrap(), [[LARGE], [5001], [LARGE + 1000]]);
        assert_eq!(writer.count(), 3);
        assert!(
            !writer.is_invalid.load(Ordering::Acquire),
            "the fence found the outcome"
        );
    }
}

#[actix_web::test]
async fn a_large_command_that_stays_in_doubt_is_answered_so_and_the_writer_goes_on() {
    for (fault, committed) in [(Fault::LoseStatement, 0), (Fault::LoseAnswer, 1)] {
        let Some((mut writer, relay)) = relayed_writer(TIMEOUT) else {
            return;
        };
        let answer = submit_in_doubt(&writer, &relay, fault, Host::Refuses).await;
        assert!(matches!(answer, Err(Error::UnknownOutcome { .. })), "{answer:?}");
        assert!(writer.is_invalid.load(Ordering::Acquire));
        relay.set_host(Host::Answers);
        assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
        assert_eq!(writer.count(), committed + 1);
        assert_eq!(*writer.published.lock().unwrap(), [[5001]]);
    }
}
