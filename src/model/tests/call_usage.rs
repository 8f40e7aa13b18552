//! Calls for several consumers on providers that are full, or used beyond the capacity or beyond a normal limit. A call
//! may keep such a usage, and never raises the usage.

mod random_gangs;

use std::collections::BTreeMap;

use super::choices::{choice, claimed, first_of, reasons, refusal};
use super::process::{Process, claim_command};
use super::*;
use crate::error::ReasonCode;
use crate::model::batch::command::{Command, Write};
use crate::model::claims::{Candidates, ClaimAnswer, ClaimCandidate, ConsumerChoice, Limits};
use crate::model::limits::Set;

/// A required consumer with one candidate of these amounts.
pub(super) fn fixed(consumer: u32, generation: Expected, asks: &[(u32, &str, i64)]) -> ConsumerChoice {
    ConsumerChoice {
        candidates: Candidates::all([candidate(asks)].into()),
        ..choice(consumer, generation, &[])
    }
}

fn candidate(asks: &[(u32, &str, i64)]) -> ClaimCandidate {
    let mut allocations: BTreeMap<u32, Vec<(String, i64)>> = BTreeMap::new();
    for (provider, class, amount) in asks {
        let amounts = allocations.entry(*provider).or_default();
        amounts.push(((*class).to_owned(), *amount));
    }
    let allocations = allocations.into_iter();
    ClaimCandidate {
        allocations: allocations
            .map(|(provider, amounts)| (uuid(provider), amounts))
            .collect(),
        mappings: None,
    }
}

/// Two consumers in one of both orders.
pub(super) fn pair(giver: ConsumerChoice, taker: ConsumerChoice, is_giver_first: bool) -> Vec<ConsumerChoice> {
    if is_giver_first {
        vec![giver, taker]
    } else {
        vec![taker, giver]
    }
}

/// Sets the total of an inventory, as another program may: below the usage, too.
pub(super) fn set_total(f: &mut Fixture, provider: u32, class: &str, total: i64) {
    let changed = f.execute(&format!(
        "UPDATE inventories SET total = {total} WHERE resource_provider_id = (SELECT id FROM resource_providers WHERE \
         uuid = '{}') AND resource_class_id = (SELECT id FROM resource_classes WHERE name = '{class}')",
        uuid(provider)
    ));
    assert_eq!(changed, 1);
    comparisons::compare(&f.model, 0, 1000).unwrap();
}

/// Hosts 1, 2, …, by host the usage of consumer 1, 2, … and the total.
async fn used_hosts(hosts: &[(i32, i64)]) -> Fixture {
    let mut f = fixture();
    for (n, (used, total)) in (1..).zip(hosts) {
        f.host(n, *used).await.unwrap();
        let claim = claim(n, n, "VCPU", i64::from(*used), Expected::New);
        f.model.submit(claim).await.unwrap();
        set_total(&mut f, n, "VCPU", *total);
    }
    f
}

/// Sets the normal limit of VCPU to four fifths of the capacity.
async fn keep_a_fifth(model: &Model) {
    let limit = Set {
        class: "VCPU".to_owned(),
        generation: None,
        normal: Some("0.2".parse().unwrap()),
    };
    model.submit(limit).await.unwrap();
}

#[actix_web::test]
async fn found_p8_a_refusal_counts_the_amounts_of_later_consumers_as_free() {
    for (total, free) in [(16, 8), (10, 2)] {
        let mut f = used_hosts(&[(16, total)]).await;
        for is_giver_first in [true, false] {
            let giver = fixed(1, Expected::Is(1), &[(1, "VCPU", 8)]);
            let taker = fixed(2, Expected::New, &[(1, "VCPU", 9)]);
            let call = first_of(pair(giver, taker, is_giver_first));
            let refused = refusal(f.model.submit(call).await.unwrap_err());
            let expected = [(ReasonCode::NoRoom, Some(0), Some(9), Some(free))];
            assert_eq!(reasons(&refused, usize::from(is_giver_first)), expected);
            assert_eq!(f.used(1), 16);
        }
    }
}

#[actix_web::test]
async fn found_p8_consumers_in_a_chain_take_the_room_of_each_other_in_any_order() {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in ORDERS {
        let mut f = used_hosts(&[(16, 10), (8, 4)]).await;
        // Consumer 1 gives room to consumer 2, which gives its room on host 2 to consumer 3.
        let call = |second: i64, third: i64| {
            let chain = [
                fixed(1, Expected::Is(1), &[(1, "VCPU", 8)]),
                fixed(2, Expected::Is(1), &[(1, "VCPU", second)]),
                fixed(3, Expected::New, &[(2, "VCPU", third)]),
            ];
            first_of(order.map(|at| chain[at].clone()).into())
        };
        for (second, third) in [(9, 8), (8, 9)] {
            let refused = f.model.submit(call(second, third)).await;
            assert!(
                matches!(refused, Err(Error::ClaimRefused(_))),
                "{order:?}: {second}, {third}"
            );
            assert_eq!((f.used(1), f.used(2)), (16, 8), "{order:?}");
        }
        claimed(f.model.submit(call(8, 8)).await);
        assert_eq!((f.used(1), f.used(2)), (16, 8), "{order:?}");
        f.check_snapshot().await;
    }
}

