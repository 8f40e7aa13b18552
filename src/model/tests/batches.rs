//! The commands of one batch: decided in order, written as one net effect, in a fixed number of statements.

use super::process::Process;
use super::*;
use crate::error::Error;
use crate::model::batch::command::{Answer, Command, Write};
use crate::model::reshaper::{Reshape, Reshaped};
use crate::model::resource_providers::Delete;

/// Commits commands as a batch. Returns the answers, and the number of statements.
fn run(f: &mut Fixture, commands: &[Command]) -> (Vec<Result<Answer>>, u64) {
    let mut process = Process::start(&f.database, true);
    let refs: Vec<&Command> = commands.iter().collect();
    let before = f.model.statements();
    let (answers, pending) = process.commit(&refs, false).unwrap().expect("no conflict");
    let statements = f.model.statements() - before;
    process.publish(pending);
    (answers, statements)
}

fn claims(range: std::ops::Range<u32>, provider: u32) -> Vec<Command> {
    range
        .map(|n| claim(n, provider, "VCPU", 1, Expected::New).into_command())
        .collect()
}

#[actix_web::test]
async fn the_number_of_statements_does_not_depend_on_the_number_of_claims() {
    let mut f = fixture();
    f.host(1, 1000).await.unwrap();
    let (answers, few) = run(&mut f, &claims(10..12, 1));
    assert!(answers.iter().all(Result::is_ok));
    let (answers, many) = run(&mut f, &claims(100..300, 1));
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(f.used(1), 202);
    // The first batch also inserts the project and the user. SQLite has no round trips, and inserts row by row: a row
    // of `consumers` and a row of `allocations` for each claim.
    let inserted = if Kind::of(&f.conn) == Kind::Sqlite { 2 * 198 } else { 0 };
    assert!(many <= few + inserted, "{few} statements for 2 claims, {many} for 200");
}

#[actix_web::test]
async fn the_last_units_go_to_the_first_claims_of_the_batch() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    let before = f.generation(1);
    let (answers, _) = run(&mut f, &claims(10..18, 1));
    let granted: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(granted, [true, true, true, false, false, false, false, false]);
    assert_eq!((f.used(1), f.generation(1)), (3, before + 3));
}

#[actix_web::test]
async fn of_two_commands_with_one_generation_the_second_is_stale() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    let generation = f.generation(1);
    let replace = |total| replacing(generation, &[("VCPU", inventory(total))]).into_command();
    let (answers, _) = run(&mut f, &[replace(5), replace(6)]);
    assert!(answers[0].is_ok());
    assert_eq!(answers[1].as_ref().unwrap_err(), &Error::StaleInventoryGeneration);
    assert_eq!(f.number("SELECT total AS n FROM inventories"), 5);
    assert_eq!(f.generation(1), generation + 1);
}

#[actix_web::test]
async fn a_provider_can_be_created_and_used_in_one_batch() {
    let mut f = fixture();
    let create = Create {
        uuid: uuid(1),
        name: "a".into(),
        parent: None,
    }
    .into_command();
    let child = Create {
        uuid: uuid(2),
        name: "b".into(),
        parent: Some(uuid(1)),
    }
    .into_command();
    let add = adding(2, "VCPU", 1);
    let commands = [
        create,
        child,
        add.into_command(),
        claim(10, 2, "VCPU", 1, Expected::New).into_command(),
    ];
    let (answers, _) = run(&mut f, &commands);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(f.used(2), 1);
    assert_eq!(f.generation(2), 2);
    let root = f.texts("SELECT r.uuid AS t FROM resource_providers p JOIN resource_providers r ON r.id = p.root_provider_id ORDER BY p.id");
    assert_eq!(root, [uuid(1), uuid(1)]);
}

#[actix_web::test]
async fn a_provider_created_and_deleted_in_one_batch_leaves_no_row() {
    let mut f = fixture();
    let create = || {
        Create {
            uuid: uuid(1),
            name: "a".into(),
            parent: None,
        }
        .into_command()
    };
    let delete = || Delete { uuid: uuid(1) }.into_command();
    let (answers, _) = run(&mut f, &[create(), delete()]);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM resource_providers"), 0);
    run(&mut f, &[create()]);
    let (answers, _) = run(&mut f, &[delete(), create()]);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM resource_providers"), 1);
}

#[actix_web::test]
async fn a_consumer_wiped_and_created_again_in_one_batch_begins_at_generation_1() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    run(&mut f, &claims(10..11, 1));
    let wipe = claim_of(vec![consumer_claim(10, vec![], Expected::Is(1))]).into_command();
    let (answers, _) = run(&mut f, &[wipe, claim(10, 1, "VCPU", 2, Expected::New).into_command()]);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(f.number("SELECT generation AS n FROM consumers"), 1);
    assert_eq!(f.used(1), 2);
}

#[actix_web::test]
async fn a_reshape_shares_a_batch_with_claims() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    run(&mut f, &claims(10..11, 1));
    let generation = f.generation(1);
    let reshape = |generation, total| {
        Reshape {
            providers: vec![Reshaped {
                provider: uuid(1),
                generation: i64::into(generation),
                inventories: vec![("VCPU".into(), inventory(total))],
            }],
            consumers: vec![consumer_claim(10, vec![(1, "VCPU", 4)], Expected::Is(1))],
        }
        .into_command()
    };
    let first = claim(11, 1, "VCPU", 1, Expected::New).into_command();
    let last = claim(12, 1, "VCPU", 2, Expected::New).into_command();
    let commands = [first, reshape(generation, 9), reshape(generation + 1, 7), last];
    let (answers, _) = run(&mut f, &commands);
    let granted: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(granted, [true, false, true, true]);
    assert_eq!((f.used(1), f.generation(1)), (7, generation + 1 + 3 + 1));
    assert_eq!(f.number("SELECT total AS n FROM inventories"), 7);
}

#[actix_web::test]
async fn each_commit_records_its_revision_and_its_deltas() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 2, Expected::New)).await.unwrap();
    let revision = f.number("SELECT MAX(revision) AS n FROM placet_writers");
    assert_eq!(
        f.number("SELECT COUNT(*) AS n FROM placet_changes"),
        revision,
        "gapless"
    );
    assert_eq!(revision, 3);
    let body = f
        .texts("SELECT body AS t FROM placet_changes ORDER BY revision DESC LIMIT 1")
        .remove(0);
    assert!(body.starts_with("{\"d\":[[1,1,"), "{body}");
    let end = format!("[[0,2]],{}]]}}", f.generation(1));
    assert!(body.ends_with(&end), "{body}");
}

#[actix_web::test]
async fn a_provider_that_a_process_created_is_read_without_a_reload() {
    let f = fixture();
    for (n, alone) in [(1, true), (2, false)] {
        let mut process = Process::start(&f.database, alone);
        let name = format!("host {n}");
        let create = Create {
            uuid: uuid(n),
            name,
            parent: None,
        };
        process.write(&[&create.into_command()]);
        assert!(process.store.newest().by_uuid(&uuid(n)).is_some());
        assert_eq!(process.store.stamp().reloads, 0, "no reload");
    }
}
