//! Several processes on one database, and values that the servers store differently from SQLite.

use std::collections::BTreeMap;

use super::*;
use crate::error::Error;
use crate::model::inventories;
use crate::model::resource_providers::Update;

impl Fixture {
    /// Starts a second process on the same database; `None` on SQLite, whose file is served by one process.
    pub fn start_peer(&self) -> Option<(Model, Running)> {
        let database = self.kept.open();
        match Kind::of(&database.connect().unwrap()) {
            Kind::Sqlite => None,
            _ => Some(Model::start((database, None), &writer_settings(), rules(), None, pools()).unwrap()),
        }
    }

    /// Asserts that nothing is left over: no consumer without allocations, no row inserted as a lock, no allocation
    /// without a consumer.
    pub fn check_consumers(&mut self) {
        let odd = "SELECT COUNT(*) AS n FROM consumers c WHERE project_id < 0 OR NOT EXISTS \
                   (SELECT 1 FROM allocations a WHERE a.consumer_id = c.uuid)";
        assert_eq!(self.number(odd), 0);
        let orphans = "SELECT COUNT(*) AS n FROM allocations a WHERE NOT EXISTS \
                       (SELECT 1 FROM consumers c WHERE a.consumer_id = c.uuid)";
        assert_eq!(self.number(orphans), 0);
    }
}

/// The number of results of each kind.
pub fn tally<T>(results: Vec<Result<T>>) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for result in results {
        let kind = match result {
            Ok(_) => "granted".to_owned(),
            Err(error) => format!("{error:?}")
                .split([' ', '{'])
                .next()
                .unwrap_or_default()
                .to_owned(),
        };
        *tally.entry(kind).or_default() += 1;
    }
    tally
}

pub fn counted(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    expected.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect()
}

