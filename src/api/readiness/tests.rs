//! Every cause by itself, and causes together.

use super::*;

const LIMIT: Duration = Duration::from_secs(5);
const LONGER: Duration = Duration::from_secs(7);
const SILENT: &str = "the database has not answered for 7 s";

/// A process which can answer all requests.
const WELL: Observed = Observed {
    silence: Duration::ZERO,
    limit: LIMIT,
    invalid: Duration::ZERO,
    has_stale_reads: false,
    write_refusal: None,
    keystone: Some(KeystoneState::Available),
};

fn judged(observed: Observed) -> (Option<String>, Vec<&'static str>) {
    let Readiness { unready, degraded } = Readiness::judge(observed);
    (unready, degraded.into_iter().map(Degradation::name).collect())
}

#[test]
fn found_n2_a_process_that_can_answer_all_requests_is_ready() {
    for keystone in [None, Some(KeystoneState::Available)] {
        let at_the_limit = Observed {
            silence: LIMIT,
            invalid: LIMIT,
            has_stale_reads: true,
            keystone,
            ..WELL
        };
        assert_eq!(judged(Observed { keystone, ..WELL }), (None, vec![]));
        assert_eq!(judged(at_the_limit), (None, vec![]));
    }
}

#[test]
fn found_n2_a_silent_database_leaves_stale_reads_or_nothing() {
    let silent = Observed {
        silence: LONGER,
        ..WELL
    };
    assert_eq!(judged(silent), (Some(SILENT.to_owned()), vec![]));
    let stale = Observed {
        has_stale_reads: true,
        ..silent
    };
    assert_eq!(judged(stale), (None, vec!["stale_reads"]));
}

#[test]
fn found_n2_a_long_reload_is_degraded_if_it_is_bridged_by_stale_reads() {
    let invalid = Observed {
        invalid: LONGER,
        ..WELL
    };
    assert_eq!(judged(invalid), (None, vec![]), "searches wait for the reload");
    let bridged = Observed {
        has_stale_reads: true,
        ..invalid
    };
    assert_eq!(judged(bridged), (None, vec!["stale_reads"]));
}

#[test]
fn found_n2_refused_writes_are_degraded() {
    for (refusal, name) in [
        (WriteRefusal::DiskFull, "disk_full"),
        (WriteRefusal::ReadOnly, "read_only"),
        (WriteRefusal::DiskFailed, "disk_failed"),
    ] {
        let refused = Observed {
            write_refusal: Some(refusal),
            ..WELL
        };
        assert_eq!(judged(refused), (None, vec![name]));
    }
}

#[test]
fn found_n2_keystone_decides_by_what_it_did_before() {
    for (state, unready, degraded) in [
        (
            KeystoneState::RefusesCredentials,
            Some("Keystone refuses the credentials of placet"),
            vec![],
        ),
        (
            KeystoneState::NeverAvailable,
            Some("Keystone has not answered for a token since the start"),
            vec![],
        ),
        (KeystoneState::Gone, None, vec!["keystone_gone"]),
    ] {
        let observed = Observed {
            keystone: Some(state),
            ..WELL
        };
        assert_eq!(judged(observed), (unready.map(str::to_owned), degraded));
    }
}

#[test]
fn found_n2_all_causes_are_named() {
    let all = Observed {
        silence: LONGER,
        has_stale_reads: true,
        write_refusal: Some(WriteRefusal::ReadOnly),
        keystone: Some(KeystoneState::Gone),
        ..WELL
    };
    assert_eq!(judged(all), (None, vec!["keystone_gone", "read_only", "stale_reads"]));
    let silent = Observed {
        has_stale_reads: false,
        ..all
    };
    assert_eq!(
        judged(silent),
        (Some(SILENT.to_owned()), vec!["keystone_gone", "read_only"])
    );
}
