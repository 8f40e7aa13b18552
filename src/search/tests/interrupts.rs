//! An interrupted search ends early, and its answer is an error.

use std::time::Duration;

use super::wide::cut_up;
use super::*;
use crate::error::Error;
use crate::search::Interrupt;
use crate::search::candidates::candidates;
use crate::search::request::GroupPolicy;

fn interrupted(answer: Option<Result<Candidate>>) -> bool {
    matches!(answer, Some(Err(Error::BadRequest { detail })) if detail.contains("cancelled"))
}

/// Hosts with eight children each, and with a huge number of candidates for `groups` of a single unit.
pub(super) fn asking(groups: usize) -> (Snapshot, Request) {
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
fn a_search_of_single_providers_and_a_search_of_trees_can_be_interrupted() {
    for groups in [1, 4] {
        let (snapshot, request) = asking(groups);
        let settings = settings();
        let mut answer = candidates(&snapshot, &request, &settings).unwrap().select();
        for _ in 0..3 {
            assert!(matches!(answer.next(), Some(Ok(_))), "{groups}");
        }
        settings.interrupt.set();
        // Candidates of the previous block may still come.
        let last = answer.by_ref().take(9).find(Result::is_err);
        assert!(interrupted(last), "{groups}");
        assert!(answer.next().is_none(), "{groups}");
    }
}

/// Asks for a packing with more than `STEP_BUDGET` steps.
fn hopeless(interrupt: &Interrupt) -> Option<Result<Candidate>> {
    let (rows, request) = cut_up(30);
    let snapshot = Snapshot::build(catalog(), rows);
    let settings = SearchSettings {
        interrupt: interrupt.clone(),
        ..settings()
    };
    candidates(&snapshot, &request, &settings).unwrap().select().next()
}

const STEP_BUDGET: u64 = 400_000;

#[test]
fn an_interrupted_search_takes_no_more_steps() {
    let interrupt = Interrupt::after(2);
    interrupt.set();
    assert!(interrupted(hopeless(&interrupt)));
    let long = Interrupt::after(STEP_BUDGET);
    assert!(
        interrupted(hopeless(&long)) && long.ran_out(),
        "it would take more steps"
    );
}

#[test]
fn another_thread_can_interrupt_a_long_search() {
    let interrupt = Interrupt::after(STEP_BUDGET);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            interrupt.set();
        });
        hopeless(&interrupt)
    });
    assert!(interrupted(answer) && !interrupt.ran_out(), "it ends inside a tree");
}

#[test]
fn a_search_whose_budget_is_lifted_goes_on() {
    let interrupt = Interrupt::after(1);
    interrupt.lift();
    let gave_up = hopeless(&interrupt);
    assert!(matches!(gave_up, Some(Err(_))) && !interrupted(gave_up));
    assert!(!interrupt.ran_out() && !interrupt.is_set());
}
