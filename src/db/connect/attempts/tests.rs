//! Attempts to open a connection: side by side while they succeed, one at a time with pauses after a failure.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{ConnectAttempts, FIRST_PAUSE, LONGEST_PAUSE, MAX_PARALLEL};
use crate::db::SetupError;

fn refused() -> SetupError {
    SetupError::Connect {
        place: "the server".to_owned(),
        detail: "Connection refused".to_owned(),
    }
}

/// Counts the running attempts, and the most simultaneous attempts.
#[derive(Default)]
struct Running {
    all: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Running {
    fn attempt(&self, takes: Duration, result: Result<(), SetupError>) -> Result<(), SetupError> {
        self.all.fetch_add(1, Ordering::SeqCst);
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(takes);
        self.now.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

#[test]
fn found_n1_in_an_outage_one_attempt_runs_at_a_time_with_pauses() {
    let (attempts, running) = (ConnectAttempts::default(), Running::default());
    assert!(attempts.run(|| Err::<(), _>(refused())).is_err());
    let end = Instant::now() + Duration::from_secs(2);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                while Instant::now() < end {
                    let failed = attempts.run(|| running.attempt(Duration::from_millis(5), Err(refused())));
                    assert!(failed.unwrap_err().to_string().contains("Connection refused"));
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
    });
    let all = running.all.load(Ordering::SeqCst);
    assert_eq!(running.most.load(Ordering::SeqCst), 1);
    // Pauses of at least 25, 50, 100, 200, 400, 500, 500 ms, … fit: seven attempts in 2 s.
    assert!((1..=8).contains(&all), "{all} attempts");
    assert_eq!(attempts.failures(), all as u64 + 1);
}

#[test]
fn found_n1_a_success_ends_the_pauses_and_then_a_few_attempts_run_side_by_side() {
    let (attempts, running) = (ConnectAttempts::default(), Running::default());
    assert!(attempts.run(|| Err::<(), _>(refused())).is_err());
    std::thread::sleep(LONGEST_PAUSE);
    assert!(attempts.run(|| running.attempt(Duration::ZERO, Ok(()))).is_ok());
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                attempts
                    .run(|| running.attempt(Duration::from_millis(20), Ok(())))
                    .unwrap()
            });
        }
    });
    assert_eq!(running.all.load(Ordering::SeqCst), 21);
    let most = running.most.load(Ordering::SeqCst);
    assert!((2..=MAX_PARALLEL).contains(&most), "{most} at once");
}

/// Found by `commit_outcome`: for up to a second after the database was back, requests were refused with the error of
/// an earlier attempt.
#[test]
fn a_call_in_a_pause_has_the_result_of_the_next_attempt() {
    let attempts = ConnectAttempts::default();
    for _ in 0..4 {
        assert!(attempts.run(|| Err::<(), _>(refused())).is_err());
    }
    assert!(attempts.is_paused());
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| attempts.run(|| Ok(())).unwrap());
        }
    });
    assert!(!attempts.is_paused());
}

#[test]
fn failures_of_attempts_side_by_side_begin_one_pause() {
    let attempts = ConnectAttempts::default();
    std::thread::scope(|scope| {
        for _ in 0..MAX_PARALLEL {
            scope.spawn(|| {
                let fails = || {
                    std::thread::sleep(Duration::from_millis(100));
                    Err::<(), _>(refused())
                };
                assert!(attempts.run(fails).is_err());
            });
        }
    });
    let state = attempts.0.lock();
    let pause = state.pause.as_ref().expect("a pause");
    assert!(pause.left() <= FIRST_PAUSE);
}

#[test]
fn an_error_that_needs_no_server_begins_no_pause() {
    let attempts = ConnectAttempts::default();
    let began = Instant::now();
    let missing = || {
        Err::<(), _>(SetupError::Missing {
            place: "a file".to_owned(),
        })
    };
    assert!(attempts.run(missing).is_err());
    assert!(
        attempts
            .failed_since(began)
            .unwrap()
            .hidden()
            .unwrap()
            .contains("a file")
    );
    assert!(attempts.run(|| Ok(())).is_ok());
    assert_eq!(attempts.failed_since(Instant::now()), None);
}

#[test]
fn a_panic_ends_its_attempt() {
    let attempts = ConnectAttempts::default();
    for _ in 0..MAX_PARALLEL {
        let panics = std::panic::AssertUnwindSafe(|| attempts.run(|| -> Result<(), SetupError> { panic!("a defect") }));
        assert!(std::panic::catch_unwind(panics).is_err());
    }
    assert!(attempts.run(|| Ok(())).is_ok());
}
