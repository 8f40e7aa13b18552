//! Domains of hosts do not change below replicas with a spread over the domains, unless the change is forced.

use std::cell::RefCell;

use super::super::replays::Rng;
use super::planned_domains::domain;
use super::*;

/// Workload 901 is spread over `fault`, 902 over nothing. Returns a host of each.
async fn occupied() -> (Fixture, u32, u32) {
    let f = cluster(&SITES).await;
    let spread = place(&f.model, stored(901, None, "1 even")).await.unwrap();
    let first = *hosts(&spread).first().unwrap();
    let free = format!("1 free Number != {first}");
    let free = place(&f.model, stored(902, None, &free)).await.unwrap();
    let second = *hosts(&free).first().unwrap();
    (f, first, second)
}

fn moved(host: u32, generation: i64, at: (&str, &str)) -> DescribeAll {
    description(host, Some(generation), at, ProviderState::Up)
}

fn at(host: u32) -> (&'static str, &'static str) {
    SITES[host as usize - 1]
}

fn in_use(refused: Error) -> Vec<(Option<String>, Option<String>)> {
    let Error::DomainInUse { reasons } = refused else {
        panic!("{refused:?}");
    };
    assert!(reasons.are_all(ReasonCode::DomainInUse));
    let reasons = reasons.kept().iter();
    reasons
        .map(|it| (it.resource_provider.clone(), it.domain.clone()))
        .collect()
}

#[actix_web::test]
async fn c13_a_domain_in_which_spread_replicas_stand_stays_unless_forced() {
    let (mut f, host, free) = occupied().await;
    let (fault, upgrade) = at(host);
    let expected = [(Some(uuid(host)), Some(format!("fault:{fault}")))];
    let refused = f.model.submit(moved(host, 1, ("fd:/z", upgrade))).await.unwrap_err();
    assert_eq!(in_use(refused), expected);
    let refused = f
        .model
        .submit_or_foresee(&caller(), moved(host, 1, ("-", upgrade)), true)
        .await
        .unwrap_err();
    assert_eq!(
        in_use(refused),
        expected,
        "a dry run is refused too, and so is a domain that goes"
    );
    let mut both = moved(free, 1, ("fd:/z", "9"));
    both.providers.extend(moved(host, 1, ("fd:/z", upgrade)).providers);
    both.is_list = true;
    assert_eq!(
        in_use(f.model.submit(both).await.unwrap_err()),
        expected,
        "none of a list"
    );
    // A different dimension, a different state, and a host without such a workload.
    f.model.submit(moved(host, 1, (fault, "9"))).await.unwrap();
    f.model.submit(moved(free, 1, ("fd:/z", "9"))).await.unwrap();
    describe(&f.model, host, Some(2), (fault, "9"), ProviderState::Draining).await;
    let mut forced = moved(host, 3, ("fd:/z", "9"));
    forced.is_forced = true;
    f.model.submit(forced).await.unwrap();
    // Nothing stands there any more.
    delete(&f.model, &uuid(901), None, Delete::default(), &caller())
        .await
        .unwrap();
    f.model.submit(moved(host, 4, ("fd:/y", "9"))).await.unwrap();
    f.check_snapshot().await;
}

#[actix_web::test]
async fn the_default_rule_is_about_fault_and_upgrade() {
    let f = cluster(&SITES).await;
    let report = place(&f.model, put(WORKLOAD, None, spec(1, None))).await.unwrap();
    let host = *hosts(&report).first().unwrap();
    let refused = f.model.submit(moved(host, 1, ("fd:/z", "9"))).await.unwrap_err();
    assert_eq!(in_use(refused).len(), 2);
}

