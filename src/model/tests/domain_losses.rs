//! The loss of a domain beside each way to place the consumers elsewhere, on small clouds.

use super::replays::Rng;
use super::workloads::describe;
use super::*;
use crate::model::capacity::loss::{LossReport, loss};
use crate::search::{Domain, ProviderState, SearchSettings};

/// The first host is lost. The consumers of the first host have these sizes, and the other hosts this room.
struct Cloud {
    sizes: Vec<i64>,
    room: Vec<i64>,
}

/// Up to six consumers of the lost host, of one size if `are_equal`, and one to three other hosts.
fn cloud(seed: u64, are_equal: bool) -> Cloud {
    let mut rng = Rng::new(seed);
    let mut numbers = |from: u64, to: u64, count: u64| -> Vec<i64> {
        let any = std::iter::repeat_with(|| (from + rng.below(to - from + 1)) as i64);
        any.take(count as usize).collect()
    };
    let consumers = numbers(1, 6, 1)[0] as u64;
    let mut sizes = numbers(1, 5, consumers);
    if are_equal {
        sizes.fill(numbers(1, 5, 1)[0]);
    }
    let hosts = numbers(1, 3, 1)[0] as u64;
    let room = numbers(0, 9, hosts);
    Cloud { sizes, room }
}

async fn lost(cloud: &Cloud) -> LossReport {
    let mut f = fixture();
    f.host(1, 100).await.unwrap();
    describe(&f.model, 1, None, ("rack1", "-"), ProviderState::Up).await;
    for (host, room) in (2..).zip(&cloud.room) {
        f.host(host, 20).await.unwrap();
        describe(&f.model, host, None, ("rack2", "-"), ProviderState::Up).await;
        use_host(&f, 100 + host, host, 20 - room).await;
    }
    for (consumer, size) in (200..).zip(&cloud.sizes) {
        use_host(&f, consumer, 1, *size).await;
    }
    let domain = Domain {
        dimension: "fault".into(),
        path: "rack1".into(),
    };
    loss(&f.model, domain, SearchSettings::uncut(7), &caller())
        .await
        .unwrap()
}

async fn use_host(f: &Fixture, consumer: u32, host: u32, amount: i64) {
    let claim = claim(consumer, host, "VCPU", amount, Expected::New);
    f.model.submit(claim).await.unwrap();
}

/// The greatest number of consumers with a place, of all ways to place some consumers.
fn most_placed(sizes: &[i64], room: &mut Vec<i64>) -> usize {
    let Some((size, rest)) = sizes.split_first() else {
        return 0;
    };
    let mut most = most_placed(rest, room);
    for host in 0..room.len() {
        if room[host] >= *size {
            room[host] -= size;
            most = most.max(1 + most_placed(rest, room));
            room[host] += size;
        }
    }
    most
}

#[actix_web::test]
async fn consumers_of_one_size_are_placed_while_any_host_has_room() {
    for seed in 0..60 {
        let cloud = cloud(seed, true);
        let report = lost(&cloud).await;
        let most = most_placed(&cloud.sizes, &mut cloud.room.clone());
        assert_eq!(
            (report.consumers, report.placed),
            (cloud.sizes.len(), most),
            "seed {seed}"
        );
        assert_eq!(report.without_place.len(), cloud.sizes.len() - most, "seed {seed}");
    }
}

/// The largest consumer comes first. So more consumers may have no place than in the best way.
#[actix_web::test]
async fn consumers_of_several_sizes_are_placed_as_claims_could_place_them() {
    let mut at_best = 0;
    for seed in 0..120 {
        let cloud = cloud(seed, false);
        let report = lost(&cloud).await;
        let most = most_placed(&cloud.sizes, &mut cloud.room.clone());
        assert!(report.placed <= most, "seed {seed}: {report:?}");
        assert_eq!(
            report.placed + report.without_place.len(),
            cloud.sizes.len(),
            "seed {seed}"
        );
        // The consumers with a place fit together, and leave no room for a consumer without a place.
        let mut left = cloud.sizes.clone();
        for consumer in &report.without_place {
            let size = consumer.amounts[0].1;
            let at = left.iter().position(|it| *it == size).unwrap();
            left.remove(at);
        }
        assert_eq!(
            most_placed(&left, &mut cloud.room.clone()),
            report.placed,
            "seed {seed}: the placed ones fit together"
        );
        let smallest = report.without_place.iter().map(|consumer| consumer.amounts[0].1).min();
        let free = cloud.room.iter().sum::<i64>() - left.iter().sum::<i64>();
        let hosts = cloud.room.len() as i64;
        assert!(
            smallest.is_none_or(|size| free <= hosts * (size - 1)),
            "seed {seed}: {report:?}"
        );
        at_best += usize::from(report.placed == most);
    }
    assert!(at_best >= 90, "of 120 clouds, {at_best} have as many placed as can be");
}

/// Adds the pool 9, which shares disks with these hosts.
async fn add_pool(f: &mut Fixture, hosts: &[u32]) {
    f.host(9, 1).await.unwrap();
    f.model.submit(adding(9, "DISK_GB", 100)).await.unwrap();
    let shares = crate::model::traits::Replace {
        provider: uuid(9),
        generation: f.generation(9),
        traits: vec!["MISC_SHARES_VIA_AGGREGATE".to_owned()],
    };
    f.model.submit(shares).await.unwrap();
    for provider in hosts.iter().chain(&[9]) {
        let join = crate::model::aggregates::Replace {
            provider: uuid(*provider),
            aggregates: vec![uuid(700)],
            generation: None,
        };
        f.model.submit(join).await.unwrap();
    }
}

/// The disk of the consumer stays on the pool, which shares with the first host and one host outside of the domain.
#[actix_web::test]
async fn a_consumer_with_amounts_on_a_pool_finds_a_place_in_reach_of_the_pool_alone() {
    for (in_reach, room, placed) in [(2, 4, 1), (2, 0, 0), (3, 4, 1)] {
        let mut f = fixture();
        for (host, rack, total) in [(1, "rack1", 20), (2, "rack2", room + 1), (3, "rack2", 20)] {
            f.host(host, total).await.unwrap();
            describe(&f.model, host, None, (rack, "-"), ProviderState::Up).await;
        }
        use_host(&f, 102, 2, 1).await;
        add_pool(&mut f, &[1, in_reach]).await;
        let mut claim = claim(200, 1, "VCPU", 4, Expected::New);
        let on_pool = (uuid(9), vec![("DISK_GB".to_owned(), 10)]);
        claim.consumers[0].allocations.push(on_pool);
        f.model.submit(claim).await.unwrap();
        let domain = Domain {
            dimension: "fault".into(),
            path: "rack1".into(),
        };
        let report = loss(&f.model, domain, SearchSettings::uncut(7), &caller())
            .await
            .unwrap();
        assert_eq!(
            (report.consumers, report.placed),
            (1, placed),
            "host {in_reach}, room {room}"
        );
    }
}
