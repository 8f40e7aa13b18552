//! The types of providers: generations, deletion, peers, and the effect of a changed type on all providers.

use super::domains::domains_of;
use super::workloads::{place, stored, violated};
use super::*;
use crate::error::ReasonCode;
use crate::model::providers::{Describe, DescribeAll};
use crate::model::types::{self, Delete, Set, ShownType};
use crate::search::{Description, Properties, PropertyValue, Truth};

fn properties(all: &[(&str, i64)]) -> Properties {
    let all = all.iter();
    all.map(|(name, value)| ((*name).into(), Some(PropertyValue::Integer(*value))))
        .collect()
}

async fn set(model: &Model, generation: Option<i64>, all: &[(&str, i64)]) -> Result<ShownType> {
    let set = Set {
        name: "big".to_owned(),
        generation,
        properties: properties(all),
    };
    model.submit(set).await
}

async fn delete(model: &Model, generation: Option<i64>) -> Result<()> {
    let name = "big".to_owned();
    model.submit(Delete { name, generation }).await
}

/// Describes a host of the type, with own properties.
async fn describe(model: &Model, host: u32, kind: &str, own: &[(&str, i64)]) {
    let new = Describe {
        provider: uuid(host),
        name: None,
        generation: None,
        description: Description {
            kind: Some(kind.into()),
            properties: properties(own),
            ..Description::default()
        },
    };
    let describe = DescribeAll {
        providers: vec![new],
        is_list: false,
        is_forced: false,
    };
    model.submit(describe).await.unwrap();
}

/// The hosts for which a condition is true, by number.
fn matching(snapshot: &Snapshot, condition: &str) -> Vec<u32> {
    let condition: crate::search::Expression = condition.parse().unwrap();
    let is_true = |slot: &_| condition.judge(|name| snapshot.property(*slot, name)) == Truth::True;
    let hosts = snapshot.iter().filter(is_true);
    hosts.map(|slot| snapshot.uuid(slot)[24..].parse().unwrap()).collect()
}

#[actix_web::test]
async fn a_type_has_a_generation_and_may_be_deleted_while_providers_have_it() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    describe(&f.model, 1, "big", &[]).await;
    let shown = set(&f.model, None, &[("a", 1)]).await.unwrap();
    assert_eq!((shown.generation, shown.properties), (1, properties(&[("a", 1)])));
    for stale in [None, Some(2)] {
        let refused = set(&f.model, stale, &[("a", 2)]).await.unwrap_err();
        assert!(matches!(refused, Error::StaleGeneration { .. }), "{refused:?}");
    }
    assert_eq!(
        set(&f.model, Some(1), &[("a", 1)]).await.unwrap().generation,
        1,
        "equal"
    );
    let before = f.generation(1);
    assert_eq!(set(&f.model, Some(1), &[("a", 2)]).await.unwrap().generation, 2);
    assert_eq!(f.generation(1), before, "no generation of a provider moves");
    assert!(matches!(
        delete(&f.model, Some(1)).await,
        Err(Error::StaleGeneration { .. })
    ));
    let dry = Delete {
        name: "big".to_owned(),
        generation: Some(2),
    };
    f.model.submit_or_foresee(&caller(), dry, true).await.unwrap();
    assert_eq!(matching(&f.model.snapshot().await.unwrap(), "a == 2"), [1]);
    delete(&f.model, Some(2)).await.unwrap();
    assert!(matches!(delete(&f.model, None).await, Err(Error::NotFound { .. })));
    let read = types::fetch(f.model.reader(false), "big".to_owned()).await;
    assert!(matches!(read, Err(Error::NotFound { .. })));
    let snapshot = f.model.snapshot().await.unwrap();
    assert_eq!(matching(&snapshot, "a == 2"), [0u32; 0]);
    assert_eq!(
        matching(&snapshot, "ProviderType == big"),
        [1],
        "the provider keeps the type"
    );
    f.check_snapshot().await;
}

#[actix_web::test]
async fn types_are_listed_by_name_in_pages() {
    let f = fixture();
    for name in ["c", "Küche/x", "a", "b"] {
        let set = Set {
            name: name.to_owned(),
            generation: None,
            properties: properties(&[("a", 1)]),
        };
        f.model.submit(set).await.unwrap();
    }
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = types::Page { limit: 3, after };
        let (found, next) = types::fetch_list(f.model.reader(false), page).await.unwrap();
        names.extend(found.into_iter().map(|it| it.name));
        if next.is_none() {
            break;
        }
        after = next;
    }
    names.sort_unstable();
    assert_eq!(names, ["Küche/x", "a", "b", "c"]);
}

#[actix_web::test]
async fn a_type_is_shown_by_this_process_by_peers_and_after_a_start() {
    let mut f = fixture();
    let peer = f.start_peer();
    for host in 1..=3 {
        f.host(host, 10).await.unwrap();
    }
    describe(&f.model, 1, "big", &[]).await;
    describe(&f.model, 2, "big", &[("a", 7)]).await;
    describe(&f.model, 3, "small", &[]).await;
    for (generation, value) in [(None, 5), (Some(1), 6)] {
        set(&f.model, generation, &[("a", value)]).await.unwrap();
        let models = [Some(&f.model), peer.as_ref().map(|(peer, _)| peer)];
        for model in models.into_iter().flatten() {
            let snapshot = model.snapshot().await.unwrap();
            assert_eq!(matching(&snapshot, &format!("a == {value}")), [1]);
            assert_eq!(matching(&snapshot, "a == 7"), [2], "its own property comes first");
        }
    }
    let loaded = dialect::read_transaction(&mut f.conn, |conn| {
        crate::model::snapshot::reload::everything(conn, || Ok(()))
    });
    assert_eq!(matching(&loaded.unwrap().snapshot, "a == 6"), [1]);
    f.check_snapshot().await;
    let other = peer.as_ref().map_or(&f.model, |(peer, _)| peer);
    delete(other, None).await.unwrap();
    assert_eq!(matching(&f.model.snapshot().await.unwrap(), "a >= 5"), [2]);
    f.check_snapshot().await;
}

/// Eligible hosts are kept with the snapshot, and a change of a type changes no provider's row.
#[actix_web::test]
async fn a_changed_type_changes_which_hosts_a_workload_may_use() {
    let mut f = fixture();
    for host in 1..=4 {
        f.host(host, 10).await.unwrap();
        describe(&f.model, host, if host < 3 { "big" } else { "small" }, &[]).await;
    }
    let refused = place(&f.model, stored(901, None, "2 free a == 1")).await;
    assert!(matches!(refused, Err(Error::NoPlace { .. })), "{refused:?}");
    set(&f.model, None, &[("a", 1)]).await.unwrap();
    let placed = place(&f.model, stored(901, None, "2 free a == 1")).await.unwrap();
    let mut hosts: Vec<&str> = placed.replicas.iter().filter_map(|it| it.host()).collect();
    hosts.sort_unstable();
    assert!(
        hosts
            .iter()
            .all(|host| [uuid(1), uuid(2)].contains(&(*host).to_owned())),
        "{hosts:?}"
    );
    assert_eq!(domains_of(&f.model, "none", "a == 1").await, []);
    // The placed replicas break the condition now.
    set(&f.model, Some(1), &[("a", 2)]).await.unwrap();
    let shown = violated(&f.model).await;
    assert_eq!(shown, [(901, vec![ReasonCode::Condition; 2])]);
}
