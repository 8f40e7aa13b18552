//! Tests of the configuration as a whole, from files and variables to options. All expectations about oslo.config were
//! measured with oslo.config.

mod found;
mod mistakes;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;

/// Writes each text to a file and loads them, in order, with the variables.
pub(super) fn load_texts(texts: &[&str], variables: &[(&str, &str)]) -> (Result<Configuration>, TempDir) {
    let dir = TempDir::new().unwrap();
    let files = texts.iter().enumerate().map(|(index, text)| {
        let path = dir.path().join(format!("{index}.conf"));
        fs::write(&path, text).unwrap();
        path
    });
    let sources = ConfigSources {
        files: files.collect(),
        environment: environment(variables),
        ..ConfigSources::default()
    };
    (load(&sources), dir)
}

fn environment(variables: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

pub(super) fn options(text: &str) -> Options {
    load_texts(&[text], &[]).0.unwrap().options
}

fn error(text: &str) -> String {
    let (result, dir) = load_texts(&[text], &[]);
    result
        .unwrap_err()
        .to_string()
        .replace(&*dir.path().to_string_lossy(), "DIR")
}

#[test]
fn without_configuration_it_is_noauth2_on_an_embedded_file() {
    let sources = ConfigSources {
        environment: environment(&[("OS_AUTH_URL", "http://x"), ("OS_AUTH_TYPE", "v3"), ("PATH", "/bin")]),
        ..ConfigSources::default()
    };
    let options = load(&sources).unwrap().options;
    assert_eq!(options.api.auth_strategy, AuthStrategy::Noauth2);
    assert!(options.placement_database.embedded && options.placement_database.may_sync());
    assert_eq!(
        options.placement_database.required().unwrap().reveal(),
        "sqlite:///placet.sqlite"
    );
    assert_eq!(options.placet.bind.to_string(), "127.0.0.1:8778");
    assert_eq!(options.placet.max_body_size, 32 * 1024 * 1024);
    assert_eq!(options.serving_problems().into_warnings(), Ok(Vec::new()));
}

#[test]
fn an_argument_does_not_count_as_configuration() {
    let bind = Some("127.0.0.1:1".to_owned());
    let configuration = load(&ConfigSources {
        bind,
        ..ConfigSources::default()
    })
    .unwrap();
    assert_eq!(configuration.options.api.auth_strategy, AuthStrategy::Noauth2);
    assert_eq!(configuration.options.placet.bind.port(), 1);
    assert!(
        configuration
            .ini()
            .unwrap()
            .contains("# from command line\nbind = 127.0.0.1:1\n")
    );
}

#[test]
fn any_configuration_brings_openstack_placements_defaults() {
    for (texts, variables) in [
        (&[""][..], &[][..]),
        (&[], &[("OS_PLACEMENT__RANDOMIZE_ALLOCATION_CANDIDATES", "1")]),
    ] {
        let options = load_texts(texts, variables).0.unwrap().options;
        assert_eq!(options.api.auth_strategy, AuthStrategy::Keystone);
        assert_eq!(options.placement_database.required(), Err(ConfigError::NoConnection));
        assert!(!options.placement_database.may_sync());
    }
}

#[test]
fn noauth2_on_other_than_loopback_must_be_allowed() {
    let text = |more: &str| {
        format!(
            "[api]\nauth_strategy=noauth2\n[placement_database]\nconnection=sqlite:///x\n[placet]\nbind=0.0.0.0:1\n{more}"
        )
    };
    assert!(matches!(
        options(&text("")).serving_problems().into_warnings(),
        Err(ConfigError::Noauth2Anywhere { .. })
    ));
    let warnings = options(&text("allow_noauth2_anywhere = true"))
        .serving_problems()
        .into_warnings()
        .unwrap();
    assert_eq!(warnings.len(), 1);
    // With a token file unknown tokens are refused, but tokens in clear text are worth a warning.
    let warnings = options(&text("token_file = /t"))
        .serving_problems()
        .into_warnings()
        .unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].contains("clear text"),
        "{warnings:?}"
    );
}

#[test]
fn later_files_and_then_variables_win() {
    let texts = [
        "[placet]\nworkers=1\nqueue_size=1\n[oslo_policy]\npolicy_dirs=a\npolicy_dirs=b",
        "[PLACET]\nworkers=2\nworkers=3\n[oslo_policy]\npolicy_dirs=c",
    ];
    let variables = [("OS_PLACET__QUEUE_SIZE", "7"), ("OS_PLACET__WORKERS", "4")];
    let options = load_texts(&texts, &variables[..1]).0.unwrap().options;
    assert_eq!((options.placet.workers, options.placet.queue_size), (3, 7));
    assert_eq!(options.oslo_policy.policy_dirs.0, ["a", "b", "c"]);
    let options = load_texts(&texts, &variables).0.unwrap().options;
    assert_eq!(options.placet.workers, 4);
}

