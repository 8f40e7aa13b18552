//! A search that is interrupted ends where it is, and says so.

use std::time::Duration;

use super::*;
use crate::error::Error;
use crate::search::candidates::candidates;
use crate::search::request::GroupPolicy;

fn interrupted(answer: Option<Result<Candidate>>) -> bool {
    matches!(answer, Some(Err(Error::BadRequest { detail })) if detail.contains("nobody waits"))
}

/// Hosts with eight children each, which give `groups` of one unit in very many ways.
fn asking(groups: usize) -> (Snapshot, Request) {
    let host = |host: i32| {
        let root = 1 + host * 9;
        let children = (1..9).map(move |child| bare(root + child).with(VCPU, 4).below(root, root));
        std::iter::once(bare(root)).chain(children)
    };
    let group = |index| Group {
        suffix: format!("_{index}"),
        ..group(&[("VCPU", 1)])
    };
    let request = Request {
        groups: (0..groups).map(group).collect(),
        group_policy: Some(GroupPolicy::None),
        ..request(Group::default())
    };
    (Snapshot::build(catalog(), (0..200).flat_map(host).collect()), request)
}

#[test]
fn candidates_cease_to_come_from_one_provider_and_from_many() {
    for groups in [1, 4] {
        let (snapshot, request) = asking(groups);
        let settings = settings();
        let mut answer = candidates(&snapshot, &request, &settings, ()).unwrap().select();
        for _ in 0..3 {
            assert!(matches!(answer.next(), Some(Ok(_))), "{groups}");
        }
        settings.interrupt.set();
        // What was found of a block before may still come.
        let last = answer.by_ref().take(9).find(Result::is_err);
        assert!(interrupted(last), "{groups}");
        assert!(answer.next().is_none(), "{groups}");
    }
}

/// More is wanted of each of twenty trees than it has, and nothing says so before much was tried.
fn hopeless() -> (Snapshot, Request) {
    let (_, mut request) = asking(18);
    let amounts = (0..17).map(|n| 360 + n * 5).chain([1]);
    for (group, amount) in request.groups.iter_mut().zip(amounts) {
        group.resources[0].1 = amount;
    }
    let host = |host: i32| {
        let root = 1 + host * 9;
        let children = (0..8).map(move |n| bare(root + 1 + n).with(VCPU, 980 + n * 5).below(root, root));
        std::iter::once(bare(root)).chain(children)
    };
    (Snapshot::build(catalog(), (0..20).flat_map(host).collect()), request)
}

#[test]
fn nothing_more_is_tried() {
    let (snapshot, request) = hopeless();
    let settings = settings();
    settings.interrupt.set();
    let mut all = candidates(&snapshot, &request, &settings, ()).unwrap();
    assert_eq!((all.next(), all.steps()), (None, 0));
    assert!(interrupted(all.select().next()));
}

#[test]
fn another_thread_ends_what_would_go_on_for_long() {
    let (snapshot, request) = hopeless();
    let settings = settings();
    let mut all = candidates(&snapshot, &request, &settings, ()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            settings.interrupt.set();
        });
        assert_eq!(all.next(), None);
    });
    // It ends within a tree: one is given up after 200,000, all of them after some four millions.
    assert!((1..200_000).contains(&all.steps()), "{}", all.steps());
    assert!(interrupted(all.select().next()));
}
