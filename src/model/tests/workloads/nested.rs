//! Hosts with child providers, of which each replica takes one.

use super::*;
use crate::search::Rank;

/// A host of two nodes, each with this much VCPU and this usage.
async fn nodes(f: &mut Fixture, host: u32, of_nodes: [(u32, i32, i64); 2]) {
    let named = [(host, None)]
        .into_iter()
        .chain(of_nodes.map(|(node, ..)| (node, Some(host))));
    for (provider, parent) in named {
        let create = Create {
            uuid: uuid(provider),
            name: format!("provider-{provider}"),
            parent: parent.map(uuid),
        };
        f.model.submit(create).await.unwrap();
    }
    for (node, total, used) in of_nodes {
        f.model.submit(adding(node, "VCPU", total)).await.unwrap();
        f.model.submit(adding(node, "MEMORY_MB", 1000)).await.unwrap();
        take(f, node, used).await;
    }
}

/// Uses this much of a provider for a consumer outside of the workload.
async fn take(f: &mut Fixture, provider: u32, used: i64) {
    if used > 0 {
        let claim = super::super::claim(1000 + provider, provider, "VCPU", used, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
}

fn ranked(name: &str, count: u32, amount: i64, rank: Rank) -> Role {
    let mut role = role(name, count, amount);
    role.query.rank = Some(rank);
    role
}

/// Several replicas may be on the same host.
fn on_few_hosts(roles: Vec<Role>) -> Spec {
    Spec {
        roles,
        ..spec(0, Some(vec![spread(Mode::MaxDifference, &["host"])]))
    }
}

/// As [`place`], where a refusal need not be proven.
async fn place_unproven(model: &Model, put: Put) -> Result<Report> {
    let search = async |job: PlanJob| job.run(&Interrupt::default());
    put_with(model, put, (&SearchSettings::uncut(7), &caller()), search).await
}

/// The emptiest node was given to the small role, which came first, and the large role had no room.
#[actix_web::test]
async fn roles_that_fit_on_a_host_in_another_order_are_placed() {
    let mut f = fixture();
    nodes(&mut f, 1, [(11, 4, 0), (12, 2, 0)]).await;
    let roles = vec![ranked("small", 1, 2, Rank::Emptiest), role("large", 1, 4)];
    let report = place(&f.model, put(WORKLOAD, None, on_few_hosts(roles))).await.unwrap();
    assert!(report.is_exact);
    assert_eq!((f.used(11), f.used(12)), (4, 2));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_refusal_is_no_proof_if_a_tree_may_have_room_in_another_order() {
    let mut f = fixture();
    nodes(&mut f, 1, [(11, 7, 0), (12, 7, 0)]).await;
    // 4 and 3 fill the first node, 3, 2 and 2 the second. The emptiest node is never the right choice.
    let roles = vec![
        ranked("large", 1, 4, Rank::Emptiest),
        ranked("middle", 2, 3, Rank::Emptiest),
        ranked("small", 2, 2, Rank::Emptiest),
    ];
    let refusal = no_place(place_unproven(&f.model, put(WORKLOAD, None, on_few_hosts(roles))).await);
    assert!(!refusal.is_exact, "{refusal:?}");
}

#[actix_web::test]
async fn a_refusal_of_equal_replicas_of_one_provider_each_is_a_proof() {
    let mut f = fixture();
    nodes(&mut f, 1, [(11, 10, 0), (12, 10, 0)]).await;
    let asked = |count| put(WORKLOAD, None, on_few_hosts(vec![role("replica", count, 4)]));
    assert_eq!(no_place(place(&f.model, asked(5)).await).missing, 5);
    let report = place(&f.model, asked(4)).await.unwrap();
    assert!(report.is_exact);
    assert_eq!((f.used(11), f.used(12)), (8, 8));
}
