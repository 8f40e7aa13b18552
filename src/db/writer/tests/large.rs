//! Tests of large commands, whose rows are inserted while the writer goes on with small commands.

use super::pipeline::with_slow_inserts;
use super::relay::{Fault, INSERT, relayed_writer};
use super::script::Call::{CatchUp, Follow, Lock, Plan};
use super::script::{HOLD_TIME, granted};
use super::suspension::suspend;
use super::*;
use crate::db::boot_instant::BootInstant;
use crate::db::writer::job::WhenHeld;

/// A plannable number which counts as many rows.
const LARGE: i64 = 9800;

/// A command on one of the rows waits for the large command.
#[actix_web::test]
async fn others_are_committed_while_the_rows_of_a_large_command_are_inserted() {
    let Some(writer) = with_slow_inserts(number_writer(100, LONG_TIMEOUT)) else {
        return;
    };
    let large = writer.submit(LARGE);
    writer.script.reaches(&Plan(vec![LARGE])).await;
    let of_same_row = writer.submit(9001);
    for number in 5001..5009 {
        assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
    }
    let answers = [large.await.unwrap(), of_same_row.await.unwrap()];
    assert_eq!(answers.to_vec(), granted(&[LARGE, 9001]));
    let published = writer.published.lock().unwrap().concat();
    assert_eq!(published, [5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, LARGE, 9001]);
}

/// A foreign transaction has inserted one of the rows, and has not ended.
#[actix_web::test]
async fn a_large_command_whose_rows_could_not_be_inserted_beside_others_is_committed_later() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    if Kind::of(&writer.conn) == Kind::Sqlite {
        return;
    }
    writer.hold_number(LARGE);
    let large = writer.submit(LARGE);
    actix_web::rt::time::sleep(3 * HOLD_TIME).await;
    assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
    assert!(!large.is_finished());
    dialect::rollback(&mut writer.conn).unwrap();
    assert_eq!(large.await.unwrap(), Ok(LARGE * 10));
    assert_eq!(writer.count(), 2);
}

/// After half of its time the command becomes a batch of its own. The next large command becomes a batch at once.
#[actix_web::test]
async fn a_large_command_whose_rows_take_too_long_is_committed_without_the_second_connection() {
    let Some(mut writer) = with_slow_inserts(number_writer(100, Duration::from_secs(3))) else {
        return;
    };
    assert_eq!(submit(&writer.handle, LARGE).await, Ok(LARGE * 10));
    assert!(!writer.script.calls().contains(&CatchUp));
    assert_eq!(submit(&writer.handle, LARGE + 1000).await, Ok((LARGE + 1000) * 10));
    assert!(!writer.script.calls().contains(&CatchUp));
    assert_eq!(writer.count(), 2);
}

#[actix_web::test]
async fn a_large_command_that_expires_while_its_rows_are_inserted_is_not_committed() {
    let Some(mut writer) = with_slow_inserts(number_writer(100, SHORT_TIMEOUT)) else {
        return;
    };
    let answer = submit(&writer.handle, LARGE).await;
    assert!(
        matches!(answer, Err(Error::Busy { .. } | Error::Unavailable { .. })),
        "{answer:?}"
    );
    while submit(&writer.handle, 5001).await.is_err() {}
    assert_eq!(writer.count(), 1, "a refused command is not committed later");
}

/// As after a failover: the rows may be on a server which is no longer the primary.
#[cfg(feature = "postgresql")]
#[actix_web::test]
async fn rows_that_were_inserted_while_the_writer_lost_its_connection_are_not_committed() {
    let Some(mut writer) = with_slow_inserts(number_writer(100, LONG_TIMEOUT)) else {
        return;
    };
    if Kind::of(&writer.conn) != Kind::Postgresql {
        return;
    }
    let large = writer.submit(LARGE);
    writer.script.reaches(&Plan(vec![LARGE])).await;
    actix_web::rt::time::sleep(3 * HOLD_TIME).await;
    let idle = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle'";
    diesel::sql_query(idle).execute(&mut writer.conn).unwrap();
    assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
    assert_eq!(large.await.unwrap(), Ok(LARGE * 10));
    assert!(!writer.script.calls().contains(&CatchUp));
    assert_eq!(writer.count(), 2);
}

/// The early rows are rolled back, and inserted again with the rest.
#[actix_web::test]
async fn a_large_command_that_finds_a_conflict_at_its_end_is_committed_once() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    if Kind::of(&writer.conn) == Kind::Sqlite {
        return;
    }
    writer.script.fail_to_catch_up(1);
    assert_eq!(submit(&writer.handle, LARGE).await, Ok(LARGE * 10));
    let calls = writer.script.calls();
    assert_eq!(
        calls,
        [Plan(vec![LARGE]), Lock(vec![9]), CatchUp, Follow, Plan(vec![LARGE])]
    );
    assert_eq!(writer.count(), 1);
}

