//! Replicas are counted as claims.

use super::*;
use crate::model::statistics;

/// The numbers of granted and of released replicas, and of refused replicas by reason.
fn counted(model: &Model) -> (u64, u64, Vec<(&'static str, u64)>) {
    let claims = statistics::read(model).claims;
    let refused = claims.refused().filter(|(_, count)| *count > 0).collect();
    (claims.granted.value(), claims.released.value(), refused)
}

#[actix_web::test]
async fn replicas_are_counted_as_claims() {
    let f = cluster(&SITES[..3]).await;
    let mut asked = put(WORKLOAD, None, spec(3, Some(Vec::new())));
    asked.is_dry_run = true;
    place(&f.model, asked.clone()).await.unwrap();
    assert_eq!(counted(&f.model), (0, 0, vec![]), "a dry run claims nothing");
    asked.is_dry_run = false;
    place(&f.model, asked).await.unwrap();
    assert_eq!(counted(&f.model), (3, 0, vec![]));
    // Two leave.
    place(&f.model, put(WORKLOAD, Some(1), spec(1, Some(Vec::new()))))
        .await
        .unwrap();
    assert_eq!(counted(&f.model), (3, 2, vec![]));
    // Four are missing, and two have a place.
    no_place(place(&f.model, put(WORKLOAD, Some(2), spec(5, Some(Vec::new())))).await);
    assert_eq!(counted(&f.model), (3, 2, vec![("no_place", 4)]));
    let mut some = put(WORKLOAD, Some(2), spec(5, Some(Vec::new())));
    some.is_atomic = false;
    place(&f.model, some).await.unwrap();
    assert_eq!(counted(&f.model), (5, 2, vec![("no_place", 6)]));
    let stale = put(WORKLOAD, Some(9), spec(5, Some(Vec::new())));
    place(&f.model, stale).await.unwrap_err();
    let mut large = put(WORKLOAD + 1, None, spec(0, Some(Vec::new())));
    large.spec.roles = vec![role("replica", 3, 10)];
    place(&f.model, large).await.unwrap_err();
    let refused = vec![("no_place", 6), ("no_capacity", 3), ("concurrent_update", 5)];
    assert_eq!(counted(&f.model), (5, 2, refused));
    delete(
        &f.model,
        &uuid(WORKLOAD),
        None,
        Delete {
            is_dry_run: true,
            ..Delete::default()
        },
        &caller(),
    )
    .await
    .unwrap();
    delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
        .await
        .unwrap();
    assert_eq!((counted(&f.model).0, counted(&f.model).1), (5, 5));
}
