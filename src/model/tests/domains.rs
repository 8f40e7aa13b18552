//! The domains of hosts, with the figures of Service Fabric's documentation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;

use super::workloads::{cluster, describe, place, put, role, spec, spread};
use super::*;
use crate::model::domains::{self, DomainReport, Page};
use crate::placing::Mode;
use crate::search::{HostConditions, Interrupt, ProviderState};

async fn domains(f: &Fixture, dimension: &str) -> Vec<DomainReport> {
    pages(f, dimension, 1_000).await.concat()
}

/// The domains of a dimension, with the hosts for which the condition is true.
pub(super) async fn domains_of(model: &Model, dimension: &str, condition: &str) -> Vec<DomainReport> {
    let page = Page {
        of_hosts: HostConditions {
            condition: Arc::new(condition.parse().unwrap()),
            ..HostConditions::default()
        },
        ..page(dimension, 1_000, None)
    };
    domains::list(model, page, &caller()).await.unwrap().0
}

/// The first page of a dimension.
pub(super) fn all_domains(dimension: &str) -> Page {
    page(dimension, 1_000, None)
}

fn page(dimension: &str, limit: usize, after: Option<String>) -> Page {
    Page {
        dimension: dimension.to_owned(),
        of_hosts: HostConditions::default(),
        limit,
        after,
    }
}

/// All pages of at most `limit` domains.
async fn pages(f: &Fixture, dimension: &str, limit: usize) -> Vec<Vec<DomainReport>> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let (found, next) = domains::list(&f.model, page(dimension, limit, after), &caller())
            .await
            .unwrap();
        pages.push(found);
        if next.is_none() {
            return pages;
        }
        after = next;
    }
}

#[actix_web::test]
async fn e4_of_seven_hosts_dealt_to_five_domains_the_first_two_are_heavy() {
    let paths: Vec<String> = (0..7).map(|n| format!("fd{}", n % 5)).collect();
    let at: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "-")).collect();
    let f = cluster(&at).await;
    let found = domains(&f, "fault").await;
    assert_eq!(found.iter().map(|it| it.hosts).collect::<Vec<_>>(), [2, 2, 1, 1, 1]);
    let heavy: Vec<bool> = found.iter().map(|it| it.is_heavy).collect();
    assert_eq!(heavy, [true, true, false, false, false]);
}

/// A host in a domain of `fault`, with a type.
async fn typed(f: &mut Fixture, host: u32, kind: &str, path: &str) {
    f.host(host, 10).await.unwrap();
    let mut described = super::descriptions::one(host, None, 1, ProviderState::Up);
    let description = &mut described.providers[0].description;
    description.kind = Some(kind.into());
    description.domains = [("fault".into(), path.into())].into();
    f.model.submit(described).await.unwrap();
}

/// Seven hosts of a first type and three of a second on five domains: two hosts in each, so no domain is heavy by all.
/// Of the first type alone, the first two domains are heavy.
#[actix_web::test]
async fn of_seven_hosts_of_one_type_and_three_of_another_on_five_domains_the_first_type_is_heavy() {
    let mut f = fixture();
    for n in 0..10_u32 {
        let kind = if n < 7 { "first" } else { "second" };
        typed(&mut f, n + 1, kind, &format!("fd{}", n % 5)).await;
    }
    f.model.submit(claim(100, 1, "VCPU", 4, Expected::New)).await.unwrap();
    let heavy = |found: &[DomainReport]| found.iter().map(|it| (it.hosts, it.is_heavy)).collect::<Vec<_>>();
    let all = domains_of(&f.model, "fault", "").await;
    assert_eq!(heavy(&all), [(2, false); 5]);
    assert_eq!(all[0].loss.free_elsewhere["VCPU"], 80);
    let first = domains_of(&f.model, "fault", "ProviderType == first").await;
    assert_eq!(
        heavy(&first),
        [(2, true), (2, true), (1, false), (1, false), (1, false)]
    );
    assert_eq!((first[0].capacity["VCPU"], first[0].usage["VCPU"]), (20, 4));
    assert_eq!((first[0].loss.siblings, first[0].loss.free_elsewhere["VCPU"]), (5, 50));
    let second = domains_of(&f.model, "fault", "ProviderType == second").await;
    assert_eq!(heavy(&second), [(1, false); 3]);
    let paths: Vec<&str> = second.iter().map(|it| it.path.as_str()).collect();
    assert_eq!((paths, second[0].loss.siblings), (vec!["fd2", "fd3", "fd4"], 3));
}

