//! Claims with a choice: the first fitting candidate, gangs, reasons, dry runs and races.

use std::sync::Arc;

use super::multi_process::{submit_together, tally};
use super::process::Process;
use super::*;
use crate::db::writer::{Batch, Decision, RowNames};
use crate::error::{ClaimRefusal, Reason, ReasonCode};
use crate::model::batch::command::Write;
use crate::model::claims::{
    Candidates, ClaimAnswer, ClaimCandidate, ClaimFirst, ClaimedConsumer, ConsumerChoice, Limits,
};
use crate::model::planner::agreement::agrees;
use crate::search::Interrupt;

/// Candidates with a single provider and class.
fn candidates(asks: &[(u32, &str, i64)]) -> Candidates {
    let candidate = |(provider, class, amount): &(u32, &str, i64)| ClaimCandidate {
        allocations: vec![(uuid(*provider), vec![((*class).to_owned(), *amount)])],
        mappings: Some(vec![(String::new(), vec![uuid(*provider)])]),
    };
    Candidates::all(asks.iter().map(candidate).collect())
}

pub(super) fn choice(consumer: u32, generation: Expected, asks: &[(u32, &str, i64)]) -> ConsumerChoice {
    ConsumerChoice {
        claim: consumer_claim(consumer, Vec::new(), generation),
        candidates: candidates(asks),
        limits: Limits::Normal,
        is_required: true,
    }
}

pub(super) fn first_of(consumers: Vec<ConsumerChoice>) -> ClaimFirst {
    ClaimFirst::new(consumers, None)
}

pub(super) fn claimed(answer: Result<ClaimAnswer>) -> Arc<[ClaimedConsumer]> {
    match answer {
        Ok(ClaimAnswer::Claimed(outcomes)) => outcomes.iter().map(|it| it.clone().unwrap()).collect(),
        other => panic!("{other:?}"),
    }
}

/// The consumer's candidate, and the provider with its generation.
pub(super) fn got(claimed: &ClaimedConsumer) -> (usize, String, i64) {
    let share = &claimed.providers[0];
    (claimed.candidate, share.provider.to_string(), share.generation)
}

