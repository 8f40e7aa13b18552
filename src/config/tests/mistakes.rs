//! Tests of the warnings about unknown names, and of `config check`.

use super::*;

#[test]
fn unknown_names_and_unused_options_are_warned_about() {
    let text = "[nova]\nx=1\ny=2\n[api]\nauth_stategy=1\n[DEFAULT]\nuse_syslog=true\nuse_json=true\nlogdir=/x\n\
        [keystone_authtoken]\nauth_section=mine\n[mine]\npassword=hunter2\n";
    let (result, dir) = load_texts(&[text], &[("OS_NOVA__X", "hunter3"), ("OS_API__X", "1")]);
    let configuration = result.unwrap();
    let name = dir.path().join("0.conf").display().to_string();
    let warnings = configuration.warnings();
    assert_eq!(
        warnings[..2],
        [
            format!(
                "[nova] is no section of OpenStack Placement or placet, and its options have no effect (from {name}:2)"
            ),
            format!(
                "[api] auth_stategy is not an option, and has no effect; did you mean auth_strategy? (from {name}:5)"
            ),
        ]
    );
    assert!(
        warnings.iter().any(|line| line.contains("variable OS_NOVA__X is not")),
        "{warnings:?}"
    );
    assert!(
        warnings.iter().any(|line| line.contains("variable OS_API__X is not")),
        "{warnings:?}"
    );
    assert!(
        warnings
            .iter()
            .any(|line| line.starts_with("[DEFAULT] use_syslog: accepted, but not used: "))
    );
    assert!(
        warnings
            .iter()
            .all(|line| !line.contains("hunter") && !line.contains("[mine]")),
        "{warnings:?}"
    );
    let lines = configuration.warnings_by_section();
    let of_default: Vec<_> = lines.iter().filter(|line| line.starts_with("[DEFAULT]")).collect();
    assert_eq!(
        of_default,
        [
            "[DEFAULT]: logdir is an older name of [DEFAULT] log_dir; accepted, but not used: use_syslog, use_json. \
          `placet config check` says more"
        ]
    );
}

#[test]
fn options_of_oslos_health_check_lead_to_placets_own() {
    let (result, _dir) = load_texts(&["[healthcheck]\nbackends = disable_by_file\n"], &[]);
    let warnings = result.unwrap().warnings();
    for route in ["GET /health/ready", "GET /health/live"] {
        assert!(warnings[0].contains(route), "{warnings:?}");
    }
}

#[test]
fn a_mistyped_variable_never_begins_an_empty_database() {
    for name in [
        "OS_PLACEMENT_DATABSE__CONNECTION",
        "OS_PLACEMENT_DATABASE_CONNECTION",
        "OS_FOO__BAR",
    ] {
        let (result, _dir) = load_texts(&[], &[(name, "sqlite:////x")]);
        let message = result.unwrap_err().to_string();
        assert!(
            message.contains(name) && message.contains("unset the variable"),
            "{message}"
        );
        // With a configured authentication a mistyped variable is a warning.
        for text in [
            "[placet]\nworkers=1\n",
            "[api]\nauth_strategy=noauth2\n[placet]\ntoken_file=/t\n",
        ] {
            let (result, _dir) = load_texts(&[text], &[(name, "sqlite:////x")]);
            assert_eq!(result.unwrap().warnings().len(), 1, "{name}");
        }
    }
}

#[test]
fn a_mistyped_variable_never_leaves_a_configured_service_without_authentication() {
    let open = "[api]\nauth_strategy=noauth2\n";
    for (name, meant) in [
        ("OS_PLACEMENT_DATABSE__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT_DATABASE__CONNECTON", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT_DATABASE_CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_APPI__AUTH_STRATEGY", "OS_API__AUTH_STRATEGY"),
        ("OS_PLACT__TOKEN_FILE", "OS_PLACET__TOKEN_FILE"),
    ] {
        let (result, dir) = load_texts(&[open], &[(name, "hunter2")]);
        let message = result.unwrap_err().to_string();
        for word in [name, meant, "correct the name"] {
            assert!(message.contains(word) && !message.contains("hunter2"), "{message}");
        }
        let report = check(&ConfigSources {
            files: vec![dir.path().join("0.conf")],
            environment: environment(&[(name, "hunter2")]),
            ..ConfigSources::default()
        });
        assert_eq!((report.errors.len(), report.unknown.len()), (1, 0), "{name}");
    }
    // Variables of foreign programs cause a warning at most.
    for (name, warnings) in [("OS_FOO__BAR", 1), ("OS_DEFAULT__TRANSPORT_URL", 1), ("OS_AUTH_URL", 0)] {
        let (result, _dir) = load_texts(&[open], &[(name, "x")]);
        assert_eq!(result.unwrap().warnings().len(), warnings, "{name}");
    }
}

#[test]
fn a_check_finds_all_problems_at_once() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.conf");
    fs::write(
        &path,
        "[placet]\nworkers = x\nqueue_size = 0\nbnid = 1\nnonsense\n[api]\nauth_strategy = no\nfoo = 1\n[foo]\na = 1\n\
         [DEFAULT]\nuse_json = 1\n",
    )
    .unwrap();
    let report = check(&ConfigSources {
        files: vec![path, "/nowhere.conf".into()],
        ..ConfigSources::default()
    });
    let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
    for word in [
        "/nowhere.conf",
        "a.conf:5: neither",
        "bnid is not an option",
        "queue_size = 0: must be between",
        "workers = x: must be a whole number",
        "auth_strategy = no: must be one of",
    ] {
        assert!(errors.iter().any(|error| error.contains(word)), "{word} {errors:#?}");
    }
    assert_eq!((errors.len(), report.unknown.len(), report.notes.len()), (6, 2, 1));
    assert!(report.configuration.is_none());
}
