//! Workloads on a real database: what is placed, kept and released, races, and the tables of Service Fabric's documentation
//! figure by figure (`figures`).

mod batch_plans;
mod bodies;
mod domains_in_use;
mod figures;
mod interleaving;
mod interrupts;
mod neighbours;
mod pending;
mod planned_domains;
mod races;
mod statistics;
mod violations;

use std::collections::BTreeSet;

use super::*;
use crate::error::{NoPlace, ReasonCode};
use crate::model::claims::ClaimQuery;
use crate::model::providers::{Describe, DescribeAll};
use crate::model::workloads::{
    Adopted, Level, Mode, NearKind, NearRule, PlanJob, Put, Report, ReportJob, Role, SpreadRule, Wish, WishRule,
};
use crate::search::{Description, Interrupt, ProviderState, Request, SearchSettings};
use bodies::{read, stored};

const WORKLOAD: u32 = 900;

/// What hosts are: fault and upgrade domains, `-` for none.
pub(super) async fn describe(
    model: &Model,
    host: u32,
    generation: Option<i64>,
    at: (&str, &str),
    state: ProviderState,
) {
    model.submit(description(host, generation, at, state)).await.unwrap();
}

fn description(host: u32, generation: Option<i64>, at: (&str, &str), state: ProviderState) -> DescribeAll {
    let domains = [("fault", at.0), ("upgrade", at.1)];
    let domains = domains.into_iter().filter(|(_, path)| *path != "-");
    let new = Describe {
        provider: uuid(host),
        generation,
        description: Description {
            domains: domains.map(|(name, path)| (name.into(), path.into())).collect(),
            properties: [(
                "Number".into(),
                Some(crate::search::PropertyValue::Integer(host.into())),
            )]
            .into(),
            state,
            ..Description::default()
        },
    };
    DescribeAll {
        providers: vec![new],
        is_list: false,
        is_forced: false,
        read,
    }
}

/// Hosts 1, 2, … with 10 VCPU in these domains.
pub(super) async fn cluster(at: &[(&str, &str)]) -> Fixture {
    let mut f = fixture();
    for (host, at) in (1..).zip(at) {
        f.host(host, 10).await.unwrap();
        describe(&f.model, host, None, *at, ProviderState::Up).await;
    }
    f
}

fn query(amount: i64, expression: &str) -> ClaimQuery {
    let ClaimQuery { request, rank } = super::placing::query(amount, None);
    let mut request = Request { ..request };
    request.host.condition = std::sync::Arc::new(expression.parse().unwrap());
    request.host.only_up = true;
    ClaimQuery { request, rank }
}

pub(super) fn role(name: &str, count: u32, amount: i64) -> Role {
    Role {
        name: name.to_owned(),
        count,
        query: query(amount, ""),
        definition: format!("{amount}"),
    }
}

pub(super) fn spread(mode: Mode, dimensions: &[&str]) -> WishRule {
    WishRule::Spread(SpreadRule {
        level: Level::Hard,
        mode,
        dimensions: dimensions.iter().map(|name| (*name).to_owned()).collect(),
        strict: false,
    })
}

pub(super) fn wish(count: u32, rules: Option<Vec<WishRule>>) -> Wish {
    Wish {
        roles: vec![role("replica", count, 1)],
        rules,
        quorum: true,
        consumer_type: "INSTANCE".to_owned(),
    }
}

pub(super) fn put(n: u32, generation: Option<i64>, wish: Wish) -> Put {
    Put {
        uuid: uuid(n),
        name: format!("workload-{n}"),
        owner: Owner {
            project: "p".into(),
            user: "u".into(),
        },
        generation,
        wish,
        body: String::new(),
        read,
        ids: None,
        adopted: Vec::new(),
        swaps: Vec::new(),
        is_atomic: true,
        is_retry: false,
        is_dry_run: false,
    }
}

pub(super) async fn place(model: &Model, put: Put) -> Result<Report> {
    let search = async |job: PlanJob| job.run(&Interrupt::default()).map_err(checked);
    model.put_workload(put, &SearchSettings::uncut(7), search).await
}