pub(super) fn refusal(error: Error) -> Arc<ClaimRefusal> {
    match error {
        Error::ClaimRefused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

/// The code, the candidate, and the requested and the free amount of a reason.
pub(super) type ReasonNumbers = (ReasonCode, Option<usize>, Option<i64>, Option<i64>);

pub(super) fn reasons(refusal: &ClaimRefusal, consumer: usize) -> Vec<ReasonNumbers> {
    let reason = |reason: &Reason| (reason.code, reason.candidate, reason.requested, reason.free);
    refusal.consumers[consumer].reasons.kept().iter().map(reason).collect()
}

#[actix_web::test]
async fn the_first_candidate_that_fits_is_claimed() {
    let mut f = fixture();
    f.host(1, 2).await.unwrap();
    f.host(2, 4).await.unwrap();
    let asks = [
        (1, "VCPU", 3),
        (9, "VCPU", 3),
        (1, "CUSTOM_X", 1),
        (2, "VCPU", 3),
        (1, "VCPU", 1),
    ];
    let before = f.generation(2);
    let command = first_of(vec![choice(10, Expected::New, &asks)]);
    let claimed = claimed(f.model.submit(command).await);
    assert_eq!(got(&claimed[0]), (3, uuid(2), before + 1));
    assert_eq!(claimed[0].generation, 1);
    assert_eq!(claimed[0].mappings, Some(vec![(String::new(), vec![uuid(2)])]));
    assert_eq!((f.used(1), f.used(2), f.generation(2)), (0, 3, before + 1));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_refusal_names_what_each_candidate_lacks() {
    let mut f = fixture();
    f.host(1, 2).await.unwrap();
    let asks = [(1, "VCPU", 3), (9, "VCPU", 1), (1, "CUSTOM_X", 1), (1, "DISK_GB", 1)];
    let command = first_of(vec![choice(10, Expected::New, &asks)]);
    let refused = refusal(f.model.submit(command).await.unwrap_err());
    let expected = [
        (ReasonCode::NoRoom, Some(0), Some(3), Some(2)),
        (ReasonCode::ProviderNotFound, Some(1), None, None),
        (ReasonCode::ClassNotFound, Some(2), None, None),
        (ReasonCode::NoInventory, Some(3), Some(1), None),
    ];
    assert_eq!(reasons(&refused, 0), expected);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM consumers"), 0);
}

/// OpenStack Placement's sentence names all classes and providers together, separated by commas.
#[actix_web::test]
async fn a_reason_names_one_provider_and_one_class_without_an_inventory() {
    let f = fixture();
    f.model
        .submit(Create {
            uuid: uuid(1),
            name: "bare".to_owned(),
            parent: None,
        })
        .await
        .unwrap();
    let mut consumer = choice(10, Expected::New, &[]);
    let amounts = vec![("VCPU".to_owned(), 2), ("MEMORY_MB".to_owned(), 5)];
    consumer.candidates = Candidates::all(Arc::new([ClaimCandidate {
        allocations: vec![(uuid(1), amounts)],
        mappings: None,
    }]));
    let refused = refusal(f.model.submit(first_of(vec![consumer])).await.unwrap_err());
    let reason = &refused.consumers[0].reasons.kept()[0];
    assert_eq!(reason.resource_provider, Some(uuid(1)));
    assert_eq!(
        (reason.resource_class.as_deref(), reason.requested),
        (Some("VCPU"), Some(2))
    );
}

#[actix_web::test]
async fn of_a_gang_all_consumers_are_granted_or_none() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.host(2, 4).await.unwrap();
    let asks = [(1, "VCPU", 3), (2, "VCPU", 3)];
    let gang = |consumers: &[u32]| {
        let choices = consumers.iter().map(|consumer| choice(*consumer, Expected::New, &asks));
        first_of(choices.collect())
    };
    let refused = refusal(f.model.submit(gang(&[10, 11, 12])).await.unwrap_err());
    assert_eq!(reasons(&refused, 0), [], "it would have got a place");
    let no_room = |candidate| (ReasonCode::NoRoom, Some(candidate), Some(3), Some(1));
    assert_eq!(reasons(&refused, 2), [no_room(0), no_room(1)]);
    assert_eq!((f.used(1), f.used(2)), (0, 0));
    let claimed = claimed(f.model.submit(gang(&[10, 11])).await);
    let places: Vec<usize> = claimed.iter().map(|consumer| consumer.candidate).collect();
    assert_eq!(places, [0, 1], "the second sees what the first took");
    assert_eq!((f.used(1), f.used(2)), (3, 3));
    f.check_snapshot().await;
}

/// The commands of a batch share one state, so no command may see the temporary allocations of a refused gang.
#[actix_web::test]
async fn a_refused_gang_leaves_no_trace_in_its_batch() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    let mut process = Process::start(&f.database, true);
    let gang = first_of(vec![
        choice(10, Expected::New, &[(1, "VCPU", 4)]),
        choice(11, Expected::New, &[(1, "VCPU", 4)]),
    ]);
    let alone = super::process::claim_command(12, 1, 4);
    let gang = gang.into_command();
    let (answers, pending) = process.commit(&[&gang, &alone], true).unwrap().unwrap();
    assert!(answers[0].is_err() && answers[1].is_ok());
    process.publish(pending);
    assert_eq!(f.used(1), 4);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM consumers"), 1);
    process.check();
}

#[actix_web::test]
async fn a_consumer_that_exists_is_replaced_and_its_own_room_is_free_for_it() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
    let grow = |generation| first_of(vec![choice(10, generation, &[(1, "VCPU", 4)])]);
    let stale = refusal(f.model.submit(grow(Expected::Is(7))).await.unwrap_err());
    assert!(stale.is_stale());
    let claimed = claimed(f.model.submit(grow(Expected::Is(1))).await);
    assert_eq!((claimed[0].generation, f.used(1)), (2, 4));
    let exists = refusal(f.model.submit(grow(Expected::New)).await.unwrap_err());
    assert!(exists.is_stale(), "the caller took it for new");
    let more = first_of(vec![choice(10, Expected::Is(2), &[(1, "VCPU", 5)])]);
    let refused = refusal(f.model.submit(more).await.unwrap_err());
    assert_eq!(reasons(&refused, 0), [(ReasonCode::NoRoom, Some(0), Some(5), Some(4))]);
}

#[actix_web::test]
async fn a_dry_run_answers_the_same_and_writes_nothing() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    let command = first_of(vec![
        choice(10, Expected::New, &[(1, "VCPU", 5), (1, "VCPU", 2)]),
        choice(11, Expected::New, &[(1, "VCPU", 2)]),
    ]);
    let rows = "SELECT COUNT(*) AS n FROM allocations";
    let deadline = f.model.writer_deadline();
    let foreseen = claimed(f.model.dry_run(command.clone(), deadline).await);
    assert_eq!((f.number(rows), f.generation(1)), (0, 1));
    assert_eq!(*claimed(f.model.submit(command.clone()).await), *foreseen);
    let refused = f.model.dry_run(command, deadline).await.unwrap_err();
    assert!(refusal(refused).is_stale(), "its consumers exist now");
}

