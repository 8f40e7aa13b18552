//! Known workloads with a new number of replicas, or with new ids.

use super::*;

#[actix_web::test]
async fn more_replicas_are_added_and_fewer_leave_the_rest_spread_best() {
    let mut f = cluster(&SITES).await;
    let rules = || Some(vec![spread(Mode::MaxDifference, &["fault"])]);
    let three = place(&f.model, put(WORKLOAD, None, spec(3, rules()))).await.unwrap();
    let six = place(&f.model, put(WORKLOAD, Some(1), spec(6, rules()))).await.unwrap();
    assert!(places(&six).starts_with(&places(&three)), "what stands stays");
    assert_eq!(hosts(&six).len(), 6);
    let four = place(&f.model, put(WORKLOAD, Some(2), spec(4, rules()))).await.unwrap();
    assert!(four.violations.is_empty(), "{:?}", four.violations);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 4);
    let stayed: Vec<_> = places(&four);
    assert!(stayed.iter().all(|it| places(&six).contains(it)));
    // The lowest free numbers come next.
    let six = place(&f.model, put(WORKLOAD, Some(3), spec(6, rules()))).await.unwrap();
    let ids: Vec<String> = places(&six).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5"]);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn named_ids_say_who_stays() {
    let f = cluster(&SITES).await;
    let mut first = put(WORKLOAD, None, spec(3, None));
    first.ids = Some(["db-10", "db-9", "db-1"].map(String::from).to_vec());
    let first = place(&f.model, first).await.unwrap();
    let ids = |report: &Report| places(report).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(&first), ["db-1", "db-9", "db-10"]);
    let mut second = put(WORKLOAD, Some(1), spec(2, None));
    second.ids = Some(["db-10", "x"].map(String::from).to_vec());
    let second = place(&f.model, second).await.unwrap();
    assert_eq!(ids(&second), ["db-10", "x"]);
    assert_eq!(places(&second)[0], places(&first)[2]);
}
