//! Claims and the states of providers: a provider that is not up, or below such a provider, gets nothing new.

use super::choices::{choice, claimed, first_of, got, reasons, refusal};
use super::descriptions::one;
use super::replays::Rng;
use super::*;
use crate::error::ReasonCode;
use crate::model::claims::ClaimFirst;
use crate::search::ProviderState;

const NOT_UP: [ProviderState; 3] = [ProviderState::Draining, ProviderState::Off, ProviderState::Lost];
/// A host, the provider with the capacity below the host, and a second host.
const HOST: u32 = 1;
const BELOW: u32 = 2;
const OTHER: u32 = 3;

async fn tree() -> Fixture {
    let mut f = fixture();
    f.host(HOST, 10).await.unwrap();
    let below = Create {
        uuid: uuid(BELOW),
        name: "below".to_owned(),
        parent: Some(uuid(HOST)),
    };
    f.model.submit(below).await.unwrap();
    f.model.submit(adding(BELOW, "VCPU", 1000)).await.unwrap();
    f.host(OTHER, 10).await.unwrap();
    f
}

fn of_one(consumer: u32, generation: Expected, asks: &[(u32, &str, i64)]) -> ClaimFirst {
    first_of(vec![choice(consumer, generation, asks)])
}

#[actix_web::test]
async fn what_is_below_a_host_that_is_not_up_gets_nothing_new() {
    for (consumer, state) in (100..).step_by(10).zip(NOT_UP) {
        let f = tree().await;
        f.model.submit(one(HOST, None, 1, state)).await.unwrap();
        for at in [HOST, BELOW] {
            let claim = of_one(consumer, Expected::New, &[(at, "VCPU", 1)]);
            for refused in [
                f.model.submit_or_foresee(&caller(), claim.clone(), true).await,
                f.model.submit(claim).await,
            ] {
                let refusal = refusal(refused.unwrap_err());
                assert_eq!(reasons(&refusal, 0), [(ReasonCode::State, Some(0), Some(1), None)]);
                let reason = &refusal.consumers[0].reasons.kept()[0];
                assert_eq!(reason.resource_provider, Some(uuid(at)));
                assert!(reason.detail.contains(state.name()), "{}", reason.detail);
            }
        }
        let asks = [(BELOW, "VCPU", 1), (OTHER, "VCPU", 1)];
        let taken = claimed(f.model.submit(of_one(consumer, Expected::New, &asks)).await);
        assert_eq!((got(&taken[0]).0, got(&taken[0]).1), (1, uuid(OTHER)));
        f.model.submit(one(HOST, Some(1), 1, ProviderState::Up)).await.unwrap();
        let taken = claimed(f.model.submit(of_one(consumer + 1, Expected::New, &asks)).await);
        assert_eq!(got(&taken[0]).1, uuid(BELOW));
    }
}

#[actix_web::test]
async fn a_consumer_keeps_what_it_has_on_a_draining_host_and_gets_no_more() {
    let mut f = tree().await;
    claimed(f.model.submit(of_one(1, Expected::New, &[(BELOW, "VCPU", 4)])).await);
    f.model
        .submit(one(HOST, None, 1, ProviderState::Draining))
        .await
        .unwrap();
    for (generation, amount, is_granted) in [(1, 4, true), (2, 5, false), (2, 3, true), (3, 4, false)] {
        let claim = of_one(1, Expected::Is(generation), &[(BELOW, "VCPU", amount)]);
        assert_eq!(f.model.submit(claim).await.is_ok(), is_granted, "{generation} {amount}");
    }
    assert_eq!(f.used(BELOW), 3);
}

/// OpenStack's routes know no states. `docs/providers.md` describes how Nova is kept away.
#[actix_web::test]
async fn a_plain_claim_takes_from_a_draining_host() {
    let f = tree().await;
    f.model
        .submit(one(HOST, None, 1, ProviderState::Draining))
        .await
        .unwrap();
    f.model.submit(claim(1, BELOW, "VCPU", 1, Expected::New)).await.unwrap();
}

/// The generations of all providers below move, so the guards of concurrent claims fail.
#[actix_web::test]
async fn only_a_change_from_up_to_another_state_moves_the_generations_below() {
    let mut f = tree().await;
    // Every later description has the same domains.
    f.model.submit(one(HOST, None, 1, ProviderState::Up)).await.unwrap();
    let changes = [
        (ProviderState::Up, 0),
        (ProviderState::Draining, 1),
        (ProviderState::Lost, 1),
        (ProviderState::Up, 1),
        (ProviderState::Off, 2),
    ];
    let before = [f.generation(BELOW), f.generation(OTHER)];
    for (known, (state, moves)) in (1..).zip(changes) {
        f.model.submit(one(HOST, Some(known), 2, state)).await.unwrap();
        assert_eq!(
            [f.generation(BELOW), f.generation(OTHER)],
            [before[0] + moves, before[1]]
        );
    }
    f.check_snapshot().await;
}

