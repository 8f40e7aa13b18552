//! Workloads on a real database: placed, kept, adopted and released replicas, races (`races`), and the tables of
//! Service Fabric's documentation figure by figure (`figures`).

mod admission;
mod adoption;
mod batch_plans;
mod bodies;
mod census;
mod domains_in_use;
mod eligible_hosts;
mod exchanges;
mod figures;
mod hostile;
mod interleaving;
mod interrupts;
mod lost;
mod neighbours;
mod nested;
mod overuse;
mod pages;
mod pending;
mod planned_domains;
mod pool_states;
mod pools;
mod races;
mod refusals;
mod roles;
mod safety;
mod scaling;
mod several_hosts;
mod statistics;
mod unfit;
mod violations;
mod within;

use std::collections::BTreeSet;

use super::*;
use crate::error::{NoPlace, ReasonCode};
use crate::model::claims::ClaimQuery;
use crate::model::providers::{Describe, DescribeAll};
use crate::model::workloads::{
    Adopted, AffinityKind, AffinityRule, Delete, Level, Mode, Neighbourhood, PlanJob, Put, Report, Role, Spec,
    SpecRule, SpreadRule, delete, fetch, fetch_with_neighbours, put_with, report_job,
};
use crate::search::{Description, Interrupt, ProviderState, Request, SearchSettings};
pub(super) use bodies::{read, stored};

const WORKLOAD: u32 = 900;

/// Describes a host: fault and upgrade domains, `-` for none.
pub(super) async fn describe(
    model: &Model,
    host: u32,
    generation: Option<i64>,
    at: (&str, &str),
    state: ProviderState,
) {
    model.submit(description(host, generation, at, state)).await.unwrap();
}

pub(super) fn description(host: u32, generation: Option<i64>, at: (&str, &str), state: ProviderState) -> DescribeAll {
    let domains = [("fault", at.0), ("upgrade", at.1)];
    let domains = domains.into_iter().filter(|(_, path)| *path != "-");
    let new = Describe {
        provider: uuid(host),
        name: None,
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
        definition: format!("{amount}").into(),
    }
}

pub(super) fn spread(mode: Mode, dimensions: &[&str]) -> SpecRule {
    SpecRule::Spread(SpreadRule {
        level: Level::Hard,
        mode,
        dimensions: dimensions.iter().map(|name| (*name).to_owned()).collect(),
        strict: false,
    })
}

pub(super) fn spec(count: u32, rules: Option<Vec<SpecRule>>) -> Spec {
    Spec {
        roles: vec![role("replica", count, 1)],
        rules,
        quorum: true,
        lost_after: None,
        min: None,
        consumer_type: "INSTANCE".to_owned(),
    }
}

pub(super) fn put(n: u32, generation: Option<i64>, spec: Spec) -> Put {
    Put {
        uuid: uuid(n),
        name: format!("workload-{n}"),
        owner: Owner {
            project: "p".into(),
            user: "u".into(),
        },
        sees_others: false,
        generation,
        body: format!("{spec:?}"),
        spec,
        ids: None,
        adopted: Vec::new(),
        swaps: Vec::new(),
        is_atomic: true,
        is_retry: false,
        replaces_lost: false,
        is_dry_run: false,
    }
}

pub(super) async fn place(model: &Model, put: Put) -> Result<Report> {
    let search = async |job: PlanJob| job.run(&Interrupt::default()).map_err(checked);
    put_with(model, put, (&SearchSettings::uncut(7), &caller()), search).await
}

fn checked(error: Error) -> Error {
    if let Error::NoPlace { refusal } = &error {
        assert!(refusal.is_exact, "{refusal:?}");
    }
    error
}

/// The hosts of the replicas, by number.
fn hosts(report: &Report) -> BTreeSet<u32> {
    let hosts = report.replicas.iter().filter_map(|it| it.host());
    hosts.map(|host| host[24..].parse().unwrap()).collect()
}

/// Ids with their hosts.
fn places(report: &Report) -> Vec<(String, Option<u32>)> {
    let places = report.replicas.iter();
    let host = |host: &str| host[24..].parse().unwrap();
    places
        .map(|it| (it.replica.row.id.clone(), it.host().map(host)))
        .collect()
}

fn no_place(refused: Result<Report>) -> NoPlace {
    match refused.unwrap_err() {
        Error::NoPlace { refusal } => (*refusal).clone(),
        other => panic!("{other:?}"),
    }
}

/// The numbers of the workloads with a broken rule, with the codes.
pub(super) async fn violated(model: &Model) -> Vec<(u32, Vec<ReasonCode>)> {
    violations::filtered(model, crate::model::violations::Filter::default()).await
}

/// The first reason of this code: requested and free.
fn figures_of(refusal: &NoPlace, code: ReasonCode) -> Option<(i64, i64)> {
    let mut reasons = refusal.reasons.kept().iter().filter(|it| it.code == code);
    reasons.find_map(|it| it.requested.zip(it.free))
}

