//! Claims of new consumers, whose rows are written without being read first.

use std::time::Duration;

use actix_web::rt;

use super::process::Process;
use super::*;
use crate::error::Error;
use crate::model::batch::command::Write;
use crate::model::resource_classes::{Ensure, Rename};

/// A host, and three claims without a conflict. After these claims the writer takes its peers to be idle.
async fn host_and_idle_peers(f: &mut Fixture) {
    f.host(1, 100).await.unwrap();
    for consumer in 10..13 {
        let claim = claim(consumer, 1, "VCPU", 1, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
}

/// As `host_and_idle_peers`, with a custom class on the host and in a claim.
async fn host_with_class_and_idle_peers(f: &mut Fixture) {
    let ensure = Ensure {
        name: "CUSTOM_OLD".into(),
    };
    f.model.submit(ensure).await.unwrap();
    host_and_idle_peers(f).await;
    let add = adding(1, "CUSTOM_OLD", 10);
    f.model.submit(add).await.unwrap();
    for consumer in [30, 32, 33] {
        let claim = claim(consumer, 1, "CUSTOM_OLD", 1, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
}

/// Older releases of OpenStack Placement left allocations whose consumer has no row.
#[actix_web::test]
async fn a_new_consumer_replaces_allocations_that_were_left_under_its_uuid() {
    let mut f = fixture();
    host_and_idle_peers(&mut f).await;
    f.execute(&format!(
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) \
         SELECT id, '{}', 0, 7 FROM resource_providers WHERE uuid = '{}'",
        uuid(20),
        uuid(1)
    ));
    f.model.submit(claim(20, 1, "VCPU", 2, Expected::New)).await.unwrap();
    assert_eq!(f.used(1), 3 + 2);
}

/// A rename moves no generation. Only the change feed shows the rename, so a decision must follow the feed's query.
#[actix_web::test]
async fn a_class_that_a_peer_renamed_has_its_new_name_in_the_next_claim() {
    let mut f = fixture();
    let database = f.kept.open();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    let (other, _running) = Model::start((database, None), &writer_settings(), rules(), None, pools()).unwrap();
    host_with_class_and_idle_peers(&mut f).await;
    let rename = Rename {
        from: "CUSTOM_OLD".into(),
        to: "CUSTOM_NEW".into(),
    };
    other.submit(rename).await.unwrap();
    let refused = f.model.submit(claim(31, 1, "CUSTOM_OLD", 1, Expected::New)).await;
    assert!(matches!(refused, Err(Error::ClaimClassNotFound { .. })), "{refused:?}");
    f.model
        .submit(claim(31, 1, "CUSTOM_NEW", 1, Expected::New))
        .await
        .unwrap();
    f.check_snapshot().await;
}

/// Existing projects, users and types are found, and missing ones are inserted, together with the consumer.
#[actix_web::test]
async fn a_new_consumer_has_the_owner_and_type_of_its_claim() {
    let mut f = fixture();
    host_and_idle_peers(&mut f).await;
    let owner_ids = [
        ("p", "u", None),
        ("p", "v", Some("VM")),
        ("q", "v", Some("VM")),
        ("p", "u", None),
        // Known project and user, unknown type.
        ("p", "u", Some("CONTAINER")),
    ];
    for (consumer, (project, user, kind)) in (20..).zip(owner_ids) {
        let mut claim = claim(consumer, 1, "VCPU", 1, Expected::New);
        claim.consumers[0].owner = Some(Owner {
            project: project.into(),
            user: user.into(),
        });
        claim.consumers[0].consumer_type = kind.map(str::to_owned);
        f.model.submit(claim).await.unwrap();
        let found = f.texts(&format!(
            "SELECT p.external_id || ' ' || u.external_id || ' ' || COALESCE(t.name, '-') || ' ' || c.generation AS t \
             FROM consumers c JOIN projects p ON p.id = c.project_id JOIN users u ON u.id = c.user_id \
             LEFT JOIN consumer_types t ON t.id = c.consumer_type_id WHERE c.uuid = '{}'",
            uuid(consumer)
        ));
        assert_eq!(found, [format!("{project} {user} {} 1", kind.unwrap_or("-"))]);
    }
}

/// All writers lock consumers in this order, so they do not deadlock.
#[actix_web::test]
async fn new_consumers_are_locked_in_the_order_of_their_uuids() {
    let mut f = fixture();
    host_and_idle_peers(&mut f).await;
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    let mut other = f.database.connect().unwrap();
    let lock = |conn: &mut DbConnection, consumer: u32| {
        diesel::sql_query(format!(
            "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('{}', -1, -1, 0)",
            uuid(consumer)
        ))
        .execute(conn)
    };
    dialect::begin_write(&mut other).unwrap();
    lock(&mut other, 20).unwrap();
    let of_both = [21, 20].map(|consumer| consumer_claim(consumer, vec![(1, "VCPU", 1)], Expected::New));
    let (both, model) = (claim_of(of_both.into()), f.model.clone());
    let claiming = rt::spawn(async move { model.submit(both).await });
    rt::time::sleep(Duration::from_millis(300)).await;
    assert!(!claiming.is_finished(), "the first is locked");
    lock(&mut other, 21).expect("the claim waits for the first and has not locked the second");
    dialect::rollback(&mut other).unwrap();
    claiming.await.unwrap().unwrap();
    assert_eq!(f.used(1), 3 + 2);
}

/// Pruning a silent writer replaces the epoch. If a writer's row is missing under the same epoch, the database was
/// restored. In both cases changes are unknown, and need not have moved a generation.
#[actix_web::test]
async fn a_plan_notices_that_a_writer_is_gone() {
    for (known, traces) in [
        (false, "UPDATE placet_epoch SET epoch = 'another'"),
        (true, "DELETE FROM placet_writers WHERE id = 'silent'"),
    ] {
        let mut f = fixture();
        if Kind::of(&f.conn) == Kind::Sqlite {
            return;
        }
        if known {
            f.execute(
                "INSERT INTO placet_writers (id, revision, token, seen_at) VALUES ('silent', 0, '', CURRENT_TIMESTAMP)",
            );
        }
        host_with_class_and_idle_peers(&mut f).await;
        f.execute("UPDATE resource_classes SET name = 'CUSTOM_NEW' WHERE name = 'CUSTOM_OLD'");
        f.execute(traces);
        let refused = f.model.submit(claim(31, 1, "CUSTOM_OLD", 1, Expected::New)).await;
        assert!(
            matches!(refused, Err(Error::ClaimClassNotFound { .. })),
            "{traces}: {refused:?}"
        );
    }
}

/// The rows of the existing consumers are read.
#[actix_web::test]
async fn new_and_existing_consumers_can_share_a_batch() {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    host_and_idle_peers(&mut f).await;
    let mut process = Process::start(&f.database, false);
    let new = |consumer| claim(consumer, 1, "VCPU", 5, Expected::New).into_command();
    let replaced = claim(10, 1, "VCPU", 7, Expected::Any).into_command();
    let refused = claim(11, 1, "VCPU", 9, Expected::New).into_command();
    let answers = process.write(&[&new(20), &replaced]);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(f.used(1), 5 + 7 + 1 + 1);
    let answers = process.write(&[&new(21), &refused]);
    assert!(answers[0].is_ok() && answers[1].is_err(), "{answers:?}");
    assert_eq!(f.used(1), 5 + 7 + 1 + 1 + 5);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_consumer_uuid_that_is_too_long_for_the_table_does_not_hide_another_refusal() {
    let mut f = fixture();
    host_and_idle_peers(&mut f).await;
    let mut claim = claim(40, 99, "VCPU", 1, Expected::New);
    claim.consumers[0].consumer += "-and-more";
    let refused = f.model.submit(claim).await;
    assert!(
        matches!(refused, Err(Error::ClaimProviderNotFound { .. })),
        "{refused:?}"
    );
}

/// A writer in a batch has written its own row of `placet_writers`. A plan of a peer reads all these rows.
#[actix_web::test]
async fn a_plan_does_not_wait_for_the_open_batch_of_another_writer() {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    f.execute("INSERT INTO placet_writers (id, revision, token, seen_at) VALUES ('other', 0, '', CURRENT_TIMESTAMP)");
    host_and_idle_peers(&mut f).await;
    let mut other = f.database.connect().unwrap();
    dialect::begin_write(&mut other).unwrap();
    diesel::sql_query("UPDATE placet_writers SET revision = 1 WHERE id = 'other'")
        .execute(&mut other)
        .unwrap();
    let claiming = f.model.submit(claim(20, 1, "VCPU", 1, Expected::New));
    let claimed = rt::time::timeout(Duration::from_secs(5), claiming).await;
    assert!(matches!(claimed, Ok(Ok(_))), "{claimed:?}");
    dialect::rollback(&mut other).unwrap();
}

/// More consumers than fit into one plan, and on MariaDB more values than one statement binds.
#[actix_web::test]
async fn a_claim_of_12000_new_consumers_is_granted() {
    let mut f = fixture();
    host_and_idle_peers(&mut f).await;
    f.host(2, 1_000_000).await.unwrap();
    let many = 20..20 + 12_000;
    let consumers = many.map(|consumer| consumer_claim(consumer, vec![(2, "VCPU", 1)], Expected::New));
    f.model.submit(claim_of(consumers.collect())).await.unwrap();
    assert_eq!(f.used(2), 12_000);
    f.check_snapshot().await;
}

/// Found by a reader: the wrong ids stayed in the cache until the next grant, and each plan had a conflict.
#[actix_web::test]
async fn owners_are_looked_up_again_after_a_refusal() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let mut process = Process::start(&f.database, false);
    let fitting = claim(20, 1, "VCPU", 1, Expected::New).into_command();
    assert!(process.plan(&[&fitting]).unwrap().is_some());
    dialect::rollback(&mut process.conn).unwrap();
    f.execute("UPDATE projects SET id = id + 100");
    f.execute("UPDATE consumers SET project_id = project_id + 100");
    assert!(process.plan(&[&fitting]).unwrap().is_none(), "the cached id is wrong");
    let too_large = claim(21, 1, "VCPU", 99, Expected::New).into_command();
    let (answers, _) = process.commit(&[&too_large], true).unwrap().unwrap();
    assert!(answers[0].is_err(), "{answers:?}");
    assert!(process.plan(&[&fitting]).unwrap().is_some());
    dialect::rollback(&mut process.conn).unwrap();
}

/// As in a database restored under an open connection: the ids of owners in memory are wrong there.
#[actix_web::test]
async fn owners_are_looked_up_again_after_a_reload() {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    host_and_idle_peers(&mut f).await;
    f.execute("UPDATE projects SET id = id + 100");
    f.execute("UPDATE consumers SET project_id = project_id + 100");
    f.execute("UPDATE placet_epoch SET epoch = 'another'");
    f.model.submit(claim(20, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let owner = f.texts(&format!(
        "SELECT p.external_id AS t FROM consumers c JOIN projects p ON p.id = c.project_id WHERE c.uuid = '{}'",
        uuid(20)
    ));
    assert_eq!(owner, ["p"]);
}
