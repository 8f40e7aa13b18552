//! A search that is interrupted ends where it is, and says so.

use std::time::Duration;

use super::wide::cut_up;
use super::*;
use crate::error::Error;
use crate::search::Interrupt;
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

/// Asks for a packing that nothing decides before it was gone round for more than so many times.
fn hopeless(interrupt: &Interrupt) -> Option<Result<Candidate>> {
    let (rows, request) = cut_up(30);
    let snapshot = Snapshot::build(catalog(), rows);
    let settings = Settings {
        interrupt: interrupt.clone(),
        ..settings()
    };
    candidates(&snapshot, &request, &settings, ()).unwrap().select().next()
}

const LONG: u64 = 400_000;

#[test]
fn nothing_more_is_tried() {
    let interrupt = Interrupt::after(2);
    interrupt.set();
    assert!(interrupted(hopeless(&interrupt)));
    let long = Interrupt::after(LONG);
    assert!(interrupted(hopeless(&long)) && long.ran_out(), "it takes longer");
}

#[test]
fn another_thread_ends_what_would_go_on_for_long() {
    let interrupt = Interrupt::after(LONG);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            interrupt.set();
        });
        hopeless(&interrupt)
    });
    assert!(interrupted(answer) && !interrupt.ran_out(), "it ends within a tree");
}

#[test]
fn who_need_not_count_any_more_goes_on() {
    let interrupt = Interrupt::after(1);
    interrupt.lift();
    let gave_up = hopeless(&interrupt);
    assert!(matches!(gave_up, Some(Err(_))) && !interrupted(gave_up));
    assert!(!interrupt.ran_out() && !interrupt.is_set());
}
