//! Tests of valid configurations of OpenStack Placement, by row of the list of findings.

use super::*;

fn checked(text: &str, variables: &[(&str, &str)]) -> CheckReport {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.conf");
    fs::write(&path, text).unwrap();
    check(&ConfigSources {
        files: vec![path],
        environment: environment(variables),
        ..ConfigSources::default()
    })
}

fn unknown(text: &str) -> String {
    checked(text, &[]).unknown.join("\n")
}

#[test]
fn found_c1_every_size_of_a_pool_is_accepted_and_a_bound_is_said() {
    for (size, overflow, connections, said) in [
        (16, 0, 16, None),
        (1, 1000, 1001, None),
        (5, -1, 100, Some("set no limit: placet opens at most 100 connections")),
        (0, 50, 100, Some("set no limit")),
        (-1, -7, 100, Some("set no limit")),
        (300, -1, 300, Some("placet opens at most 300 connections")),
        (5, 20_000, 10_000, Some("placet opens at most 10000 connections")),
        (
            i64::MAX,
            i64::MAX,
            10_000,
            Some("placet opens at most 10000 connections"),
        ),
    ] {
        let text = format!("[placement_database]\nmax_pool_size = {size}\nmax_overflow = {overflow}\n");
        let options = options(&text);
        assert_eq!(options.placement_database.connections(), connections, "{text}");
        let warning = options.serving_problems().ineffective.join("\n");
        assert_eq!(warning.is_empty(), said.is_none(), "{text}{warning}");
        assert!(warning.contains(said.unwrap_or_default()), "{text}{warning}");
    }
}

#[test]
fn found_c1_large_numbers_are_accepted() {
    for (section, values) in [
        (
            "placement_database",
            "connection_recycle_time = -2\nmax_retries = 1_000_000_000\nretry_interval = 9223372036854775807\n\
             pool_timeout = 100000\n",
        ),
        (
            "keystone_authtoken",
            "token_cache_time = 604800\nhttp_connect_timeout = 0\nhttp_request_max_retries = -1\n",
        ),
        (
            "keystone_authtoken",
            "token_cache_time = 9223372036854775807\nhttp_connect_timeout = 9223372036854775807\n\
             http_request_max_retries = 9223372036854775807\n",
        ),
        ("placement", "max_allocation_candidates = -5\n"),
        ("cors", "max_age = -1\n"),
    ] {
        let report = checked(&format!("[{section}]\n{values}"), &[]);
        assert_eq!(
            (report.errors.as_slice(), report.unknown.as_slice()),
            (&[][..], &[][..]),
            "{values}"
        );
    }
    // A time for adding to a moment.
    assert_eq!(seconds(u64::MAX).as_secs(), 3_153_600_000);
}

#[test]
fn found_c4_sections_and_options_of_shared_libraries_are_no_mistakes() {
    let text = "[oslo_concurrency]\nlock_path = /tmp\nx = 1\n[cache]\nenabled = true\n[profiler]\nenabled = true\n\
                [oslo_messaging_notifications]\ndriver = noop\n[DEFAULT]\ntransport_url = rabbit://u:hunter2@h\n\
                [keystone_authtoken]\nidentity_uri = http://k\n";
    let report = checked(
        text,
        &[("OS_CACHE__BACKEND", "x"), ("OS_OSLO_CONCURRENCY__LOCK_PATH", "/tmp")],
    );
    assert_eq!((report.errors.len(), report.unknown.as_slice()), (0, &[][..]));
    let notes = report.notes.join("\n");
    for word in [
        "[oslo_concurrency] is of oslo.concurrency",
        "[cache] is of oslo.cache",
        "OS_CACHE__BACKEND is of oslo.cache",
        "[DEFAULT] transport_url: accepted, but not used",
        "its successor is [keystone_authtoken] auth_url",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
    assert!(!notes.contains("hunter2"), "{notes}");
    assert_eq!(report.notes.len(), 8, "one line a section: {notes}");
}

#[test]
fn found_c4_older_names_set_their_successors() {
    let text = "[keystone_authtoken]\nauth_uri = http://k\n[placement_database]\nidle_timeout = 7\n";
    let options = options(text);
    assert_eq!(
        options.keystone_authtoken.www_authenticate_uri.as_deref(),
        Some("http://k")
    );
    assert_eq!(options.placement_database.connection_recycle_time, 7);
    let notes = checked(text, &[]).notes.join("\n");
    assert!(
        notes.contains("write [keystone_authtoken] www_authenticate_uri"),
        "{notes}"
    );
}

#[test]
fn found_c4_only_a_name_within_two_edits_is_suggested() {
    for (text, suggested) in [
        ("[keystone_authtoken]\nauth_ulr = x\n", Some("auth_url")),
        ("[keystone_authtoken]\nauth_sectoins = x\n", Some("auth_section")),
        ("[keystone_authtoken]\nauth_inteface2 = x\n", Some("auth_interface")),
        ("[keystone_authtoken]\nauth_anything = x\n", None),
        ("[api]\nx = 1\n", None),
        ("[plaecment_database]\nx = 1\n", Some("[placement_database]")),
        ("[oslo_consistency]\nx = 1\n", None),
    ] {
        let found = unknown(text);
        match suggested {
            Some(name) => assert!(found.contains(&format!("did you mean {name}?")), "{found}"),
            None => assert!(!found.is_empty() && !found.contains("did you mean"), "{found}"),
        }
    }
}

#[test]
fn found_c6_an_option_in_a_wrong_section_leads_to_the_right_one() {
    for (text, home) in [
        ("[DEFAULT]\nlog_format = json\n", "it is an option of [placet]"),
        ("[DEFAULT]\nbind = 127.0.0.1:1\n", "it is an option of [placet]"),
        (
            "[placement]\nconnection = sqlite:///x\n",
            "it is an option of [placement_database]",
        ),
        ("[api]\nauth_url = x\n", "it is an option of [keystone_authtoken]"),
        ("[keystone_authtoken]\nauth_strategy = x\n", "it is an option of [api]"),
        ("[server]\nport = 1\nworkers = 2\n", "workers is an option of [placet]"),
    ] {
        assert!(unknown(text).contains(home), "{}", unknown(text));
    }
    let error = error("[placet]\ndebug = true\n");
    assert!(
        error.contains("[placet] debug is not an option of placet; it is an option of [DEFAULT]"),
        "{error}"
    );
    // The sections of other services have options of the same names.
    assert!(!unknown("[neutron]\nauth_url = x\n").contains("option of"));
}