/// Plans of workloads rest on domains.
#[actix_web::test]
async fn other_domains_of_a_host_move_its_generation_and_those_below_it() {
    let mut f = tree().await;
    let before = [HOST, BELOW, OTHER].map(|it| f.generation(it));
    // A domain of a provider below the host is in no rule.
    f.model.submit(one(BELOW, None, 1, ProviderState::Up)).await.unwrap();
    for (generation, path, moves) in [(None, "fd:/a", 1), (Some(1), "fd:/a", 1), (Some(1), "fd:/b", 2)] {
        let mut host = one(HOST, generation, 1, ProviderState::Up);
        let domains = [("fault".into(), path.into())];
        host.providers[0].description.domains = domains.into();
        f.model.submit(host).await.unwrap();
        assert_eq!(
            [HOST, BELOW, OTHER].map(|it| f.generation(it)),
            [before[0] + moves, before[1] + moves, before[2]]
        );
    }
    f.check_snapshot().await;
}

/// A claim on rows reads the states after locking the providers.
#[actix_web::test]
async fn a_claim_that_is_decided_on_rows_reads_the_states_of_all_providers_above() {
    let mut f = tree().await;
    f.model.submit(one(HOST, None, 1, ProviderState::Up)).await.unwrap();
    f.execute("UPDATE placet_descriptions SET state = 'draining'");
    f.model.store.note_foreign_commit();
    let refused = f.model.submit(of_one(1, Expected::Any, &[(BELOW, "VCPU", 1)])).await;
    assert_eq!(
        reasons(&refusal(refused.unwrap_err()), 0),
        [(ReasonCode::State, Some(0), Some(1), None)]
    );
    assert_eq!(f.used(BELOW), 0);
}

/// Every granted claim raises the provider's generation by one, and so does the change of the state. So the change is
/// the last move exactly if no claim was granted later.
#[actix_web::test]
async fn no_claim_is_granted_after_the_state_changed() {
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let mut f = tree().await;
        let peer = f.start_peer();
        let models = [&f.model, peer.as_ref().map_or(&f.model, |(peer, _)| peer)].map(Model::clone);
        let before = f.generation(BELOW);
        let changes_at = rng.below(60) as u32;
        let mut claims = Vec::new();
        let mut change = None;
        for n in 0..64 {
            if n == changes_at {
                let model = models[1].clone();
                let draining = one(HOST, None, 1, ProviderState::Draining);
                change = Some(actix_web::rt::spawn(async move { model.submit(draining).await }));
            }
            let model = models[rng.below(2) as usize].clone();
            let generation = if rng.below(4) == 0 {
                Expected::Any
            } else {
                Expected::New
            };
            let claim = of_one(n, generation, &[(BELOW, "VCPU", 1)]);
            claims.push(actix_web::rt::spawn(async move { model.submit(claim).await }));
            if rng.below(8) == 0 {
                actix_web::rt::time::sleep(std::time::Duration::from_micros(rng.below(3000))).await;
            }
        }
        change.expect("a change").await.unwrap().unwrap();
        let (mut granted, mut last) = (0, before);
        for claim in claims {
            match claim.await.unwrap() {
                Ok(answer) => {
                    granted += 1;
                    last = last.max(got(&claimed(Ok(answer))[0]).2);
                }
                Err(error) => {
                    let refused = reasons(&refusal(error), 0);
                    assert_eq!(refused, [(ReasonCode::State, Some(0), Some(1), None)], "seed {seed}");
                }
            }
        }
        assert_eq!(
            (f.used(BELOW), f.generation(BELOW)),
            (granted, before + granted + 1),
            "seed {seed}"
        );
        assert_eq!(
            last,
            before + granted,
            "seed {seed}: a claim was granted after the change"
        );
        f.check_snapshot().await;
    }
}

/// Found by a reader: the look for a state above did not end.
#[actix_web::test]
async fn a_provider_in_a_cycle_of_parents_that_a_foreign_writer_left_has_a_state() {
    let mut f = tree().await;
    f.model
        .submit(one(OTHER, None, 1, ProviderState::Draining))
        .await
        .unwrap();
    let below = f.number(&format!(
        "SELECT id AS n FROM resource_providers WHERE uuid = '{}'",
        uuid(BELOW)
    ));
    f.execute(&format!(
        "UPDATE resource_providers SET parent_provider_id = {below}, generation = generation + 1 WHERE uuid = '{}'",
        uuid(HOST)
    ));
    let claim = of_one(100, Expected::New, &[(BELOW, "VCPU", 1), (OTHER, "VCPU", 1)]);
    let taken = claimed(f.model.submit(claim).await);
    assert_eq!(got(&taken[0]).1, uuid(BELOW));
}
