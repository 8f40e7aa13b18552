//! Searches with spellings of uuids and names that differ from the tables.

use std::sync::Arc;
use std::time::Duration;

use super::placing::{gang, place, query};
use super::*;
use crate::db::schema::placement_aggregates;
use crate::model::aggregates;
use crate::model::claims::{ClaimCandidate, Wanted};
use crate::model::inventories::Update;
use crate::model::reads::unknown_names::Names;
use crate::search::{Group, Interrupt, MemberOf, ProviderQuery, Request, SearchLimits, SearchSettings, TreeOrder};

const HOST: &str = "abcdef00-0000-4000-8000-000000000001";
const AGGREGATE: &str = "abcdef00-0000-4000-8000-00000000000a";

/// A database with a host, which is in an aggregate and has VCPU.
async fn one_host() -> Fixture {
    let f = fixture();
    let create = Create {
        uuid: HOST.into(),
        name: "Rack-é".into(),
        parent: None,
    };
    f.model.submit(create).await.unwrap();
    let join = aggregates::Replace {
        provider: HOST.into(),
        generation: None,
        aggregates: vec![AGGREGATE.into()],
    };
    f.model.submit(join).await.unwrap();
    let add = Add {
        provider: HOST.into(),
        ..adding(1, "VCPU", 4)
    };
    f.model.submit(add).await.unwrap();
    f
}

/// A VCPU of a host.
fn on(provider: String) -> ClaimCandidate {
    ClaimCandidate {
        allocations: vec![(provider, vec![("VCPU".to_owned(), 1)])],
        mappings: None,
    }
}

fn by_name(name: &str) -> ProviderQuery {
    ProviderQuery {
        name: Some(name.into()),
        ..ProviderQuery::default()
    }
}

fn by_uuid(uuid: String) -> ProviderQuery {
    ProviderQuery {
        uuid: Some(uuid),
        ..ProviderQuery::default()
    }
}

fn by_tree(uuid: String) -> ProviderQuery {
    ProviderQuery {
        in_tree: Some(uuid),
        ..ProviderQuery::default()
    }
}

fn by_aggregate(uuid: String) -> ProviderQuery {
    let members = MemberOf {
        any_of: vec![[uuid].into()],
        ..MemberOf::default()
    };
    ProviderQuery {
        members,
        ..ProviderQuery::default()
    }
}

async fn count(f: &Fixture, query: ProviderQuery) -> usize {
    let prepared = f
        .model
        .prepare_search(Names::of_providers(&query), Duration::ZERO)
        .await
        .unwrap();
    let query = ProviderQuery {
        name: prepared.provider_name.or(query.name),
        ..query
    };
    crate::search::providers(&prepared.snapshot, &query, false, &Interrupt::default())
        .unwrap()
        .len()
}

#[actix_web::test]
async fn a_list_finds_a_provider_by_each_spelling_that_the_database_equates() {
    let f = one_host().await;
    let uuid_and_name = ProviderQuery {
        name: Some("RACK-É".into()),
        ..by_uuid(HOST.to_uppercase())
    };
    let queries = [
        by_uuid(HOST.to_uppercase()),
        by_tree(HOST.to_uppercase()),
        by_name("rack-é"),
        by_name("RACK-É "),
        uuid_and_name,
    ];
    let expected = usize::from(!dialect::compares_exactly(&f.conn));
    for query in queries {
        assert_eq!(count(&f, query.clone()).await, expected, "{query:?}");
    }
    assert_eq!(count(&f, by_name("Rack-é")).await, 1);
    assert_eq!(count(&f, by_name("Rack-x")).await, 0);
}

#[actix_web::test]
async fn a_candidate_is_found_by_each_spelling_of_its_tree() {
    let f = one_host().await;
    let group = Group {
        resources: vec![("VCPU".into(), 1)],
        in_tree: Some(HOST.to_uppercase()),
        ..Group::default()
    };
    let request = Request::of_groups(vec![group]);
    let settings = SearchSettings {
        seed: 1,
        order: None,
        max: None,
        ceiling: 10,
        tree_order: TreeOrder::DepthFirst,
        max_combinations: 100,
        strict_step: false,
        limits: SearchLimits::default(),
        interrupt: Interrupt::default(),
    };
    let prepared = f
        .model
        .prepare_search(Names::of_candidates([&request]), Duration::ZERO)
        .await
        .unwrap();
    let found = crate::search::candidates(prepared.snapshot, &request, &settings).unwrap();
    let expected = usize::from(!dialect::compares_exactly(&f.conn));
    assert_eq!(found.select().count(), expected);
}