#[actix_web::test]
async fn found_p8_beside_a_class_that_is_over_another_class_keeps_its_capacity() {
    for is_giver_first in [true, false] {
        let mut f = used_hosts(&[(16, 16)]).await;
        f.model.submit(adding(1, "MEMORY_MB", 100)).await.unwrap();
        let both = vec![(1, "VCPU", 16), (1, "MEMORY_MB", 40)];
        let claim = claim_of(vec![consumer_claim(1, both, Expected::Is(1))]);
        f.model.submit(claim).await.unwrap();
        set_total(&mut f, 1, "VCPU", 10);
        let call = |vcpu: i64, memory: i64| {
            let giver = fixed(1, Expected::Is(2), &[(1, "VCPU", 8), (1, "MEMORY_MB", 30)]);
            let taker = fixed(2, Expected::New, &[(1, "VCPU", vcpu), (1, "MEMORY_MB", memory)]);
            first_of(pair(giver, taker, is_giver_first))
        };
        for (vcpu, memory, short, free) in [(8, 71, "MEMORY_MB", 70), (9, 70, "VCPU", 2)] {
            let refused = refusal(f.model.submit(call(vcpu, memory)).await.unwrap_err());
            let reason = &refused.consumers[usize::from(is_giver_first)].reasons.kept()[0];
            assert_eq!(
                (reason.resource_class.as_deref(), reason.free),
                (Some(short), Some(free))
            );
            assert_eq!(f.used(1), 16 + 40);
        }
        claimed(f.model.submit(call(8, 70)).await);
        assert_eq!(f.used(1), 16 + 100);
        f.check_snapshot().await;
    }
}

#[actix_web::test]
async fn found_p8_a_gang_keeps_a_usage_over_the_normal_limit() {
    for is_giver_first in [true, false] {
        let mut f = used_hosts(&[(90, 100)]).await;
        keep_a_fifth(&f.model).await;
        let call = |amount: i64| {
            let giver = fixed(1, Expected::Is(1), &[(1, "VCPU", 70)]);
            let taker = fixed(2, Expected::New, &[(1, "VCPU", amount)]);
            first_of(pair(giver, taker, is_giver_first))
        };
        let refused = refusal(f.model.submit(call(21)).await.unwrap_err());
        let expected = [(ReasonCode::NoRoomNormal, Some(0), Some(21), Some(10))];
        assert_eq!(reasons(&refused, usize::from(is_giver_first)), expected);
        let placed = claimed(f.model.submit(call(20)).await);
        assert!(placed.iter().all(|it| it.over_normal.is_empty()), "{placed:?}");
        assert_eq!(f.used(1), 90);
        f.check_snapshot().await;
    }
}

