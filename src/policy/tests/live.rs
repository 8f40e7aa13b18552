//! The policy is loaded again after a change of its files.

use std::sync::{Arc, Mutex};

use super::super::live::LivePolicy;
use super::*;
use crate::live_value::Files;

/// Files in memory. New content becomes visible at the next reading.
#[derive(Clone, Default)]
struct MemoryFiles {
    next: Arc<Mutex<Option<Result<String, String>>>>,
    now: Arc<Mutex<Option<Result<String, String>>>>,
}

impl MemoryFiles {
    fn put(&self, content: Result<&str, &str>) {
        *self.next.lock().unwrap() = Some(content.map(str::to_owned).map_err(str::to_owned));
    }
}

impl Files<Vec<PolicyFile>> for MemoryFiles {
    fn changed(&self) -> bool {
        self.next.lock().unwrap().is_some()
    }

    fn read(&self) -> Result<Vec<PolicyFile>, String> {
        if let Some(next) = self.next.lock().unwrap().take() {
            *self.now.lock().unwrap() = Some(next);
        }
        let now = self.now.lock().unwrap().clone();
        now.into_iter()
            .map(|content| content.map(|text| file("policy.yaml", &text)))
            .collect()
    }
}

#[test]
fn changed_rules_hold_from_the_request_that_detects_them() {
    let files = MemoryFiles::default();
    let live = LivePolicy::start(settings(true), Box::new(files.clone())).expect("defaults");
    let reshapers = || allowed_roles(&live.current())[1].clone();
    assert_eq!(reshapers(), "service");
    files.put(Ok("service_api: role:reader"));
    assert_eq!(reshapers(), "reader");
    files.put(Ok(""));
    assert_eq!(reshapers(), "service");
}

#[test]
fn an_unusable_file_leaves_the_previous_rules_in_force() {
    let files = MemoryFiles::default();
    let live = LivePolicy::start(settings(true), Box::new(files.clone())).expect("defaults");
    let reshapers = || allowed_roles(&live.current())[1].clone();
    files.put(Ok("service_api: role:reader"));
    assert_eq!(reshapers(), "reader");
    for broken in [
        Ok("service_api: ["),
        Ok("- x"),
        Ok("a: http://x"),
        Err("permission denied"),
    ] {
        files.put(broken);
        assert_eq!(reshapers(), "reader", "{broken:?}");
    }
    files.put(Ok("service_api: role:admin"));
    assert_eq!(reshapers(), "admin");
}

#[test]
fn an_unusable_file_prevents_the_start() {
    let files = MemoryFiles::default();
    files.put(Ok("a: !"));
    assert!(files.changed());
    let refused = LivePolicy::start(settings(true), Box::new(files)).err();
    assert!(
        refused.is_some_and(
            |reason| reason.starts_with("policy.yaml:1: the check of \"a\" is !, which YAML reads as a tag")
        )
    );
}