/// Submits all commands at the same time. Returns their results.
pub async fn submit_together<C: crate::model::batch::command::Write>(work: Vec<(&Model, C)>) -> Vec<Result<C::Answer>>
where
    C::Answer: 'static,
{
    let tasks: Vec<_> = work
        .into_iter()
        .map(|(model, command)| {
            let model = model.clone();
            actix_web::rt::spawn(async move { model.submit(command).await })
        })
        .collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

#[actix_web::test]
async fn claims_of_several_processes_fill_a_provider_exactly() {
    let mut f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    f.host(1, 50).await.unwrap();
    let work = (0..120).map(|n| {
        (
            if n % 2 == 0 { &f.model } else { &other },
            claim(1000 + n, 1, "VCPU", 1, Expected::New),
        )
    });
    let results = submit_together(work.collect()).await;
    assert_eq!(tally(results), counted(&[("granted", 50), ("CapacityExceeded", 70)]));
    assert_eq!((f.used(1), f.number("SELECT COUNT(*) AS n FROM consumers")), (50, 50));
    f.check_consumers();
}

#[actix_web::test]
async fn a_consumer_is_created_by_one_of_two_processes() {
    let mut f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    f.host(1, 1000).await.unwrap();
    for round in 0..30 {
        let work = vec![
            (&f.model, claim(2000 + round, 1, "VCPU", 1, Expected::New)),
            (&other, claim(2000 + round, 1, "VCPU", 2, Expected::New)),
        ];
        let results = submit_together(work).await;
        assert_eq!(
            tally(results),
            counted(&[("granted", 1), ("StaleConsumerGeneration", 1)]),
            "round {round}"
        );
    }
    f.check_consumers();
}

/// Each process may wait for a consumer inserted by the peer. If both wait, the result is a deadlock.
#[actix_web::test]
async fn each_of_many_consumers_is_created_by_one_of_two_processes() {
    let mut f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    f.host(1, 1000).await.unwrap();
    for round in 0..8 {
        let consumer = |n: u32| claim(5000 + 16 * round + n, 1, "VCPU", 1, Expected::New);
        let first = (0..16).map(|n| (&f.model, consumer(n)));
        let second = (0..16).rev().map(|n| (&other, consumer(n)));
        let work = first.zip(second).flat_map(|(one, other)| [one, other]).collect();
        assert_eq!(
            tally(submit_together(work).await),
            counted(&[("granted", 16), ("StaleConsumerGeneration", 16)]),
            "round {round}"
        );
    }
    assert_eq!(f.used(1), 128);
    f.check_consumers();
}

#[actix_web::test]
async fn a_claim_and_a_release_of_two_processes_leave_all_or_nothing() {
    let mut f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    f.host(1, 1000).await.unwrap();
    for round in 0..30 {
        let consumer = 3000 + round;
        f.model
            .submit(claim(consumer, 1, "VCPU", 1, Expected::New))
            .await
            .unwrap();
        let again = claim(consumer, 1, "VCPU", 2, Expected::Is(1));
        let release = crate::model::allocations::Release {
            consumer: uuid(consumer),
        };
        let (model, second) = (f.model.clone(), other.clone());
        let claimed = actix_web::rt::spawn(async move { model.submit(again).await });
        let released = actix_web::rt::spawn(async move { second.submit(release).await });
        let (claimed, released) = (claimed.await.unwrap(), released.await.unwrap());
        assert!(released.is_ok(), "round {round}: {released:?}");
        assert!(
            matches!(claimed, Ok(()) | Err(Error::StaleConsumerGeneration { .. })),
            "round {round}: {claimed:?}"
        );
        f.check_consumers();
    }
    assert_eq!(f.used(1), 0);
}

/// Submits a command while the transaction on `f.conn` is open, then commits the transaction. Returns the answer.
async fn submit_during_transaction<C: crate::model::batch::command::Write>(
    f: &mut Fixture,
    command: C,
) -> Result<C::Answer>
where
    C::Answer: 'static,
{
    let model = f.model.clone();
    let task = actix_web::rt::spawn(async move { model.submit(command).await });
    actix_web::rt::time::sleep(std::time::Duration::from_millis(500)).await;
    crate::db::engines::dialect::commit(&mut f.conn).unwrap();
    task.await.unwrap()
}

/// A consumer without allocations, as left behind by OpenStack Placement: only the consumer's own row is a guard.
#[actix_web::test]
async fn a_consumer_that_is_getting_allocations_is_not_deleted() {
    let mut f = fixture();
    let Some(_) = f.start_peer() else { return };
    f.host(1, 10).await.unwrap();
    foreign::foreign_claim(&mut f, 20, 1, 2);
    f.execute("DELETE FROM allocations");
    crate::db::engines::dialect::begin_write(&mut f.conn).unwrap();
    f.execute(&format!(
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) \
         SELECT id, '{}', 0, 1 FROM resource_providers WHERE uuid = '{}'",
        uuid(20),
        uuid(1)
    ));
    f.execute("UPDATE resource_providers SET generation = generation + 1");
    f.execute("UPDATE consumers SET generation = 2");
    let ended = submit_during_transaction(&mut f, claim_of(vec![consumer_claim(20, vec![], Expected::Is(1))])).await;
    assert!(matches!(ended, Err(Error::StaleConsumerGeneration { .. })), "{ended:?}");
    assert_eq!(f.used(1), 1);
    f.check_consumers();
}

#[actix_web::test]
async fn a_provider_that_is_getting_allocations_is_not_deleted() {
    let mut f = fixture();
    let Some(_) = f.start_peer() else { return };
    f.host(1, 10).await.unwrap();
    crate::db::engines::dialect::begin_write(&mut f.conn).unwrap();
    foreign::foreign_claim(&mut f, 20, 1, 2);
    let deleted = submit_during_transaction(&mut f, crate::model::resource_providers::Delete { uuid: uuid(1) }).await;
    assert!(matches!(deleted, Err(Error::ProviderInUse { .. })), "{deleted:?}");
    assert_eq!(f.used(1), 2);
}