/// Ten hosts in ten upgrade domains, each with `capacity` and a load of `used`.
async fn upgrade_domains(number: u32, capacity: i32, used: i64) -> Fixture {
    let names: Vec<String> = (0..number).map(|n| format!("UD{n}")).collect();
    let mut f = fixture();
    for (host, name) in (1..).zip(&names) {
        f.host(host, capacity).await.unwrap();
        describe(&f.model, host, None, ("-", name), ProviderState::Up).await;
        if used > 0 {
            f.model
                .submit(claim(100 + host, host, "VCPU", used, Expected::New))
                .await
                .unwrap();
        }
    }
    f
}

#[actix_web::test]
async fn e6_while_one_of_ten_upgrade_domains_is_down_the_others_need_room_for_twelve() {
    for (capacity, missing) in [(11, Some(1)), (12, None)] {
        let f = upgrade_domains(10, capacity, 10).await;
        for domain in domains(&f, "upgrade").await {
            assert_eq!(domain.loss.siblings, 10);
            assert_eq!(domain.loss.missing.get("VCPU").copied(), missing, "{}", domain.path);
        }
        // The whole load of 100 in pieces of 1, with one domain down.
        let f = upgrade_domains(10, capacity, 0).await;
        describe(&f.model, 1, Some(1), ("-", "UD0"), ProviderState::Off).await;
        let mut load = spec(0, Some(vec![spread(Mode::QuorumSafe, &["host"])]));
        load.roles = vec![role("replica", 100, 1)];
        match place(&f.model, put(900, None, load)).await {
            Ok(report) => {
                assert_eq!(report.replicas.len(), 100);
                assert_eq!(missing, None);
            }
            Err(Error::NoCapacity { needed, room, .. }) => {
                assert_eq!((needed, room), (100, 99));
                assert_eq!(missing, Some(1));
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[actix_web::test]
async fn e7_without_one_of_three_upgrade_domains_each_other_carries_a_half() {
    // Each domain carries a third of 60. After a loss the remaining two carry 30 each, which is their capacity.
    for (capacity, missing) in [(30, None), (29, Some(2))] {
        let f = upgrade_domains(3, capacity, 20).await;
        for domain in domains(&f, "upgrade").await {
            assert_eq!(domain.loss.siblings, 3);
            assert_eq!(domain.loss.missing.get("VCPU").copied(), missing);
        }
    }
}

#[actix_web::test]
async fn sums_of_unbounded_inventories_do_not_overflow() {
    let f = cluster(&[("a", "-"), ("a", "-"), ("a", "-"), ("b", "-")]).await;
    let snapshot = f.model.snapshot().await.unwrap();
    for host in 1..=4 {
        let update = crate::model::inventories::Update {
            provider: uuid(host),
            generation: snapshot.generation(snapshot.by_uuid(&uuid(host)).unwrap()),
            class: "VCPU".into(),
            inventory: Inventory {
                allocation_ratio: 3.4e38,
                ..inventory(i32::MAX)
            },
            reserved_may_equal_total: true,
        };
        f.model.submit(update).await.unwrap();
    }
    let found = domains(&f, "fault").await;
    let limit = 1_i128 << 62;
    assert_eq!(found[0].capacity["VCPU"], 3 * limit);
    assert_eq!(found[0].loss.free_elsewhere["VCPU"], limit);
    assert_eq!(found[1].loss.free_elsewhere["VCPU"], 3 * limit);
    assert!(found.iter().all(|domain| domain.loss.missing.is_empty()));
}

/// Found by a hostile reader: all domains were built, whatever the limit was. Paths of 500 segments took gigabytes.
#[actix_web::test]
async fn hostile_08_pages_of_deep_domains_are_those_of_the_whole_list() {
    let deep = |host: usize| {
        (0..40)
            .map(|level| format!("/{}", (host + level) % 3))
            .collect::<String>()
    };
    let paths: Vec<String> = (0..4).map(deep).collect();
    let at: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "-")).collect();
    let f = cluster(&at).await;
    let all = domains(&f, "fault").await;
    assert_eq!(all.len(), 3 * 40);
    assert!(all.is_sorted_by_key(|domain| &domain.path));
    let pages = pages(&f, "fault", 7).await;
    assert_eq!(pages.iter().map(Vec::len).max(), Some(7));
    assert_eq!(pages.concat(), all);
}

#[actix_web::test]
async fn a_domain_has_the_hosts_inside_and_no_host_whose_path_only_begins_alike() {
    let f = cluster(&[("/a", "-"), ("/a-b", "-"), ("/a/b", "-"), ("/a0", "-"), ("/a/b/c", "-")]).await;
    let found = domains(&f, "fault").await;
    let found = found.iter().map(|it| (&*it.path, it.hosts, it.capacity["VCPU"]));
    let expected = [
        ("/a", 3, 30),
        ("/a-b", 1, 10),
        ("/a/b", 2, 20),
        ("/a/b/c", 1, 10),
        ("/a0", 1, 10),
    ];
    assert!(found.eq(expected));
}

/// A page of 4 MB made the reports of 1,000 domains, with all classes in each.
#[actix_web::test]
async fn hostile_08_a_page_ends_by_the_length_of_its_reports_before_further_reports_are_made() {
    const DOMAINS: u32 = 60;
    let paths: Vec<String> = (1..=DOMAINS).map(|host| format!("r{host:02}")).collect();
    let at: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "-")).collect();
    let f = cluster(&at).await;
    // Each report names the classes of the first host, whose names take 80 kB.
    for number in 0..320 {
        let name = format!("CUSTOM_{number:0248}");
        let create = crate::model::resource_classes::Ensure { name: name.clone() };
        f.model.submit(create).await.unwrap();
        f.model.submit(adding(1, &name, 1)).await.unwrap();
    }
    let pages = pages(&f, "fault", 1_000).await;
    let counts: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert!(counts[0] > 1 && counts.len() > 1, "{counts:?}");
    assert!(pages.concat().iter().map(|it| &it.path).eq(&paths));
    // A page whose number of domains is its limit takes as many steps.
    let snapshot = f.model.snapshot().await.unwrap();
    let steps = [1_000, counts[0]].map(|limit| {
        let interrupt = Interrupt::default();
        let (found, next) = domains::page_of(&snapshot, &page("fault", limit, None), &interrupt).unwrap();
        assert_eq!(next.as_ref(), found.last().map(|it| &it.path));
        (found.len(), interrupt.spent())
    });
    assert_eq!(steps[0], steps[1]);
}

