//! Deadlines count the time of a suspension of the machine. Here only the clock jumps: each thread has its own.

use std::time::Duration;

use super::*;
use crate::db::boot_instant::tests::SUSPENDED;

/// From now on this thread's clock shows a suspension of an hour.
pub fn suspend() {
    SUSPENDED.set(Duration::from_secs(3600));
}

/// The client has given up long ago, and may have sent the request again.
#[actix_web::test]
async fn a_command_from_before_a_suspension_is_refused_and_not_committed() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    writer.lock();
    // The writer takes the first job alone, and waits with the job for the lock.
    let first = writer.submit(SUSPENDS);
    actix_web::rt::time::sleep(SHORT_TIMEOUT).await;
    let waiting = [1, 2].map(|number| writer.submit(number));
    actix_web::rt::time::sleep(SHORT_TIMEOUT).await;
    dialect::rollback(&mut writer.conn).unwrap();
    assert_eq!(first.await.unwrap(), Ok(SUSPENDS * 10));
    for command in waiting {
        let answer = command.await.unwrap();
        assert!(matches!(answer, Err(Error::Busy { .. })), "{answer:?}");
    }
    suspend();
    assert_eq!(submit(&writer.handle, 3).await, Ok(30), "a command from after it");
    assert_eq!(writer.count(), 2);
}