#[actix_web::test]
async fn a_replica_below_the_host_holds_its_domains_too() {
    let mut f = cluster(&SITES[..1]).await;
    let below = Create {
        uuid: uuid(50),
        name: "below".to_owned(),
        parent: Some(uuid(1)),
    };
    f.model.submit(below).await.unwrap();
    f.model.submit(adding(50, "VCPU", 10)).await.unwrap();
    f.model
        .submit(super::super::claim(1, 50, "VCPU", 1, Expected::New))
        .await
        .unwrap();
    let mut adopt = stored(901, None, "1 even");
    adopt.adopted = vec![Adopted {
        consumer: uuid(1),
        id: None,
        role: None,
    }];
    place(&f.model, adopt).await.unwrap();
    let refused = f.model.submit(moved(1, 1, ("fd:/z", "1"))).await.unwrap_err();
    assert_eq!(in_use(refused).len(), 1);
    // A domain of the child is no domain of the host.
    let child = description(50, None, ("fd:/z", "1"), ProviderState::Up);
    f.model.submit(child).await.unwrap();
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_peer_that_describes_sees_the_replica_that_was_acknowledged() {
    let f = cluster(&SITES).await;
    let Some((peer, _running)) = f.start_peer() else {
        return;
    };
    for n in 901..921 {
        let report = place(&f.model, stored(n, None, "1 even")).await.unwrap();
        let host = *hosts(&report).first().unwrap();
        let refused = peer.submit(moved(host, 1, ("fd:/z", at(host).1))).await.unwrap_err();
        assert_eq!(in_use(refused).len(), 1);
        delete(&peer, &uuid(n), None, Delete::default(), &caller())
            .await
            .unwrap();
    }
}

#[actix_web::test]
async fn the_first_domain_of_a_host_is_no_change_under_the_default_rule() {
    let f = cluster(&[("-", "-"), ("-", "-")]).await;
    place(&f.model, put(WORKLOAD, None, spec(2, None))).await.unwrap();
    f.model.submit(moved(1, 1, ("fd:/a", "1"))).await.unwrap();
    let refused = f.model.submit(moved(1, 2, ("fd:/b", "1"))).await.unwrap_err();
    assert_eq!(in_use(refused), [(Some(uuid(1)), Some("fault:fd:/a".to_owned()))]);
}

/// Acknowledged placements, by a clock which each event advances.
#[derive(Default)]
struct Log {
    clock: u64,
    standing: Vec<Stay>,
}

struct Stay {
    host: u32,
    placed: u64,
    /// When the release was sent.
    leaving: Option<u64>,
}

impl Log {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Whether a replica stood on a host all the time between two moments.
    fn stood(&self, host: u32, began: u64, ended: u64) -> bool {
        let mut on_host = self.standing.iter().filter(|it| it.host == host);
        on_host.any(|it| it.placed < began && it.leaving.is_none_or(|leaving| leaving > ended))
    }
}

/// Places and deletes workloads of its own, and describes hosts of all clients. Returns the numbers of granted and of
/// refused changes.
async fn run(model: &Model, seed: u64, first: u32, log: &RefCell<Log>) -> (u32, u32) {
    let mut rng = Rng::new(seed);
    let (mut own, mut granted, mut refused) = (Vec::new(), 0, 0);
    for n in first..first + 40 {
        match rng.below(4) {
            0 => {
                let report = match place(model, stored(n, None, "2 one-each")).await {
                    // All hosts are in a single domain.
                    Err(Error::NoPlace { .. }) => continue,
                    placed => placed.unwrap(),
                };
                let placed = log.borrow_mut().tick();
                let mut log = log.borrow_mut();
                let first = log.standing.len();
                log.standing.extend(hosts(&report).into_iter().map(|host| Stay {
                    host,
                    placed,
                    leaving: None,
                }));
                own.push((n, first..log.standing.len()));
            }
            1 => {
                let Some((n, stays)) = own.pop() else { continue };
                let now = log.borrow_mut().tick();
                for stay in &mut log.borrow_mut().standing[stays] {
                    stay.leaving = Some(now);
                }
                delete(model, &uuid(n), None, Delete::default(), &caller())
                    .await
                    .unwrap();
            }
            _ => {
                let host = 1 + rng.below(6) as u32;
                let described = crate::model::providers::fetch(model.reader(false), uuid(host)).await;
                let known = described.unwrap().generation.unwrap();
                let path = format!("fd:/{}", rng.below(4));
                let began = log.borrow_mut().tick();
                let answer = model.submit(moved(host, known, (&path, at(host).1))).await;
                let ended = log.borrow_mut().tick();
                match answer {
                    Ok(described) if described[0].generation > Some(known) => {
                        granted += 1;
                        assert!(
                            !log.borrow().stood(host, began, ended),
                            "seed {seed}: host {host} was in use"
                        );
                    }
                    Ok(_) | Err(Error::StaleDescriptions { .. }) => {}
                    Err(error) => refused += in_use(error).len() as u32,
                }
            }
        }
    }
    (granted, refused)
}

/// Whether the workload exists. If so, its replicas are in different domains: no request was forced.
async fn stands_in_two_domains(model: &Model, n: u32, seed: u64) -> bool {
    let Ok(stored) = fetch(model.reader(false), uuid(n)).await else {
        return false;
    };
    let shares = stored.replicas.iter().flat_map(|it| &it.allocations);
    let mut domains = BTreeSet::new();
    for host in shares.map(|share| share.provider[24..].parse().unwrap()) {
        domains.insert(domain(model, host, "fault").await);
    }
    assert_eq!(domains.len(), 2, "seed {seed}: workload {n} is in {domains:?}");
    true
}

#[actix_web::test]
async fn no_domain_changes_while_a_replica_stands_there_all_the_time() {
    let seeds = std::env::var("PLACET_SEEDS").ok().and_then(|it| it.parse().ok());
    let (mut granted, mut refused, mut standing) = (0, 0, 0);
    for seed in 0..seeds.unwrap_or(4) {
        println!("seed {seed}");
        let mut f = cluster(&SITES).await;
        let peer = f.start_peer();
        let counts = {
            let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
            let log = RefCell::new(Log::default());
            let (one, two, three) = tokio::join!(
                run(&f.model, seed * 10 + 1, 1_000, &log),
                run(other, seed * 10 + 2, 2_000, &log),
                run(&f.model, seed * 10 + 3, 3_000, &log),
            );
            [one, two, three]
        };
        granted += counts.iter().map(|it| it.0).sum::<u32>();
        refused += counts.iter().map(|it| it.1).sum::<u32>();
        for n in [1_000, 2_000, 3_000].into_iter().flat_map(|first| first..first + 40) {
            standing += u32::from(stands_in_two_domains(&f.model, n, seed).await);
        }
        f.check_snapshot().await;
    }
    assert!(
        granted > 0 && refused > 0 && standing > 0,
        "{granted} granted, {refused} refused, {standing} workloads"
    );
}