fn checked(error: Error) -> Error {
    if let Error::NoPlace { refusal } = &error {
        assert!(refusal.is_exact, "{refusal:?}");
    }
    error
}

/// The hosts of the replicas, by number.
fn hosts(report: &Report) -> BTreeSet<u32> {
    let hosts = report.replicas.iter().filter_map(|it| it.host.as_deref());
    hosts.map(|host| host[24..].parse().unwrap()).collect()
}

/// Ids with their hosts.
fn places(report: &Report) -> Vec<(String, Option<u32>)> {
    let places = report.replicas.iter();
    let host = |host: &str| host[24..].parse().unwrap();
    places
        .map(|it| (it.replica.row.id.clone(), it.host.as_deref().map(host)))
        .collect()
}

fn no_place(refused: Result<Report>) -> NoPlace {
    match refused.unwrap_err() {
        Error::NoPlace { refusal } => (*refusal).clone(),
        other => panic!("{other:?}"),
    }
}

/// The first reason of this code: requested and free.
fn figures_of(refusal: &NoPlace, code: ReasonCode) -> Option<(i64, i64)> {
    let mut reasons = refusal.reasons.kept().iter().filter(|it| it.code == code);
    reasons.find_map(|it| it.requested.zip(it.free))
}

const SITES: [(&str, &str); 6] = [
    ("fd:/a", "1"),
    ("fd:/a", "2"),
    ("fd:/b", "1"),
    ("fd:/b", "2"),
    ("fd:/c", "1"),
    ("fd:/c", "2"),
];

#[actix_web::test]
async fn replicas_are_consumers_whose_allocations_every_table_shows() {
    let mut f = cluster(&SITES).await;
    let report = place(&f.model, put(WORKLOAD, None, wish(3, None))).await.unwrap();
    assert_eq!((report.row.generation, report.row.revision), (1, 1));
    assert_eq!(
        places(&report).iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["0", "1", "2"]
    );
    assert_eq!(hosts(&report).len(), 3);
    for shown in &report.replicas {
        let consumer = uuid::Uuid::new_v5(
            &uuid::Uuid::parse_str(&uuid(WORKLOAD)).unwrap(),
            shown.replica.row.id.as_bytes(),
        );
        assert_eq!(shown.replica.row.consumer, consumer.to_string());
    }
    let rows = f.texts(
        "SELECT r.replica || ' ' || p.uuid || ' ' || a.used AS t FROM placet_replicas r JOIN allocations a ON \
         a.consumer_id = r.consumer_id JOIN resource_providers p ON p.id = a.resource_provider_id ORDER BY r.replica",
    );
    let expected: Vec<String> = places(&report)
        .into_iter()
        .map(|(id, host)| format!("{id} {} 1", uuid(host.unwrap())))
        .collect();
    assert_eq!(rows, expected);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_workload_is_new_or_its_generation_is_known() {
    let f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, wish(2, None))).await.unwrap();
    for stale in [None, Some(7)] {
        let refused = place(&f.model, put(WORKLOAD, stale, wish(3, None))).await.unwrap_err();
        assert!(matches!(refused, Error::StaleWorkload { .. }), "{refused:?}");
    }
    let refused = place(&f.model, put(WORKLOAD + 1, Some(1), wish(1, None)))
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::StaleWorkload { .. }), "{refused:?}");
    let again = place(&f.model, put(WORKLOAD, Some(1), wish(2, None))).await.unwrap();
    assert_eq!(again.row.generation, 2);
}

#[actix_web::test]
async fn a_name_belongs_to_one_workload_of_a_project() {
    let f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, wish(1, None))).await.unwrap();
    let mut same = put(WORKLOAD + 1, None, wish(1, None));
    same.name = format!("workload-{WORKLOAD}");
    let refused = place(&f.model, same.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::DuplicateWorkload { .. }), "{refused:?}");
    same.owner.project = "other".to_owned();
    place(&f.model, same).await.unwrap();
}

