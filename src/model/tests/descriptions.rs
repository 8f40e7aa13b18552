//! Descriptions of providers: generations, races, reads by peers and after reloads, and rows left by foreign writers.

use super::multi_process::submit_together;
use super::*;
use crate::model::providers::{self, Describe, DescribeAll, Described};
use crate::search::{Description, PropertyValue, ProviderState};

/// The property `Value`, a domain and a state of a provider.
pub(super) fn one(provider: u32, generation: Option<i64>, value: i64, state: ProviderState) -> DescribeAll {
    let properties = [("Value".into(), Some(PropertyValue::Integer(value)))];
    DescribeAll {
        providers: vec![Describe {
            provider: uuid(provider),
            name: None,
            generation,
            description: Description {
                properties: properties.into(),
                domains: [("fault".into(), "fd:/dc1/r0".into())].into(),
                state,
                ..Description::default()
            },
        }],
        is_list: false,
        is_forced: false,
    }
}

async fn describe(model: &Model, command: DescribeAll) -> Result<Described> {
    Ok(model.submit(command).await?.remove(0))
}

fn value(snapshot: &Snapshot, provider: u32) -> Option<PropertyValue> {
    snapshot.property(snapshot.by_uuid(&uuid(provider))?, "Value")
}

async fn has_trait(model: &Model, provider: u32) -> bool {
    let snapshot = model.snapshot().await.unwrap();
    let disabled = snapshot.catalog().trait_id("COMPUTE_STATUS_DISABLED").unwrap();
    snapshot.has_trait(snapshot.by_uuid(&uuid(provider)).unwrap(), disabled)
}

#[actix_web::test]
async fn a_description_is_shown_by_this_process_by_peers_and_after_a_start() {
    let mut f = fixture();
    let peer = f.start_peer();
    f.host(1, 10).await.unwrap();
    for (generation, given) in [(None, 5), (Some(1), 6)] {
        let described = describe(&f.model, one(1, generation, given, ProviderState::Up))
            .await
            .unwrap();
        assert_eq!(described.generation, Some(generation.unwrap_or(0) + 1));
        let models = [Some(&f.model), peer.as_ref().map(|(peer, _)| peer)];
        for model in models.into_iter().flatten() {
            let snapshot = model.snapshot().await.unwrap();
            assert_eq!(value(&snapshot, 1), Some(PropertyValue::Integer(given)));
        }
    }
    let loaded = dialect::read_transaction(&mut f.conn, |conn| {
        crate::model::snapshot::reload::everything(conn, || Ok(()))
    });
    assert_eq!(value(&loaded.unwrap().snapshot, 1), Some(PropertyValue::Integer(6)));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn of_concurrent_descriptions_with_one_generation_one_is_written() {
    let mut f = fixture();
    let peer = f.start_peer();
    f.host(1, 10).await.unwrap();
    let mut generation = None;
    for round in 0..10 {
        let other = peer.as_ref().map_or(&f.model, |(peer, _)| peer);
        let work = (0..8).map(|n| {
            let model = if n % 2 == 0 { &f.model } else { other };
            (model, one(1, generation, round * 8 + n, ProviderState::Up))
        });
        let answers = submit_together(work.collect()).await;
        let granted: Vec<i64> = answers.iter().flatten().filter_map(|it| it[0].generation).collect();
        assert_eq!(granted, [round + 1], "{answers:?}");
        let refused = answers
            .iter()
            .filter(|it| matches!(it, Err(Error::StaleDescriptions { .. })));
        assert_eq!(refused.count(), 7);
        generation = Some(round + 1);
    }
    assert_eq!(f.number("SELECT generation AS n FROM placet_descriptions"), 10);
}

#[actix_web::test]
async fn the_trait_for_nova_comes_and_goes_in_the_transaction_of_the_state() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let before = f.generation(1);
    let states = [
        (ProviderState::Draining, true, 1),
        (ProviderState::Off, true, 1),
        (ProviderState::Up, false, 2),
    ];
    for (at, (state, has, moves)) in (0..).zip(states) {
        let generation = (at > 0).then_some(at);
        describe(&f.model, one(1, generation, 1, state)).await.unwrap();
        assert_eq!((has_trait(&f.model, 1).await, f.generation(1)), (has, before + moves));
        let sql = "SELECT COUNT(*) AS n FROM placet_descriptions d WHERE d.sets_trait = 1 AND (d.state = 'up' \
                   OR NOT EXISTS (SELECT 1 FROM resource_provider_traits t \
                   WHERE t.resource_provider_id = d.resource_provider_id))";
        assert_eq!(f.number(sql), 0);
    }
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_refused_list_describes_none_of_its_providers() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let mut list = one(1, None, 1, ProviderState::Off);
    list.providers.extend(one(2, None, 1, ProviderState::Up).providers);
    list.is_list = true;
    let refused = f.model.submit(list).await.unwrap_err();
    assert!(refused.to_string().contains("providers[1].uuid"), "{refused}");
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_descriptions"), 0);
    assert!(!has_trait(&f.model, 1).await);
}

