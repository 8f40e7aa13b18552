//! Tests of large commands, whose rows are inserted while the writer goes on with others.

use super::pipeline::with_slow_inserts;
use super::script::Call::{CatchUp, Follow, Lock, Plan};
use super::script::{HOLD_TIME, granted};
use super::*;

/// A plannable number that counts as many rows.
const LARGE: i64 = 9800;

/// Those that need one of the rows wait for the large command.
#[actix_web::test]
async fn others_are_committed_while_the_rows_of_a_large_command_are_inserted() {
    let Some(writer) = with_slow_inserts(number_writer(100, LONG_TIMEOUT)) else {
        return;
    };
    let large = writer.submit(LARGE);
    while writer.script.calls().last() != Some(&Plan(vec![LARGE])) {
        actix_web::rt::time::sleep(HOLD_TIME / 20).await;
    }
    let of_same_row = writer.submit(9001);
    for number in 5001..5009 {
        assert_eq!(submit(&writer.handle, number).await, Ok(number * 10));
    }
    let answers = [large.await.unwrap(), of_same_row.await.unwrap()];
    assert_eq!(answers.to_vec(), granted(&[LARGE, 9001]));
    let published = writer.published.lock().unwrap().concat();
    assert_eq!(published, [5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, LARGE, 9001]);
}

/// Another transaction has inserted one of the rows, and has not ended.
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

/// After half of its time it becomes a batch of its own, and so does the next one at once.
#[actix_web::test]
async fn a_large_command_whose_rows_take_too_long_is_committed_without_the_second_connection() {
    let Some(mut writer) = with_slow_inserts(number_writer(100, Duration::from_secs(1))) else {
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

/// As after a failover: the rows may be on a server that is no longer the primary.
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
    while writer.script.calls().last() != Some(&Plan(vec![LARGE])) {
        actix_web::rt::time::sleep(HOLD_TIME / 20).await;
    }
    actix_web::rt::time::sleep(3 * HOLD_TIME).await;
    let idle = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle'";
    diesel::sql_query(idle).execute(&mut writer.conn).unwrap();
    assert_eq!(submit(&writer.handle, 5001).await, Ok(50_010));
    assert_eq!(large.await.unwrap(), Ok(LARGE * 10));
    assert!(!writer.script.calls().contains(&CatchUp));
    assert_eq!(writer.count(), 2);
}

/// The rows that were inserted early are rolled back, and inserted again with the rest.
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