#[actix_web::test]
async fn a_dry_run_answers_as_the_request_and_writes_nothing() {
    let mut f = cluster(&SITES).await;
    let mut dry = put(WORKLOAD, None, wish(3, None));
    dry.is_dry_run = true;
    let foreseen = place(&f.model, dry).await.unwrap();
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_workloads"), 0);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 0);
    let done = place(&f.model, put(WORKLOAD, None, wish(3, None))).await.unwrap();
    assert_eq!(places(&foreseen), places(&done));
}

#[actix_web::test]
async fn more_replicas_are_added_and_fewer_leave_the_rest_spread_best() {
    let mut f = cluster(&SITES).await;
    let rules = || Some(vec![spread(Mode::MaxDifference, &["fault"])]);
    let three = place(&f.model, put(WORKLOAD, None, wish(3, rules()))).await.unwrap();
    let six = place(&f.model, put(WORKLOAD, Some(1), wish(6, rules()))).await.unwrap();
    assert!(places(&six).starts_with(&places(&three)), "what stands stays");
    assert_eq!(hosts(&six).len(), 6);
    let four = place(&f.model, put(WORKLOAD, Some(2), wish(4, rules()))).await.unwrap();
    assert!(four.violations.is_empty(), "{:?}", four.violations);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 4);
    let stayed: Vec<_> = places(&four);
    assert!(stayed.iter().all(|it| places(&six).contains(it)));
    // The lowest free numbers come next.
    let six = place(&f.model, put(WORKLOAD, Some(3), wish(6, rules()))).await.unwrap();
    let ids: Vec<String> = places(&six).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5"]);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn named_ids_say_who_stays() {
    let f = cluster(&SITES).await;
    let mut first = put(WORKLOAD, None, wish(3, None));
    first.ids = Some(["db-10", "db-9", "db-1"].map(String::from).to_vec());
    let first = place(&f.model, first).await.unwrap();
    let ids = |report: &Report| places(report).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(&first), ["db-1", "db-9", "db-10"]);
    let mut second = put(WORKLOAD, Some(1), wish(2, None));
    second.ids = Some(["db-10", "x"].map(String::from).to_vec());
    let second = place(&f.model, second).await.unwrap();
    assert_eq!(ids(&second), ["db-10", "x"]);
    assert_eq!(places(&second)[0], places(&first)[2]);
}

#[actix_web::test]
async fn what_does_not_fit_is_refused_as_a_whole_or_waits() {
    let mut f = cluster(&SITES[..2]).await;
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, wish(3, Some(Vec::new())))).await);
    assert_eq!(refusal.missing, 3);
    assert_eq!(figures_of(&refusal, ReasonCode::NoPlace), Some((3, 2)));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 0);
    let mut some = put(WORKLOAD, None, wish(3, Some(Vec::new())));
    some.is_atomic = false;
    let report = place(&f.model, some).await.unwrap();
    assert_eq!(places(&report).iter().filter(|(_, host)| host.is_none()).count(), 1);
    assert!(report.reasons.has(ReasonCode::NoPlace));
    // Room comes, and the next request finds it.
    f.host(3, 10).await.unwrap();
    let report = place(&f.model, put(WORKLOAD, Some(1), wish(3, Some(Vec::new()))))
        .await
        .unwrap();
    assert_eq!(hosts(&report), [1, 2, 3].into());
    assert!(report.reasons.is_empty());
}

#[actix_web::test]
async fn a_refusal_counts_the_hosts_that_each_condition_removed() {
    let mut f = cluster(&SITES).await;
    describe(&f.model, 1, Some(1), SITES[0], ProviderState::Draining).await;
    f.model
        .submit(super::claim(1, 2, "VCPU", 10, Expected::New))
        .await
        .unwrap();
    let mut asked = wish(5, Some(Vec::new()));
    asked.roles[0].query = query(1, "Number != 6");
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, asked)).await);
    let counts: Vec<_> = refusal.reasons.counts().collect();
    let count = |code| counts.iter().find(|(it, _)| *it == code).map(|(_, count)| *count);
    // Hosts 1 and 6 are not what is asked for, host 2 is full; 3, 4, 5 are left.
    assert_eq!(count(ReasonCode::NoCandidate), Some(2), "{counts:?}");
    assert_eq!(count(ReasonCode::State), Some(1));
    assert_eq!(count(ReasonCode::Condition), Some(1));
    assert_eq!(figures_of(&refusal, ReasonCode::NoPlace), Some((5, 3)));
    assert!(count(ReasonCode::NoRoom).is_some());
    f.check_snapshot().await;
}