#[test]
fn a_list_is_split_at_commas() {
    let cors = options("[cors]\nallowed_origin = http://a , http://b,\nallow_methods =\nmax_age =").cors;
    assert_eq!(cors.allowed_origin, ["http://a", "http://b"]);
    assert!(cors.allow_methods.is_empty());
    assert_eq!(cors.max_age, None);
    let cors = Options::default().cors;
    assert!(cors.allowed_origin.is_empty() && cors.allow_credentials);
    assert_eq!(cors.allow_methods, ["GET", "PUT", "POST", "DELETE", "PATCH"]);
    assert_eq!((cors.allow_headers.len(), cors.max_age), (8, Some(3600)));
}

#[test]
fn a_later_file_wins_even_with_an_older_name() {
    let newer = "[api]\nauth_strategy=keystone";
    let older = "[DEFAULT]\nauth_strategy=noauth2";
    let strategy = |texts: &[&str]| load_texts(texts, &[]).0.unwrap().options.api.auth_strategy;
    assert_eq!(strategy(&[older]), AuthStrategy::Noauth2);
    assert_eq!(strategy(&[newer, older]), AuthStrategy::Noauth2);
    assert_eq!(strategy(&[older, newer]), AuthStrategy::Keystone);
    assert_eq!(strategy(&[&format!("{newer}\n{older}")]), AuthStrategy::Keystone);
    // oslo.config reads no older names from the environment.
    let variables = [("OS_DEFAULT__AUTH_STRATEGY", "noauth2")];
    assert_eq!(
        load_texts(&[], &variables).0.unwrap().options.api.auth_strategy,
        AuthStrategy::Keystone
    );
    let (configuration, _dir) = load_texts(&[older], &[]);
    let warnings = configuration.unwrap().warnings();
    assert!(
        warnings[0].starts_with("[DEFAULT] auth_strategy: an older name, write [api] auth_strategy ("),
        "{warnings:?}"
    );
}

#[test]
fn names_are_substituted_in_their_own_section_first() {
    let text = "[DEFAULT]\nstate_path=/s\n[placement_database]\nmax_overflow=3\n\
        connection = sqlite:///$state_path/$max_overflow/${placet.workers}/$$x\n";
    let connection = options(text).placement_database.connection.unwrap();
    assert_eq!(connection.reveal(), "sqlite:////s/3/0/$x");
}

#[test]
fn an_unknown_substituted_name_is_refused_without_showing_a_secret() {
    assert_eq!(
        error("[oslo_policy]\npolicy_file = $nope"),
        "[oslo_policy] policy_file = $nope: $nope names no option; write $$ for a plain $ (from DIR/0.conf:2)"
    );
    let message = error("[placement_database]\nconnection = postgresql://u:pa$sword@h/d");
    assert_eq!(
        message,
        "[placement_database] connection = postgresql://u:***@h/d: a $name in it names no option; write $$ for a plain $ (from DIR/0.conf:2)"
    );
    assert!(error("[oslo_policy]\npolicy_file = $policy_file").contains("its value refers to itself"));
}

#[test]
fn a_value_that_does_not_fit_is_refused_with_its_place() {
    for (text, expected) in [
        (
            "[placet]\n\nqueue_size = 0",
            "[placet] queue_size = 0: must be between 1 and 1000000 (from DIR/0.conf:3)",
        ),
        (
            "[placet]\nworkers = -1",
            "[placet] workers = -1: is too low (from DIR/0.conf:2)",
        ),
        (
            "[placet]\nworkers = x",
            "[placet] workers = x: must be a whole number (from DIR/0.conf:2)",
        ),
        (
            "[placet]\nstrict_step_size =",
            "[placet] strict_step_size = : must be one of true, 1, on, yes, false, 0, off, no (from DIR/0.conf:2)",
        ),
        (
            "[placet]\nbind = 8778",
            "[placet] bind = 8778: must be ADDRESS:PORT, like 127.0.0.1:8778 or [::1]:8778 (from DIR/0.conf:2)",
        ),
        (
            "[placet]\nurl_prefix = x",
            "[placet] url_prefix = x: must be empty or a path like /placement (from DIR/0.conf:2)",
        ),
        (
            "[api]\nauth_strategy = Noauth2",
            "[api] auth_strategy = Noauth2: must be one of keystone, noauth2 (from DIR/0.conf:2)",
        ),
        (
            "[placet]\nbnid = x",
            "[placet] bnid is not an option of placet; did you mean bind? (from DIR/0.conf:2)",
        ),
    ] {
        assert_eq!(error(text), expected);
    }
    let (result, _dir) = load_texts(&[], &[("OS_PLACET__BNID", "x")]);
    assert!(
        result
            .unwrap_err()
            .to_string()
            .ends_with("did you mean bind? (from environment OS_PLACET__BNID)")
    );
}

#[test]
fn an_empty_number_means_its_default() {
    let options = options("[placet]\nworkers =\nqueue_size =\n[placement_database]\nmax_pool_size =\n");
    assert_eq!((options.placet.workers, options.placet.queue_size), (0, 1024));
    assert_eq!(options.placement_database.max_pool_size, 16);
}

#[test]
fn a_url_prefix_has_no_slash_at_its_end() {
    for (text, prefix) in [("", ""), ("/", ""), ("/placement/", "/placement"), ("/a/b", "/a/b")] {
        assert_eq!(
            options(&format!("[placet]\nurl_prefix = {text}")).placet.url_prefix.0,
            prefix
        );
    }
}