/// Found by a reader: the snapshot did not know the first place, so the second place was claimed.
#[actix_web::test]
async fn a_posted_candidate_is_claimed_by_each_spelling_of_its_provider_without_a_query() {
    let mut f = one_host().await;
    f.host(2, 1).await.unwrap();
    let candidates: Arc<[_]> = Arc::new([on(HOST.to_uppercase()), on(uuid(2))]);
    let (expected, provider) = if dialect::compares_exactly(&f.conn) {
        (1, uuid(2))
    } else {
        (0, HOST.to_owned())
    };
    for is_dry_run in [true, false] {
        let mut request = gang(100..101, query(1, None));
        request.queries.clear();
        request.consumers[0].wanted = Wanted::Candidates(Arc::clone(&candidates));
        request.is_dry_run = is_dry_run;
        let placed = place(&f.model, request).await.unwrap();
        let claimed = placed.consumers[0].as_ref().unwrap();
        let found = (claimed.candidate, &*claimed.providers[0].provider);
        assert_eq!(found, (expected, provider.as_str()), "dry run: {is_dry_run}");
    }
    f.check_snapshot().await;
}

/// Found by a reader: the plan did not know the first place of the posted candidates, which rows know, and gave the
/// place to the query. A dry run, decided on rows, was busy until it timed out.
#[actix_web::test]
async fn a_posted_candidate_is_planned_by_each_spelling_of_its_provider() {
    let mut f = one_host().await;
    f.host(2, 1).await.unwrap();
    let mut request = gang(100..102, query(4, None));
    request.is_atomic = false;
    request.consumers[0].wanted = Wanted::Candidates(Arc::new([on(HOST.to_uppercase()), on(uuid(2))]));
    let expected = if dialect::compares_exactly(&f.conn) {
        [Some(1), Some(0)]
    } else {
        [Some(0), None]
    };
    for is_dry_run in [true, false] {
        request.is_dry_run = is_dry_run;
        let placed = place(&f.model, request.clone()).await.unwrap();
        let of_each = placed
            .consumers
            .iter()
            .map(|it| it.as_ref().ok().map(|it| it.candidate));
        assert_eq!(of_each.collect::<Vec<_>>(), expected, "dry run: {is_dry_run}");
    }
    f.check_snapshot().await;
}

/// Found by a reader: the answer had both parts under one name, and a client reads only the last part.
#[actix_web::test]
async fn the_parts_of_a_candidate_for_two_spellings_of_one_provider_are_joined() {
    let f = one_host().await;
    if dialect::compares_exactly(&f.conn) {
        return;
    }
    let spellings = [HOST.to_owned(), HOST.to_uppercase()];
    let mut request = gang(100..102, query(1, None));
    request.consumers[0].wanted = Wanted::Candidates(Arc::new([ClaimCandidate {
        allocations: spellings
            .iter()
            .map(|uuid| (uuid.clone(), vec![("VCPU".to_owned(), 1)]))
            .collect(),
        mappings: Some(vec![(String::new(), vec![HOST.to_uppercase()])]),
    }]));
    let placed = place(&f.model, request).await.unwrap();
    let claimed = placed.consumers[0].as_ref().unwrap();
    let shares = claimed
        .providers
        .iter()
        .map(|share| (&*share.provider, share.resources.clone()));
    assert_eq!(shares.collect::<Vec<_>>(), [(HOST, vec![("VCPU".into(), 2)])]);
    assert_eq!(claimed.mappings, Some(vec![(String::new(), vec![HOST.to_owned()])]));
}

/// Which columns ignore the case of letters is read with the snapshot. In Turkish, `I` is not the upper case of `i`.
#[actix_web::test]
async fn the_collations_of_the_columns_decide_about_case() {
    let mut f = fixture();
    if dialect::compares_exactly(&f.conn) {
        assert_eq!(dialect::ignores_case(&mut f.conn).unwrap(), [false, false]);
        return;
    }
    for (collation, expected) in [
        ("utf8mb4 COLLATE utf8mb4_bin", [false, false]),
        ("utf8mb4 COLLATE utf8mb4_unicode_ci", [true, true]),
        ("utf8mb4 COLLATE utf8mb4_turkish_ci", [true, false]),
        ("utf8mb3 COLLATE utf8mb3_general_ci", [true, true]),
        ("latin1 COLLATE latin1_swedish_ci", [true, true]),
        ("latin1 COLLATE latin1_general_cs", [false, false]),
    ] {
        f.execute(&format!(
            "ALTER TABLE resource_providers CONVERT TO CHARACTER SET {collation}"
        ));
        assert_eq!(dialect::ignores_case(&mut f.conn).unwrap(), expected, "{collation}");
    }
}