#[actix_web::test]
async fn one_of_two_processes_creates_a_provider_of_a_name() {
    let f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    for round in 0..20 {
        let create = |n: u32| Create {
            uuid: uuid(4000 + 2 * round + n),
            name: format!("same-{round}"),
            parent: None,
        };
        let results = submit_together(vec![(&f.model, create(0)), (&other, create(1))]).await;
        assert_eq!(
            results.iter().filter(|result| result.is_ok()).count(),
            1,
            "round {round}: {results:?}"
        );
        let refused = results.into_iter().find_map(Result::err).unwrap();
        assert!(
            matches!(refused, Error::DuplicateProvider { .. }),
            "round {round}: {refused:?}"
        );
    }
}

#[actix_web::test]
async fn a_ratio_is_stored_exactly_enough_for_the_last_unit() {
    for (ratio, room) in [(0.9, 9), (1.1, 11)] {
        let mut f = fixture();
        f.host(1, 1).await.unwrap();
        let update = inventories::Update {
            provider: uuid(1),
            generation: 1,
            class: "VCPU".into(),
            inventory: Inventory {
                total: 10,
                allocation_ratio: ratio,
                ..inventory(10)
            },
            reserved_may_equal_total: true,
        };
        f.model.submit(update).await.unwrap();
        let shown = inventories::show(&mut f.conn, &uuid(1), "VCPU").unwrap();
        assert_eq!(shown.inventories[0].1.allocation_ratio, ratio);
        let snapshot = f.model.snapshot().await.unwrap();
        let slot = snapshot.by_uuid(&uuid(1)).unwrap();
        assert_eq!(
            snapshot.row(slot).inventories.values().next().unwrap().allocation_ratio,
            ratio
        );
        let too_much = f.model.submit(claim(10, 1, "VCPU", room + 1, Expected::New)).await;
        assert!(
            matches!(too_much, Err(Error::CapacityExceeded { .. })),
            "{ratio}: {too_much:?}"
        );
        f.model.submit(claim(10, 1, "VCPU", room, Expected::New)).await.unwrap();
    }
}

/// As with OpenStack Placement: on MariaDB a name with a difference only in case is taken, and so is a consumer's uuid.
#[actix_web::test]
async fn names_are_compared_as_the_database_does() {
    let mut f = fixture();
    let folds = Kind::of(&f.conn) == Kind::Mariadb;
    f.host(1, 10).await.unwrap();
    let create = |n: u32, name: &str| Create {
        uuid: uuid(n),
        name: name.into(),
        parent: None,
    };
    for (n, name) in [(2, "HOST-1"), (3, "h\u{f3}st-1")] {
        let made = f.model.submit(create(n, name)).await;
        let taken = matches!(made, Err(Error::DuplicateProvider { .. }));
        assert_eq!((made.is_ok(), taken), (!folds, folds), "{name}: {made:?}");
    }
    let rename = Update {
        uuid: uuid(1),
        name: "Host-1".into(),
        parent: crate::model::resource_providers::NewParent::Keep,
        may_reparent: true,
    };
    f.model.submit(rename).await.expect("its own name in another case");

    let mut first = claim(0xa, 1, "VCPU", 1, Expected::New);
    first.consumers[0].consumer = "aaaaaaaa-0000-4000-8000-00000000000a".into();
    let mut second = first.clone();
    second.consumers[0].consumer = "AAAAAAAA-0000-4000-8000-00000000000A".into();
    second.consumers[0].owner = Some(Owner {
        project: "P".into(),
        user: "\u{fa}".into(),
    });
    f.model.submit(first).await.unwrap();
    let again = f.model.submit(second.clone()).await;
    let stale = matches!(again, Err(Error::StaleConsumerGeneration { .. }));
    assert_eq!((again.is_ok(), stale), (!folds, folds), "{again:?}");
    if folds {
        second.consumers[0].generation = Expected::Is(1);
        f.model.submit(second).await.unwrap();
        assert_eq!(f.number("SELECT COUNT(*) AS n FROM projects"), 1);
        assert_eq!(f.number("SELECT COUNT(*) AS n FROM users"), 1);
    }
    f.check_consumers();
    f.check_snapshot().await;
}