/// Three sites with three hosts each, and three upgrade domains across the sites.
const NINE: [(&str, &str); 9] = [
    ("fd:/dc1/r0", "UD1"),
    ("fd:/dc1/r0", "UD2"),
    ("fd:/dc1/r0", "UD3"),
    ("fd:/dc2/r0", "UD1"),
    ("fd:/dc2/r0", "UD2"),
    ("fd:/dc2/r0", "UD3"),
    ("fd:/dc3/r0", "UD1"),
    ("fd:/dc3/r0", "UD2"),
    ("fd:/dc3/r0", "UD3"),
];

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
    let report = place(&f.model, put(WORKLOAD, None, spec(3, None))).await.unwrap();
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
    place(&f.model, put(WORKLOAD, None, spec(2, None))).await.unwrap();
    for stale in [None, Some(7)] {
        let refused = place(&f.model, put(WORKLOAD, stale, spec(3, None))).await.unwrap_err();
        assert!(matches!(refused, Error::StaleGeneration { .. }), "{refused:?}");
    }
    let refused = place(&f.model, put(WORKLOAD + 1, Some(1), spec(1, None)))
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::StaleGeneration { .. }), "{refused:?}");
    // The same request again changes nothing; a new name does.
    let again = place(&f.model, put(WORKLOAD, Some(1), spec(2, None))).await.unwrap();
    assert_eq!(again.row.generation, 1);
    let mut renamed = put(WORKLOAD, Some(1), spec(2, None));
    renamed.name = "renamed".to_owned();
    for generation in [1, 2] {
        renamed.generation = Some(generation);
        assert_eq!(place(&f.model, renamed.clone()).await.unwrap().row.generation, 2);
    }
}

#[actix_web::test]
async fn a_name_belongs_to_one_workload_of_a_project() {
    let f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, spec(1, None))).await.unwrap();
    let mut same = put(WORKLOAD + 1, None, spec(1, None));
    same.name = format!("workload-{WORKLOAD}");
    let refused = place(&f.model, same.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::DuplicateWorkload { .. }), "{refused:?}");
    same.owner.project = "other".to_owned();
    place(&f.model, same).await.unwrap();
}

#[actix_web::test]
async fn a_dry_run_answers_as_the_request_and_writes_nothing() {
    let mut f = cluster(&SITES).await;
    for workload in WORKLOAD..WORKLOAD + 6 {
        let rows = |f: &mut Fixture| {
            let workloads = f.number("SELECT COUNT(*) AS n FROM placet_workloads");
            (workloads, f.number("SELECT COUNT(*) AS n FROM allocations"))
        };
        let before = rows(&mut f);
        let mut dry = put(workload, None, spec(1, None));
        dry.is_dry_run = true;
        let search = async |job: PlanJob| job.run(&Interrupt::default());
        let other_seed = SearchSettings::uncut(workload.into());
        let foreseen = put_with(&f.model, dry, (&other_seed, &caller()), search).await.unwrap();
        assert_eq!(rows(&mut f), before);
        let done = place(&f.model, put(workload, None, spec(1, None))).await.unwrap();
        assert_eq!(places(&foreseen), places(&done));
    }
}

#[actix_web::test]
async fn an_adopted_consumer_counts_and_keeps_what_it_has_when_it_leaves() {
    let mut f = cluster(&SITES).await;
    f.model
        .submit(super::claim(1, 1, "VCPU", 3, Expected::New))
        .await
        .unwrap();
    let mut adopt = put(WORKLOAD, None, spec(3, Some(vec![spread(Mode::OneEach, &["fault"])])));
    adopt.adopted = vec![Adopted {
        consumer: uuid(1),
        id: Some("1".to_owned()),
        role: None,
    }];
    let report = place(&f.model, adopt.clone()).await.unwrap();
    assert_eq!(places(&report)[1], ("1".to_owned(), Some(1)));
    assert!(!hosts(&report).contains(&2), "host 2 is in the same domain");
    // The replica keeps its id: the same request changes nothing, and a new id is refused.
    adopt.generation = Some(1);
    assert_eq!(place(&f.model, adopt.clone()).await.unwrap().row.generation, 1);
    adopt.adopted[0].id = Some("9".to_owned());
    let refused = place(&f.model, adopt.clone()).await.unwrap_err().to_string();
    assert!(refused.contains("already replica 1 of the workload"), "{refused}");
    adopt.generation = None;
    // A second workload gets neither the consumer nor a consumer of a different project.
    adopt.uuid = uuid(WORKLOAD + 1);
    adopt.name = "other".to_owned();
    let refused = place(&f.model, adopt.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::ConsumerTaken { .. }), "{refused:?}");
    adopt.owner.project = "other".to_owned();
    adopt.adopted[0].consumer = uuid(2);
    assert!(matches!(place(&f.model, adopt).await, Err(Error::BadRequest { .. })));
    delete(&f.model, &uuid(WORKLOAD), Some(1), Delete::default(), &caller())
        .await
        .unwrap();
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 1);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_replicas"), 0);
    assert_eq!(f.used(1), 3);
    f.check_snapshot().await;
}

/// A workload and its neighbours, read in one transaction as the service does.
pub(super) async fn neighbourhood(model: &Model, n: u32) -> Neighbourhood {
    fetch_with_neighbours(model.reader(false), uuid(n)).await.unwrap()
}