/// The snapshot knows each provider in every case of its uuid and name, so the database is not asked.
#[actix_web::test]
async fn another_case_costs_no_statement() {
    let f = one_host().await;
    let mut by_query = Vec::new();
    for query in [
        by_uuid(HOST.to_owned()),
        by_uuid(HOST.to_uppercase()),
        by_tree(HOST.to_uppercase()),
        by_name("Rack-é"),
    ] {
        let before = f.model.statements();
        count(&f, query).await;
        by_query.push(f.model.statements() - before);
    }
    assert_eq!(by_query, [by_query[0]; 4]);
    let mut by_candidate = Vec::new();
    for provider in [HOST.to_owned(), HOST.to_uppercase()] {
        let mut request = gang(100..101, query(1, None));
        request.queries.clear();
        request.consumers[0].wanted = Wanted::Candidates(Arc::new([on(provider)]));
        request.is_dry_run = true;
        let before = f.model.statements();
        place(&f.model, request).await.ok();
        by_candidate.push(f.model.statements() - before);
    }
    if !dialect::compares_exactly(&f.conn) {
        assert_eq!(by_candidate[0], by_candidate[1]);
        let before = f.model.statements();
        assert_eq!(count(&f, by_name("RACK-é")).await, 1);
        assert_eq!(f.model.statements() - before, by_query[0]);
    }
}

/// OpenStack Placement compares aggregates itself, on every database.
#[actix_web::test]
async fn another_spelling_of_an_aggregate_is_unknown_and_reloads_nothing() {
    let f = one_host().await;
    assert_eq!(count(&f, by_aggregate(AGGREGATE.into())).await, 1);
    let misspelled = || by_aggregate(AGGREGATE.to_uppercase());
    assert_eq!(count(&f, misspelled()).await, 0);
    let before = f
        .model
        .prepare_search(Names::of_providers(&misspelled()), Duration::ZERO)
        .await
        .unwrap()
        .snapshot;
    let after = f
        .model
        .prepare_search(Names::of_providers(&misspelled()), Duration::ZERO)
        .await
        .unwrap()
        .snapshot;
    assert!(Arc::ptr_eq(&before, &after), "the snapshot is the same one");
}

/// Found by random requests on MariaDB: the second spelling was inserted, so every attempt met a conflict, until 503.
#[actix_web::test]
async fn aggregates_may_be_named_in_two_spellings_of_one_uuid() {
    const NEW: &str = "abcdef00-0000-4000-8000-00000000000b";
    let mut f = one_host().await;
    let spellings = [AGGREGATE, NEW].map(|uuid| [uuid.to_owned(), uuid.to_uppercase()]);
    let join = aggregates::Replace {
        provider: HOST.into(),
        generation: None,
        aggregates: spellings.concat(),
    };
    let answer = f.model.submit(join).await.unwrap();
    assert_eq!(answer.aggregates.len(), 4, "the answer repeats the request");
    let is_exact = dialect::compares_exactly(&f.conn);
    for [spelled, other] in spellings {
        assert_eq!(count(&f, by_aggregate(spelled)).await, 1);
        assert_eq!(count(&f, by_aggregate(other)).await, usize::from(is_exact));
    }
    let rows = placement_aggregates::table.count().get_result::<i64>(&mut f.conn);
    assert_eq!(rows.unwrap(), if is_exact { 4 } else { 2 });
}

/// Found by random requests: OpenStack Placement on MariaDB removes the aggregate.
#[actix_web::test]
async fn a_provider_keeps_an_aggregate_that_is_named_in_another_spelling() {
    let mut f = one_host().await;
    let rename = aggregates::Replace {
        provider: HOST.into(),
        generation: None,
        aggregates: vec![AGGREGATE.to_uppercase()],
    };
    f.model.submit(rename).await.unwrap();
    let is_exact = dialect::compares_exactly(&f.conn);
    let of_each = [AGGREGATE.to_owned(), AGGREGATE.to_uppercase()];
    for (uuid, is_member) in of_each.into_iter().zip([!is_exact, is_exact]) {
        assert_eq!(count(&f, by_aggregate(uuid)).await, usize::from(is_member));
    }
    f.check_snapshot().await;
}

/// Found by random requests: the sentence named the provider as the request did.
#[actix_web::test]
async fn the_refusal_of_an_inventory_names_the_provider_as_the_table_does() {
    let f = one_host().await;
    let all_reserved = Inventory {
        reserved: 9,
        ..inventory(4)
    };
    let add = Add {
        provider: HOST.to_uppercase(),
        inventory: all_reserved,
        ..adding(1, "MEMORY_MB", 4)
    };
    match f.model.submit(add).await.unwrap_err() {
        Error::InvalidInventory { provider, reason, .. } => {
            assert!(!dialect::compares_exactly(&f.conn));
            assert!(provider == HOST && reason.contains(HOST), "{provider}: {reason}");
        }
        refused => assert!(dialect::compares_exactly(&f.conn), "{refused:?}"),
    }
    let update = Update {
        provider: HOST.to_uppercase(),
        class: "MEMORY_MB".to_owned(),
        inventory: inventory(4),
        generation: 1,
        reserved_may_equal_total: true,
    };
    match f.model.submit(update).await.unwrap_err() {
        Error::InventoryNotFoundForUpdate { provider, .. } => assert_eq!(provider, HOST),
        refused => assert!(dialect::compares_exactly(&f.conn), "{refused:?}"),
    }
}