/// Found by a reader: the growth of the excess was compared with a usage that included the amounts of a later release,
/// which a claim before had taken already. So the growth was negative, and the worse candidate was taken.
#[actix_web::test]
async fn found_p8_the_least_excess_is_taken_after_a_claim_that_used_a_later_release() {
    let mut f = used_hosts(&[(50, 100), (78, 100), (40, 100)]).await;
    let giver = claim(4, 1, "VCPU", 40, Expected::New);
    f.model.submit(giver).await.unwrap();
    keep_a_fifth(&f.model).await;
    // 95 on host 1 is 5 more over the limit of 80 than now, and 83 on host 2 is 3 more.
    let over = ConsumerChoice {
        limits: Limits::NormalFirst,
        ..choice(6, Expected::New, &[(1, "VCPU", 5), (2, "VCPU", 5)])
    };
    let call = first_of(vec![
        fixed(5, Expected::New, &[(1, "VCPU", 40)]),
        over,
        fixed(4, Expected::Is(1), &[(3, "VCPU", 40)]),
    ]);
    let placed = claimed(f.model.submit(call).await);
    assert_eq!((placed[1].candidate, placed[1].over_normal.len()), (1, 1));
    assert!(placed[0].over_normal.is_empty() && placed[2].over_normal.is_empty());
    assert_eq!((f.used(1), f.used(2), f.used(3)), (90, 83, 80));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn found_p8_each_call_of_a_batch_keeps_the_usage_before_this_call() {
    let is = Expected::Is;
    for from_database in [false, true] {
        let mut f = used_hosts(&[(16, 10)]).await;
        let mut process = Process::start(&f.database, true);
        let call = |consumers: &[(u32, Expected, i64)]| {
            let consumers = consumers.iter();
            let consumers = consumers.map(|(n, known, amount)| fixed(*n, known.clone(), &[(1, "VCPU", *amount)]));
            first_of(consumers.collect()).into_command()
        };
        let commands: [(Command, bool); 8] = [
            (call(&[(2, Expected::New, 9), (1, is(1), 8)]), false),
            (call(&[(2, Expected::New, 8), (1, is(1), 8)]), true),
            (claim_command(3, 1, 1), false),
            (call(&[(4, Expected::New, 4), (2, is(1), 4)]), true),
            // The generation of consumer 1 has moved.
            (call(&[(5, Expected::New, 7), (1, is(1), 1)]), false),
            // 9 are used after this call.
            (call(&[(1, is(2), 4), (4, is(1), 1)]), true),
            (claim_command(6, 1, 1), true),
            (claim_command(7, 1, 1), false),
        ];
        let named: Vec<&Command> = commands.iter().map(|(command, _)| command).collect();
        let (answers, pending) = process.commit(&named, from_database).unwrap().unwrap();
        process.publish(pending);
        let granted: Vec<bool> = answers.iter().map(std::result::Result::is_ok).collect();
        let expected: Vec<bool> = commands.iter().map(|(_, is_granted)| *is_granted).collect();
        assert_eq!((granted, f.used(1)), (expected, 10));
        process.check();
    }
}

#[actix_web::test]
async fn found_p8_a_giver_that_fails_refuses_the_whole_call_and_nothing_is_written() {
    let mut f = used_hosts(&[(16, 10), (4, 4)]).await;
    let failing = [
        fixed(1, Expected::Is(7), &[(1, "VCPU", 8)]),
        fixed(1, Expected::Is(1), &[(2, "VCPU", 8)]),
        fixed(1, Expected::Is(1), &[(9, "VCPU", 8)]),
        fixed(1, Expected::Is(1), &[(1, "DISK_GB", 8)]),
    ];
    let tables = |f: &mut Fixture| {
        let consumers = f.number("SELECT COUNT(*) AS n FROM consumers");
        let generations = f.number("SELECT SUM(generation) AS n FROM consumers");
        let of_hosts = [1, 2].map(|host| (f.used(host), f.generation(host)));
        (consumers, generations, of_hosts)
    };
    let before = tables(&mut f);
    for (giver, is_giver_first) in failing.iter().flat_map(|giver| [(giver, true), (giver, false)]) {
        let taker = fixed(3, Expected::New, &[(1, "VCPU", 8)]);
        let call = first_of(pair(giver.clone(), taker, is_giver_first));
        let refused = refusal(f.model.submit(call).await.unwrap_err());
        let is_refused = [0, 1].map(|at| !reasons(&refused, at).is_empty());
        // A taker before the giver counts on the giver, and would have got a place.
        assert_eq!(is_refused, [is_giver_first, true], "{giver:?}");
        assert_eq!(tables(&mut f), before, "{giver:?}");
    }
    f.check_snapshot().await;
}

#[actix_web::test]
async fn found_p8_a_consumer_that_may_keep_its_amounts_releases_none_before_its_claim() {
    let mut f = used_hosts(&[(16, 10)]).await;
    let taker = fixed(2, Expected::New, &[(1, "VCPU", 8)]);
    // The consumer may get the second candidate, with a smaller release.
    let undecided = choice(1, Expected::Is(1), &[(1, "VCPU", 8), (1, "VCPU", 9)]);
    let call = first_of(vec![taker.clone(), undecided]);
    let refused = refusal(f.model.submit(call).await.unwrap_err());
    assert!(refused.consumers[0].reasons.has(ReasonCode::NoRoom));
    assert_eq!(f.used(1), 16);
    // Without `atomic` the consumer may be refused alone.
    let optional = |consumer: ConsumerChoice| ConsumerChoice {
        is_required: false,
        ..consumer
    };
    let giver = fixed(1, Expected::Is(1), &[(1, "VCPU", 8)]);
    let call = first_of(vec![optional(taker), optional(giver)]);
    let Ok(ClaimAnswer::Claimed(outcomes)) = f.model.submit(call).await else {
        panic!("the giver has a place");
    };
    let granted: Vec<bool> = outcomes.iter().map(std::result::Result::is_ok).collect();
    assert_eq!((granted, f.used(1)), (vec![false, true], 8));
    f.check_snapshot().await;
}
