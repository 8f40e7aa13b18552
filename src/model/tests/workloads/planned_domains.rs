//! Domains which change between the plan of a workload and the write: the workload is planned again.

use super::interleaving::place_while;
use super::*;

async fn described(model: &Model, host: u32) -> crate::model::providers::Described {
    let reader = model.reader(false);
    crate::model::providers::fetch(reader, uuid(host)).await.unwrap()
}

pub async fn domain(model: &Model, host: u32, dimension: &str) -> String {
    described(model, host).await.description.domains[dimension].to_string()
}

async fn set_domain(model: &Model, host: u32, dimension: &str, path: &str) {
    let mut new = described(model, host).await;
    new.description.domains.insert(dimension.into(), path.into());
    let describe = DescribeAll {
        providers: vec![Describe {
            provider: new.uuid,
            name: None,
            generation: new.generation,
            description: new.description,
        }],
        is_list: false,
        is_forced: false,
    };
    model.submit(describe).await.unwrap();
}

/// Moves a host to the domain of host `of`.
async fn join_domain(model: &Model, host: u32, of: u32) {
    let path = domain(model, of, "fault").await;
    set_domain(model, host, "fault", &path).await;
}

async fn assert_one_each(model: &Model, report: &Report, what: &str) {
    let mut domains = BTreeSet::new();
    for host in hosts(report) {
        let path = domain(model, host, "fault").await;
        assert!(domains.insert(path.clone()), "{what}: two replicas are in {path}");
    }
    assert_eq!(domains.len(), report.replicas.len(), "{what}");
}

/// Six hosts in three sites. A child of each host has the capacity that the host lacks.
async fn nested() -> Fixture {
    let f = cluster(&SITES).await;
    for host in 1..=6 {
        let below = Create {
            uuid: uuid(50 + host),
            name: format!("below-{host}"),
            parent: Some(uuid(host)),
        };
        f.model.submit(below).await.unwrap();
        f.model.submit(adding(50 + host, "VCPU", 1000)).await.unwrap();
    }
    f
}

#[actix_web::test]
async fn a_placement_that_was_planned_before_a_host_changed_its_domain_is_planned_again() {
    let mut f = nested().await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
    let mut n = WORKLOAD;
    for (changing, amount) in [(&f.model, 1), (&f.model, 20), (other, 1), (other, 20)] {
        for is_new in [true, false] {
            n += 1;
            let what = format!("workload {n}, {amount} VCPU, new: {is_new}");
            let one_each = |count: u32| {
                let mut put = stored(n, None, &format!("{count} one-each"));
                put.spec.roles[0].query = query(amount, "");
                put
            };
            if !is_new {
                place(&f.model, one_each(0)).await.unwrap();
            }
            let put = Put {
                generation: (!is_new).then_some(1),
                ..one_each(2)
            };
            let (report, plans) = place_while(&f.model, put, async |plan, report| {
                if plan == 1 {
                    let chosen: Vec<u32> = hosts(report).into_iter().collect();
                    join_domain(changing, chosen[0], chosen[1]).await;
                }
            })
            .await;
            assert_one_each(&f.model, &report.unwrap(), &what).await;
            assert_eq!(plans, 2, "{what}");
            delete(&f.model, &uuid(n), None, Delete::default(), &caller())
                .await
                .unwrap();
            for (host, (fault, _)) in (1..).zip(SITES) {
                set_domain(&f.model, host, "fault", fault).await;
            }
        }
    }
    f.check_snapshot().await;
}

/// Until now no rule held the domains of such a host.
#[actix_web::test]
async fn a_host_below_a_replica_that_a_rule_is_new_for_has_the_domain_of_the_plan() {
    let mut f = cluster(&SITES).await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
    f.model
        .submit(super::super::claim(1, 1, "VCPU", 1, Expected::New))
        .await
        .unwrap();
    let free = stored(901, None, "1 free Number == 1");
    place(&f.model, free).await.unwrap();
    let adopting = Put {
        adopted: vec![Adopted {
            consumer: uuid(1),
            id: None,
            role: None,
        }],
        ..stored(902, None, "2 one-each")
    };
    let other_rule = stored(901, Some(1), "2 one-each");
    for (put, changing) in [(adopting, other), (other_rule, other)] {
        let what = put.name.clone();
        let n = put.uuid.clone();
        let (report, plans) = place_while(&f.model, put, async |plan, report| {
            if plan == 1 {
                let new = hosts(report).into_iter().find(|host| *host != 1);
                join_domain(changing, 1, new.unwrap()).await;
            }
        })
        .await;
        assert_one_each(&f.model, &report.unwrap(), &what).await;
        assert_eq!(plans, 2, "{what}");
        delete(&f.model, &n, None, Delete::default(), &caller()).await.unwrap();
    }
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_domain_that_no_rule_names_lets_the_plan_stand() {
    let f = cluster(&SITES).await;
    let put = stored(WORKLOAD, None, "2 one-each");
    let (report, plans) = place_while(&f.model, put, async |_, report| {
        let chosen = *hosts(report).first().unwrap();
        set_domain(&f.model, chosen, "upgrade", "9").await;
    })
    .await;
    assert_one_each(&f.model, &report.unwrap(), "upgrade").await;
    assert_eq!(plans, 1);
}
