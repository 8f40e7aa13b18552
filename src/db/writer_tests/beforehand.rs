//! What is written before a turn, and who shares it.

use super::turns::{A_MOMENT, Asked::*, FICKLE, SHY, beforehand, during, granted};
use super::*;

#[actix_web::test]
async fn who_comes_before_a_turn_shares_it_and_who_cannot_is_next() {
    let mut bench = bench(100, Duration::from_secs(2));
    let others = [3001, 2002, 5, 1001, 2003, 3002];
    let answers = beforehand(&bench, 2001, &others, A_MOMENT).await;
    assert_eq!(answers, granted(&[2001, 3001, 2002, 5, 1001, 2003, 3002]));
    let batches = bench.seen.lock().unwrap().clone();
    assert_eq!(batches, [vec![2001, 2002, 1001, 2003], vec![3001, 3002], vec![5]]);
    let came = PlanFor(vec![2002, 1001, 2003]);
    let turn = [
        PlanFor(vec![2001]),
        came,
        TakeTurn,
        CatchUp,
        PlanFor(batches[0].clone()),
    ];
    assert_eq!(bench.turns.asked()[..5], turn);
    assert_eq!(bench.count(), 7, "each is written once");
}

#[actix_web::test]
async fn who_comes_while_a_turn_is_waited_for_is_next() {
    let bench = bench(100, LONG);
    let answers = during(TakeTurn, &bench, 2001, &[2002, 2003], A_MOMENT).await;
    assert_eq!(answers, granted(&[2001, 2002, 2003]));
    let batches = bench.seen.lock().unwrap().clone();
    assert_eq!(batches, [vec![2001], vec![2002, 2003]]);
}

#[actix_web::test]
async fn a_turn_is_not_put_off_for_those_who_keep_coming() {
    let bench = bench(100, LONG);
    bench.turns.is_slow.store(true, Ordering::Release);
    let mut tasks = Vec::new();
    for number in 2001..2041 {
        tasks.push(bench.submit(number));
        actix_web::rt::time::sleep(A_MOMENT / 5).await;
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let asked = bench.turns.asked();
    let plans = asked.iter().take_while(|it| matches!(it, PlanFor(_))).count();
    assert!((2..=3).contains(&plans), "{asked:?}");
    assert_eq!(asked[plans..plans + 2], [TakeTurn, CatchUp]);
}

#[actix_web::test]
async fn who_could_not_be_planned_before_a_turn_is_written_in_it() {
    let mut bench = bench(100, LONG);
    let numbers = [2001, 2000 + SHY];
    let answers = beforehand(&bench, numbers[0], &numbers[1..], A_MOMENT).await;
    assert_eq!(answers, granted(&numbers));
    assert_eq!(*bench.seen.lock().unwrap(), [numbers]);
    let looks = [PlanFor(vec![numbers[0]]), PlanFor(vec![numbers[1]])];
    let turn = [TakeTurn, CatchUp, PlanFor(numbers.to_vec())];
    assert_eq!(bench.turns.asked(), [&looks[..], &turn].concat());
    assert_eq!(bench.count(), 2);
}

/// What was written before it is gone then, and nothing of the rest may be committed without it.
#[actix_web::test]
async fn a_turn_whose_transaction_was_undone_before_it_is_tried_again() {
    let mut bench = bench(100, LONG);
    if Kind::of(&bench.conn) != Kind::Mariadb {
        return;
    }
    bench.turns.undone.store(1, Ordering::Release);
    // The second is written in the turn, after the first is lost.
    let numbers = [2001, 2000 + SHY];
    let answers = beforehand(&bench, numbers[0], &numbers[1..], A_MOMENT).await;
    assert_eq!(answers, granted(&numbers));
    assert_eq!(bench.count(), 2);
    assert!(!bench.doubtful.load(Ordering::Acquire), "no fence is needed");
}

/// As where a class was deleted and made anew meanwhile, with another id.
#[actix_web::test]
async fn what_was_written_before_a_turn_and_is_no_longer_so_is_undone() {
    let mut bench = bench(100, LONG);
    let number = 2000 + FICKLE;
    assert_eq!(bench.writer.submit(number).await, Ok(number * 10));
    let planned = PlanFor(vec![number]);
    let turn = [planned.clone(), TakeTurn, CatchUp, planned, Follow];
    assert_eq!(bench.turns.asked(), [&turn[..], &[Run { on_database: true }]].concat());
    assert_eq!(bench.count(), 1);
}