#[actix_web::test]
async fn a_deleted_provider_leaves_no_description() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    describe(&f.model, one(1, None, 1, ProviderState::Up)).await.unwrap();
    let delete = crate::model::resource_providers::Delete { uuid: uuid(1) };
    f.model.submit(delete).await.unwrap();
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_descriptions"), 0);
    f.host(1, 10).await.unwrap();
    assert_eq!(value(&f.model.snapshot().await.unwrap(), 1), None);
}

#[actix_web::test]
async fn a_description_that_another_program_left_is_ignored_and_replaced() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    describe(&f.model, one(1, None, 1, ProviderState::Up)).await.unwrap();
    // As after a deletion by a foreign writer on SQLite, which gives the id to the next provider.
    f.execute(&format!("UPDATE placet_descriptions SET uuid = '{}'", uuid(9)));
    assert_eq!(f.described(1).await.generation, None);
    let described = describe(&f.model, one(1, None, 2, ProviderState::Up)).await.unwrap();
    assert_eq!(described.generation, Some(1));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_descriptions"), 1);
    assert_eq!(
        value(&f.model.snapshot().await.unwrap(), 1),
        Some(PropertyValue::Integer(2))
    );
}

#[actix_web::test]
async fn rows_that_were_left_with_exchanged_ids_are_replaced_together() {
    let mut f = fixture();
    for provider in [1, 2] {
        f.host(provider, 10).await.unwrap();
        describe(&f.model, one(provider, None, 1, ProviderState::Up))
            .await
            .unwrap();
    }
    // As after a foreign writer deleted both providers, and created both again in the opposite order.
    let (first, second) = (uuid(1), uuid(2));
    f.execute(&format!(
        "UPDATE placet_descriptions SET uuid = CASE uuid WHEN '{first}' THEN '{second}' ELSE '{first}' END"
    ));
    let mut both = one(1, None, 2, ProviderState::Up);
    both.providers.extend(one(2, None, 3, ProviderState::Up).providers);
    both.is_list = true;
    let described = f.model.submit(both).await.unwrap();
    assert!(described.iter().all(|it| it.generation == Some(1)), "{described:?}");
    for (provider, given) in [(1, 2), (2, 3)] {
        let shown = f.described(provider).await.description;
        assert_eq!(shown.properties["Value"], Some(PropertyValue::Integer(given)));
    }
}

/// Found by a hostile reader: a page of 1,000 providers had 18 MB.
#[actix_web::test]
async fn hostile_09_a_page_of_long_descriptions_ends_early_and_the_next_one_goes_on() {
    const TEXT_BYTES: usize = 1 << 20;
    let mut f = fixture();
    let numbers = 1..9;
    for n in numbers.clone() {
        f.host(n, 10).await.unwrap();
        let mut long = one(n, None, 0, ProviderState::Up);
        let text = PropertyValue::Text("x".repeat(TEXT_BYTES).into());
        long.providers[0]
            .description
            .properties
            .insert("Text".into(), Some(text));
        describe(&f.model, long).await.unwrap();
    }
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let (found, next) = providers::fetch_list(f.model.reader(false), after, 1_000)
            .await
            .unwrap();
        pages.push(found.into_iter().map(|it| it.uuid).collect::<Vec<_>>());
        if next.is_none() {
            break;
        }
        after = next;
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
    assert_eq!(pages.concat(), numbers.map(uuid).collect::<Vec<_>>());
}
