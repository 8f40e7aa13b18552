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