/// `GET /v1/domains` of a large cloud took 17 s of a debug build.
#[actix_web::test]
async fn hostile_08_a_search_of_all_hosts_is_busy_at_the_deadline_and_ends() {
    let (kept, database) = TestDatabase::synced();
    let lock = database.lock_for_serving().unwrap();
    let short = WriterSettings {
        commit_timeout: std::time::Duration::from_secs(1),
        ..writer_settings()
    };
    let (model, _running) = Model::start((database, None), &short, rules(), lock, super::pools()).unwrap();
    let (note, ended) = std::sync::mpsc::channel();
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let search = move |_: &Snapshot, interrupt: &Interrupt| -> Result<()> {
        count.fetch_add(1, Ordering::Relaxed);
        while domains::go_on(interrupt).is_ok() {
            std::thread::yield_now();
        }
        let _ = note.send(());
        domains::go_on(interrupt)
    };
    let found = domains::search_hosts(&model, &caller(), search).await;
    match found {
        Err(Error::Busy { detail }) => assert!(detail.contains("[placet] commit_timeout"), "{detail}"),
        other => panic!("{other:?}"),
    }
    // Each attempt ends: on the worker, and on a thread if the deadline has not passed before. The channel is closed
    // when no further attempt can begin.
    let hang = std::time::Duration::from_secs(600);
    let ends = std::iter::from_fn(|| match ended.recv_timeout(hang) {
        Ok(()) => Some(()),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => panic!("a search goes on"),
    });
    let ends = ends.count();
    assert!(ends >= 1);
    assert_eq!(ends, begun.load(Ordering::Relaxed));
    drop(kept);
}