#[actix_web::test]
async fn roles_exchange_on_their_hosts_and_only_if_there_is_room() {
    let mut f = cluster(&SITES[..3]).await;
    let roles = |second: i64| Wish {
        roles: vec![role("primary", 1, 4), role("secondary", 1, second)],
        ..wish(0, Some(Vec::new()))
    };
    let before = place(&f.model, put(WORKLOAD, None, roles(2))).await.unwrap();
    let mut swap = put(WORKLOAD, Some(1), roles(2));
    swap.swaps = vec![["0".to_owned(), "1".to_owned()]];
    let after = place(&f.model, swap.clone()).await.unwrap();
    assert_eq!(places(&before), places(&after));
    let roles_of =
        |report: &Report| -> Vec<String> { report.replicas.iter().map(|it| it.replica.row.role.clone()).collect() };
    assert_eq!(roles_of(&before), ["primary", "secondary"]);
    assert_eq!(roles_of(&after), ["secondary", "primary"]);
    let [first, second] = [0, 1].map(|at: usize| places(&after)[at].1.unwrap());
    assert_eq!((f.used(first), f.used(second)), (2, 4));
    // The host of the replica that becomes secondary again has room for 10, but not for the primary of 4 more.
    f.model
        .submit(super::claim(1, first, "VCPU", 7, Expected::New))
        .await
        .unwrap();
    swap.generation = Some(2);
    let refusal = no_place(place(&f.model, swap).await);
    assert!(refusal.reasons.has(ReasonCode::NoRoom));
    assert_eq!((f.used(first), f.used(second)), (9, 4));
}

#[actix_web::test]
async fn a_role_that_falls_makes_room_for_one_that_rises() {
    let mut f = cluster(&SITES[..2]).await;
    let roles = |primaries: u32, secondaries: u32| Wish {
        roles: vec![role("primary", primaries, 6), role("secondary", secondaries, 9)],
        ..wish(0, Some(Vec::new()))
    };
    place(&f.model, put(WORKLOAD, None, roles(2, 0))).await.unwrap();
    let report = place(&f.model, put(WORKLOAD, Some(1), roles(1, 1))).await.unwrap();
    assert_eq!(hosts(&report), [1, 2].into());
    assert_eq!(BTreeSet::from([f.used(1), f.used(2)]), [6, 9].into());
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_replicas"), 2);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn an_adopted_consumer_counts_and_keeps_what_it_has_when_it_leaves() {
    let mut f = cluster(&SITES).await;
    f.model
        .submit(super::claim(1, 1, "VCPU", 3, Expected::New))
        .await
        .unwrap();
    let mut adopt = put(WORKLOAD, None, wish(3, Some(vec![spread(Mode::OneEach, &["fault"])])));
    adopt.adopted = vec![Adopted {
        consumer: uuid(1),
        id: Some("1".to_owned()),
        role: None,
    }];
    let report = place(&f.model, adopt.clone()).await.unwrap();
    assert_eq!(places(&report)[1], ("1".to_owned(), Some(1)));
    assert!(!hosts(&report).contains(&2), "host 2 is in the same domain");
    // No other workload gets it, and no consumer of another project.
    adopt.uuid = uuid(WORKLOAD + 1);
    adopt.name = "other".to_owned();
    let refused = place(&f.model, adopt.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::ConsumerTaken { .. }), "{refused:?}");
    adopt.owner.project = "other".to_owned();
    adopt.adopted[0].consumer = uuid(2);
    assert!(matches!(place(&f.model, adopt).await, Err(Error::BadRequest { .. })));
    f.model.delete_workload(&uuid(WORKLOAD), Some(1), false).await.unwrap();
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 1);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_replicas"), 0);
    assert_eq!(f.used(1), 3);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn workloads_are_together_or_apart_by_host_and_by_domain() {
    let f = cluster(&SITES).await;
    let first = place(
        &f.model,
        put(WORKLOAD, None, wish(2, Some(vec![spread(Mode::OneEach, &["fault"])]))),
    )
    .await
    .unwrap();
    let near = |kind, dimension: &str| {
        Some(vec![WishRule::Near(NearRule {
            level: Level::Hard,
            kind,
            workload: uuid(WORKLOAD),
            dimension: dimension.to_owned(),
        })])
    };
    let mut n = WORKLOAD;
    let mut place = |count, rules| {
        n += 1;
        place(&f.model, put(n, None, wish(count, rules)))
    };
    assert_eq!(
        hosts(&place(2, near(NearKind::Together, "host")).await.unwrap()),
        hosts(&first)
    );
    let site = |host: u32| (host - 1) / 2;
    let sites: BTreeSet<u32> = hosts(&first).into_iter().map(site).collect();
    let together = hosts(&place(4, near(NearKind::Together, "fault")).await.unwrap());
    assert_eq!(together.into_iter().map(site).collect::<BTreeSet<_>>(), sites);
    let apart = hosts(&place(2, near(NearKind::Apart, "fault")).await.unwrap());
    assert!(apart.into_iter().all(|host| !sites.contains(&site(host))));
    let refusal = no_place(place(3, near(NearKind::Apart, "fault")).await);
    assert!(refusal.reasons.has(ReasonCode::Apart));
    let refusal = no_place(place(3, near(NearKind::Together, "host")).await);
    assert!(refusal.reasons.has(ReasonCode::Together));
}