/// Found by a reader: the whole list of a gang was compared for each consumer, which took seconds of an HTTP worker.
#[actix_web::test]
async fn the_candidates_of_a_gang_are_compared_once() {
    let mut f = fixture();
    for host in 1..=21 {
        f.host(host, 10).await.unwrap();
    }
    let asks: Vec<(u32, &str, i64)> = (1..=20).map(|host| (host, "VCPU", 1)).collect();
    let first = choice(100, Expected::New, &asks);
    let member = |consumer| ConsumerChoice {
        claim: consumer_claim(consumer, Vec::new(), Expected::New),
        ..first.clone()
    };
    let gang: Vec<ConsumerChoice> = (100..1_100).map(member).collect();
    let (plan, store) = (f.model.store.newest(), &f.model.store);
    let compared = || {
        let interrupt = Interrupt::default();
        (agrees(&plan, store, &gang, &interrupt), interrupt.spent())
    };
    f.model.submit(claim(10, 21, "VCPU", 1, Expected::New)).await.unwrap();
    assert_eq!(compared(), (true, 20));
    f.model.submit(claim(11, 1, "VCPU", 1, Expected::New)).await.unwrap();
    assert_eq!(compared(), (false, 1));
}

/// Which of the consumers get a place beside a locked provider, and whether the call waits for the row. The consumers
/// are optional.
fn decided_beside_held(process: &mut Process, held: u32, asks: &[&[(u32, &str, i64)]]) -> Option<Vec<bool>> {
    let mut consumers: Vec<ConsumerChoice> = (100..)
        .zip(asks)
        .map(|(n, asks)| choice(n, Expected::New, asks))
        .collect();
    consumers.iter_mut().for_each(|it| it.is_required = false);
    process.store.note_held(&RowNames {
        providers: [uuid(held)].into(),
        ..RowNames::default()
    });
    let command = first_of(consumers).into_command();
    dialect::begin_write(&mut process.conn).unwrap();
    let executed = process.decider.run(&mut process.conn, &[&command], true);
    dialect::rollback(&mut process.conn).unwrap();
    match executed.unwrap_or_else(|_| panic!("a conflict")).decisions.remove(0) {
        Decision::Granted(answer) => match answer.get::<ClaimAnswer>().unwrap() {
            ClaimAnswer::Claimed(outcomes) => Some(outcomes.iter().map(std::result::Result::is_ok).collect()),
            repeated => panic!("{repeated:?}"),
        },
        Decision::Held => None,
        refused => panic!("{refused:?}"),
    }
}

#[actix_web::test]
async fn a_refusal_waits_for_a_held_provider_only_if_the_provider_may_be_its_cause() {
    let mut f = fixture();
    for (host, total) in [(1, 9), (2, 1), (3, 1), (4, 9)] {
        f.host(host, total).await.unwrap();
    }
    let mut process = Process::start(&f.database, true);
    let mut decided = |asks: &[&[(u32, &str, i64)]]| decided_beside_held(&mut process, 1, asks);
    let (large, held_or_last) = ([(2, "VCPU", 2)], [(1, "VCPU", 1), (3, "VCPU", 1)]);
    // The row is no cause of the first refusal.
    assert_eq!(decided(&[&large, &held_or_last]), Some(vec![false, true]));
    // The first consumer takes the place of the second because of the row.
    assert_eq!(decided(&[&held_or_last, &[(3, "VCPU", 1)], &[(4, "VCPU", 1)]]), None);
    // The second consumer fits on the held host alone.
    assert_eq!(decided(&[&[(4, "VCPU", 1)], &[(1, "VCPU", 1), (2, "VCPU", 2)]]), None);
}

/// 64 schedulers post the same list. There is room for 40, so 40 are granted, whatever the order.
#[actix_web::test]
async fn schedulers_with_the_same_list_get_all_the_room_there_is() {
    let mut f = fixture();
    let asks: Vec<(u32, &str, i64)> = (1..=8).map(|host| (host, "VCPU", 1)).collect();
    for host in 1..=8 {
        f.host(host, 5).await.unwrap();
    }
    let commands = (100..164).map(|consumer| first_of(vec![choice(consumer, Expected::New, &asks)]));
    let answers = submit_together(commands.map(|command| (&f.model, command)).collect()).await;
    let expected = [("ClaimRefused(ClaimRefusal".to_owned(), 24), ("granted".to_owned(), 40)];
    assert_eq!(tally(answers), expected.into());
    for host in 1..=8 {
        assert_eq!(f.used(host), 5);
    }
    f.check_snapshot().await;
}
