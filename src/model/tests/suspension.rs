//! Ages count the time for which the machine is suspended. Here only the clock of the test's thread jumps.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::db::boot_instant::tests::SUSPENDED;
use crate::model::snapshot::follower::Follower;
use crate::model::snapshot::store::SnapshotStore;

/// With `stale_reads_seconds` the answer would be marked with an age of seconds, and hours old.
#[actix_web::test]
async fn a_snapshot_from_before_a_suspension_is_as_old_as_the_suspension() {
    const SUSPENSION: Duration = Duration::from_secs(3600);
    let mut f = fixture();
    let store = Arc::new(SnapshotStore::load(&mut f.conn).unwrap());
    let follower = Follower::start(f.database.clone(), store, false, Duration::from_secs(10)).unwrap();
    follower.fresh().await.unwrap();
    assert!(follower.age() < SUSPENSION);
    SUSPENDED.set(SUSPENSION);
    assert!(follower.age() >= SUSPENSION);
}
