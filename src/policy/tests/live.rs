//! The policy follows its files.

use std::sync::{Arc, Mutex};

use super::super::live::{Files, Live};
use super::*;

/// What the files say, until they are asked whether they changed.
#[derive(Clone, Default)]
struct Shelf {
    next: Arc<Mutex<Option<Result<String, String>>>>,
    now: Arc<Mutex<Option<Result<String, String>>>>,
}

impl Shelf {
    fn put(&self, content: Result<&str, &str>) {
        *self.next.lock().unwrap() = Some(content.map(str::to_owned).map_err(str::to_owned));
    }
}

impl Files for Shelf {
    fn changed(&self) -> bool {
        let next = self.next.lock().unwrap().take();
        let changed = next.is_some();
        if changed {
            *self.now.lock().unwrap() = next;
        }
        changed
    }

    fn read(&self) -> Result<Vec<PolicyFile>, String> {
        let now = self.now.lock().unwrap().clone();
        now.into_iter()
            .map(|content| content.map(|text| file("policy.yaml", &text)))
            .collect()
    }
}

#[test]
fn rules_hold_from_the_request_that_finds_them() {
    let shelf = Shelf::default();
    let live = Live::start(settings(true), Box::new(shelf.clone())).expect("defaults");
    let who = || who_may(&live.now())[1].clone();
    assert_eq!(who(), "service");
    shelf.put(Ok("service_api: role:reader"));
    assert_eq!(who(), "reader");
    shelf.put(Ok(""));
    assert_eq!(who(), "service");
}

#[test]
fn a_file_that_cannot_be_used_leaves_the_rules_from_before() {
    let shelf = Shelf::default();
    let live = Live::start(settings(true), Box::new(shelf.clone())).expect("defaults");
    let who = || who_may(&live.now())[1].clone();
    shelf.put(Ok("service_api: role:reader"));
    assert_eq!(who(), "reader");
    for broken in [
        Ok("service_api: ["),
        Ok("- x"),
        Ok("a: http://x"),
        Err("permission denied"),
    ] {
        shelf.put(broken);
        assert_eq!(who(), "reader", "{broken:?}");
    }
    shelf.put(Ok("service_api: role:admin"));
    assert_eq!(who(), "admin");
}

#[test]
fn nobody_starts_with_a_file_that_cannot_be_used() {
    let shelf = Shelf::default();
    shelf.put(Ok("a: !"));
    assert!(shelf.changed());
    let refused = Live::start(settings(true), Box::new(shelf)).err();
    assert!(refused.is_some_and(|why| why.starts_with("policy.yaml:1: the check of \"a\" is !, which is a tag")));
}