/// Also if both change the same provider.
#[actix_web::test]
async fn a_large_command_waits_for_the_one_whose_rows_are_being_inserted() {
    for second in [LARGE + 1000, LARGE + 1] {
        let Some((mut writer, relay)) = relayed_writer(LONG_TIMEOUT) else {
            return;
        };
        relay.fail(1, INSERT, Fault::Hold);
        let first = writer.submit(LARGE);
        relay.reached().await;
        let waiting = writer.submit(second);
        for number in [5001, 5002] {
            assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
        }
        assert!(!writer.script.calls().contains(&Plan(vec![second])));
        assert_eq!(relay.accepted(), 2);
        relay.release();
        let answers = [first.await.unwrap(), waiting.await.unwrap()];
        assert_eq!(answers.to_vec(), granted(&[LARGE, second]));
        assert_eq!(
            writer.published.lock().unwrap().concat(),
            [5001, 5002, LARGE, second],
            "in the order of their arrival"
        );
        assert_eq!(
            (writer.count(), relay.accepted()),
            (4, 3),
            "both were inserted beside others"
        );
        relay.has_open(&[0]).await;
    }
}

/// The writer's clock jumps while the first command's rows are inserted, and the second command waits for the first.
#[actix_web::test]
async fn large_commands_that_expire_before_or_while_their_rows_are_inserted_leave_none() {
    let Some((mut writer, relay)) = relayed_writer(LONG_TIMEOUT) else {
        return;
    };
    relay.fail(1, INSERT, Fault::Hold);
    let first = writer.submit(LARGE);
    relay.reached().await;
    let second = writer.submit(LARGE + 1000);
    assert_eq!(submit(&writer.handle, SUSPENDS).await, Ok(SUSPENDS * 10));
    relay.release();
    for command in [first, second] {
        let answer = command.await.unwrap();
        assert!(matches!(answer, Err(Error::Busy { .. })), "{answer:?}");
    }
    assert!(!writer.script.calls().contains(&Plan(vec![LARGE + 1000])));
    relay.has_open(&[0]).await;
    assert_eq!(writer.count(), 1);
    suspend();
    let again = submit(&writer.handle, LARGE).await;
    assert_eq!(again, Ok(LARGE * 10), "its row is free");
    assert_eq!(*writer.published.lock().unwrap(), [[SUSPENDS], [LARGE]]);
}

/// The caller gives up after the deadline, when only the end of the transaction is left.
#[actix_web::test]
async fn a_large_command_that_is_cancelled_after_its_rows_were_inserted_is_rolled_back() {
    let Some((mut writer, relay)) = relayed_writer(SHORT_TIMEOUT) else {
        return;
    };
    writer.script.block(CatchUp);
    let deadline = BootInstant::now() + Duration::from_secs(4);
    let cancelled = writer
        .handle
        .submit(&caller(), LARGE, deadline, WhenHeld::Wait)
        .await
        .map(|_| ());
    assert!(matches!(cancelled, Err(Error::Unavailable { .. })), "{cancelled:?}");
    assert_eq!(writer.script.calls().last(), Some(&CatchUp));
    writer.script.unblock();
    while submit(&writer.handle, 5001).await.is_err() {}
    relay.has_open(&[0]).await;
    assert_eq!(writer.count(), 1, "its caller was answered that nothing was done");
    assert_eq!(*writer.published.lock().unwrap(), [[5001]]);
}

/// The callers are gone. The command of one waits for the inserted rows, and a second has a large command.
#[actix_web::test]
async fn a_writer_whose_queue_closes_while_rows_are_inserted_commits_everything_before_it_ends() {
    let Some((mut writer, relay)) = relayed_writer(LONG_TIMEOUT) else {
        return;
    };
    relay.fail(1, INSERT, Fault::Hold);
    let mut callers = vec![writer.submit(LARGE)];
    relay.reached().await;
    callers.extend([9001, LARGE + 1000].map(|number| writer.submit(number)));
    actix_web::rt::task::yield_now().await;
    assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
    for caller in callers {
        caller.abort();
        assert!(caller.await.is_err(), "it has no answer yet");
    }
    writer.close_queue();
    relay.release();
    writer.join().await;
    let published = writer.published.lock().unwrap().concat();
    assert_eq!(published, [5001, LARGE, 9001, LARGE + 1000]);
    assert_eq!(writer.count(), 4);
    relay.has_open(&[]).await;
}