#[test]
fn log_files_are_where_oslo_log_puts_them() {
    for (text, path) in [
        ("", None),
        ("log_file = a.log", Some("a.log")),
        ("log_dir = /d", Some("/d/placet.log")),
        ("logdir = /d\nlogfile = a.log", Some("/d/a.log")),
    ] {
        assert_eq!(
            options(&format!("[DEFAULT]\n{text}")).default.log_path().as_deref(),
            path.map(Path::new)
        );
    }
}

#[test]
fn what_config_show_prints_can_be_read_again() {
    let text = "[placement]\nincomplete_consumer_user_id = ' $$x '\nincomplete_consumer_project_id = a\n b\n\
        [placement_database]\nconnection = mysql://u:hunter2@h/d\n";
    let (first, _dir) = load_texts(&[text], &[("OS_PLACET__WORKERS", "2")]);
    let first = first.unwrap();
    let shown = first.ini().unwrap();
    assert!(
        shown.contains("# from environment OS_PLACET__WORKERS\nworkers = 2\n"),
        "{shown}"
    );
    assert!(
        shown.contains("0.conf:2\nincomplete_consumer_user_id = \" $$x \"\n"),
        "{shown}"
    );
    assert!(shown.contains("# default\nbind = 127.0.0.1:8778\n"), "{shown}");
    assert!(
        shown.contains("connection = mysql://u:***@h/d\n") && !shown.contains("hunter2"),
        "{shown}"
    );
    assert!(!format!("{first:?}").contains("hunter2"));
    let (second, _dir) = load_texts(&[&shown], &[]);
    let second = second.unwrap().options;
    assert_eq!(second.placement.incomplete_consumer_user_id, " $x ");
    assert_eq!(second.placement.incomplete_consumer_project_id, "a\nb");
    assert_eq!(second.placet.workers, 2);
}

#[test]
fn files_are_found_where_openstack_placement_finds_them() {
    let dir = TempDir::new().unwrap();
    let write = |path: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "[DEFAULT]\n").unwrap();
    };
    write("etc/placement.conf.d/b.conf");
    write("etc/placement.conf.d/a.conf");
    write("etc/placement.conf.d/.hidden.conf");
    write("etc/placement.conf.d/a.txt");
    write("own/placement.conf");
    write("own/policy.yaml");
    let names = |sources: &ConfigSources| -> Vec<String> {
        let configuration = load(sources).unwrap();
        let relative = |path: &PathBuf| path.strip_prefix(dir.path()).unwrap().display().to_string();
        configuration.raw.files.iter().map(|(path, _)| relative(path)).collect()
    };
    let system = ConfigSources {
        system_dir: Some(dir.path().join("etc")),
        ..ConfigSources::default()
    };
    assert_eq!(
        names(&system),
        ["etc/placement.conf.d/a.conf", "etc/placement.conf.d/b.conf"]
    );
    write("etc/placement.conf");
    assert_eq!(names(&system)[0], "etc/placement.conf");
    let own = dir.path().join("own");
    let by_variable = ConfigSources {
        environment: environment(&[("OS_PLACEMENT_CONFIG_DIR", &format!(" {} ", own.display()))]),
        ..ConfigSources::default()
    };
    assert_eq!(names(&by_variable), ["own/placement.conf"]);
    let policy = load(&by_variable).unwrap().options.oslo_policy;
    assert_eq!(
        (policy.file(), policy.dirs()),
        (Some(own.join("policy.yaml")), Vec::new())
    );
    let named = ConfigSources {
        files: vec!["~/placement.conf".into()],
        dirs: vec![dir.path().join("etc")],
        ..system
    };
    let named = ConfigSources {
        environment: environment(&[("HOME", &own.to_string_lossy())]),
        ..named
    };
    assert_eq!(names(&named), ["own/placement.conf", "etc/placement.conf"]);
    let missing = ConfigSources {
        files: vec!["/nowhere/x.conf".into()],
        ..ConfigSources::default()
    };
    let message = load(&missing).unwrap_err().to_string();
    assert_eq!(
        message,
        "cannot read the configuration /nowhere/x.conf: it does not exist"
    );
}

#[test]
fn slave_routes_need_a_slave_connection() {
    let text =
        |more: &str| format!("[api]\nauth_strategy=noauth2\n[placement_database]\nconnection=sqlite:///x\n{more}");
    let routes = "[placet]\nslave_routes = GET /usages, GET /traits\n";
    assert_eq!(
        options(&text(routes)).serving_problems().into_warnings(),
        Err(ConfigError::NoReplica)
    );
    let both = options(&text(&format!("slave_connection=sqlite:///y\n{routes}")));
    assert_eq!(both.serving_problems().into_warnings(), Ok(Vec::new()));
    assert_eq!(both.placet.slave_routes, ["GET /usages", "GET /traits"]);
    let warnings = options(&text("slave_connection=sqlite:///y\n"))
        .serving_problems()
        .into_warnings()
        .unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}
