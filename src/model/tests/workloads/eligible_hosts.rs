//! Eligible hosts, which are shared by versions with a difference in usage alone.

use super::*;

/// The number of domains in dimension `fault` for the rule, and the planned hosts of the workload.
async fn seen(model: &Model, expression: &str) -> (u32, Vec<u32>) {
    let mut dry = put(WORKLOAD, None, spec(0, None));
    dry.spec.roles = vec![Role {
        query: query(1, expression),
        ..role("replica", 2, 1)
    }];
    dry.is_dry_run = true;
    let report = place(model, dry).await.unwrap();
    (report.spread[0].domains, hosts(&report).into_iter().collect())
}

#[actix_web::test]
async fn a_full_domain_counts_as_before() {
    let f = cluster(&SITES).await;
    assert_eq!(seen(&f.model, "").await.0, 3);
    for host in [1, 2] {
        let claim = super::super::claim(100 + host, host, "VCPU", 10, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
    let (domains, hosts) = seen(&f.model, "").await;
    assert_eq!(domains, 3);
    assert!(hosts.iter().all(|host| *host > 2), "{hosts:?}");
}

#[actix_web::test]
async fn hosts_that_are_added_described_or_deleted_count_at_once() {
    let mut f = cluster(&SITES[..4]).await;
    assert_eq!(seen(&f.model, "").await.0, 2);
    f.host(5, 10).await.unwrap();
    assert_eq!(seen(&f.model, "").await.0, 2);
    describe(&f.model, 5, None, ("fd:/c", "1"), ProviderState::Up).await;
    assert_eq!(seen(&f.model, "").await.0, 3);
    assert_eq!(seen(&f.model, "Number != 5").await.0, 2);
    describe(&f.model, 5, Some(1), ("fd:/c", "1"), ProviderState::Off).await;
    assert_eq!(seen(&f.model, "").await.0, 2);
    describe(&f.model, 5, Some(2), ("fd:/d", "1"), ProviderState::Up).await;
    assert_eq!(seen(&f.model, "").await.0, 3);
}

/// A single replica is not spread, so the host needs no domain. Each of two replicas needs a domain.
#[actix_web::test]
async fn found_p15_a_workload_of_one_is_placed_on_a_host_without_a_domain() {
    let f = cluster(&[("fd:/a", "-"), ("-", "-"), ("-", "-")]).await;
    for (n, rules) in [(901, None), (902, Some(vec![spread(Mode::OneEach, &["fault"])]))] {
        let mut one = put(n, None, spec(1, rules));
        one.spec.roles[0].query = query(1, "Number != 1");
        let report = place(&f.model, one.clone()).await.unwrap();
        assert!(hosts(&report).is_subset(&[2, 3].into()));
        assert_eq!((report.violations.len(), report.safety.is_safe), (0, None));
        one.spec.roles[0].count = 2;
        one.generation = Some(1);
        no_place(place(&f.model, one).await);
    }
    // A host with a domain comes first: a second replica has a place only beside a replica in a domain.
    let f = cluster(&[("fd:/a", "-"), ("fd:/b", "-"), ("-", "-"), ("-", "-"), ("-", "-")]).await;
    for n in 901..909 {
        let report = place(&f.model, put(n, None, spec(1, None))).await.unwrap();
        assert!(hosts(&report).is_subset(&[1, 2].into()), "workload {n}");
    }
}

/// The first domain of a host is no change for a workload with a single replica.
#[actix_web::test]
async fn found_p15_a_host_of_a_workload_of_one_gets_its_first_domain() {
    let f = cluster(&[("-", "-"), ("fd:/b", "-")]).await;
    let one = stored(WORKLOAD, None, "1 one-each Number == 1");
    place(&f.model, one).await.unwrap();
    describe(&f.model, 1, Some(1), ("fd:/a", "-"), ProviderState::Up).await;
    let moved = description(1, Some(2), ("fd:/b", "-"), ProviderState::Up);
    let refused = f.model.submit(moved).await.unwrap_err();
    assert!(matches!(refused, Error::DomainInUse { .. }), "{refused:?}");
}