#[actix_web::test]
async fn a_replica_that_another_client_removed_is_pending_and_placed_again() {
    let f = cluster(&SITES).await;
    let report = place(&f.model, put(WORKLOAD, None, wish(3, None))).await.unwrap();
    let consumer = report.replicas[1].replica.row.consumer.clone();
    let release = crate::model::allocations::Release { consumer };
    f.model.submit(release).await.unwrap();
    let shown = show(&f.model).await;
    assert_eq!(places(&shown)[1], ("1".to_owned(), None));
    let again = place(&f.model, put(WORKLOAD, Some(1), wish(3, None))).await.unwrap();
    assert_eq!(hosts(&again).len(), 3);
}

async fn show(model: &Model) -> Report {
    let stored = model.stored_workload(&uuid(WORKLOAD)).await.unwrap();
    let search = async |job: ReportJob| job.run(&Interrupt::default());
    let read = |_: &str| Ok(wish(3, None));
    model
        .report_workload(stored, read, &SearchSettings::uncut(7), search)
        .await
        .unwrap()
}

#[actix_web::test]
async fn normal_room_is_admitted_in_sum_and_used_first() {
    let f = cluster(&SITES[..3]).await;
    let set = crate::model::limits::Set {
        class: "VCPU".to_owned(),
        generation: None,
        normal: Some("0.2".parse().unwrap()),
    };
    f.model.submit(set).await.unwrap();
    for (consumer, host, used) in [(1, 1, 6), (2, 2, 7), (3, 3, 7)] {
        f.model
            .submit(super::claim(consumer, host, "VCPU", used, Expected::New))
            .await
            .unwrap();
    }
    let asked = |count, amount| Wish {
        roles: vec![role("replica", count, amount)],
        ..wish(0, Some(Vec::new()))
    };
    // 2 + 1 + 1 within the normal limits of 8.
    let refused = place(&f.model, put(WORKLOAD, None, asked(3, 2))).await.unwrap_err();
    let Error::NoCapacity { class, needed, room } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!((class.as_str(), *needed, *room), ("VCPU", 6, 4));
    let report = place(&f.model, put(WORKLOAD, None, asked(2, 2))).await.unwrap();
    let over: Vec<bool> = report.replicas.iter().map(|it| it.over_normal == ["VCPU"]).collect();
    assert!(
        hosts(&report).contains(&1),
        "the host with normal room is used: {:?}",
        hosts(&report)
    );
    assert_eq!(over.iter().filter(|over| **over).count(), 1);
}
