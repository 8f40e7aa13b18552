//! The default rules, their older alternatives, and the scope of tokens.

use super::*;

#[test]
fn admin_and_service_may_do_most_things_and_nobody_else() {
    let policy = policy(true, "");
    for (roles, verdict) in [
        (&["admin"][..], Verdict::Allowed),
        (&["SERVICE"], Verdict::Allowed),
        (&["member", "reader"], Verdict::Denied),
        (&[], Verdict::Denied),
    ] {
        assert_eq!(
            judge(&policy, &rules::PROVIDERS_LIST, &caller("p", roles)),
            verdict,
            "{roles:?}"
        );
    }
}

#[test]
fn a_reader_sees_the_usages_of_the_own_project_only() {
    let (policy, reader) = (policy(true, ""), caller("p", &["reader"]));
    for (project, verdict) in [
        (Some("p"), Verdict::Allowed),
        (Some("q"), Verdict::Denied),
        (None, Verdict::Denied),
    ] {
        assert_eq!(
            policy.judge(&rules::TOTAL_USAGES, &reader, &Target::Project(project)),
            verdict,
            "{project:?}"
        );
    }
}

#[test]
fn only_the_older_defaults_let_an_admin_reshape() {
    assert_eq!(
        who_may(&policy(true, "")),
        ["admin service", "service", "admin service reader"]
    );
    assert_eq!(
        who_may(&policy(false, "")),
        ["admin service", "admin service", "admin service reader"]
    );
}

#[test]
fn a_rule_of_the_file_has_no_older_alternative() {
    for new in [true, false] {
        assert_eq!(
            who_may(&policy(new, "service_api: role:reader"))[1],
            "reader",
            "new defaults: {new}"
        );
    }
}

#[test]
fn the_older_name_sets_every_rule_that_came_of_it() {
    for new in [true, false] {
        let older = |text| who_may(&policy(new, text));
        assert_eq!(
            older("\"rule:admin_api\": role:reader"),
            ["reader", "reader", "reader"],
            "new defaults: {new}"
        );
        // The newer name goes before it.
        assert_eq!(
            older("\"rule:admin_api\": role:reader\nservice_api: role:service"),
            ["reader", "service", "reader"]
        );
        // What it was by default changes nothing.
        assert_eq!(older("\"rule:admin_api\": role:admin"), who_may(&policy(new, "")));
        // Nor does the bare name.
        assert_eq!(older("admin_api: role:reader"), who_may(&policy(new, "")));
    }
    // A rule that it refers to keeps its own default.
    assert_eq!(
        who_may(&policy(true, "\"rule:admin_api\": rule:service_api")),
        ["service", "service", "service"]
    );
    assert_eq!(
        who_may(&policy(false, "\"rule:admin_api\": rule:service_api")),
        ["admin service", "admin service", "admin service"]
    );
}

#[test]
fn a_token_of_the_system_or_a_domain_is_refused_whatever_the_file_says() {
    let policy = policy(true, "\"placement:resource_providers:list\": \"@\"");
    let with = |change: fn(&mut Caller)| {
        let mut caller = caller("p", &["admin"]);
        change(&mut caller);
        judge(&policy, &rules::PROVIDERS_LIST, &caller)
    };
    assert_eq!(with(|it| it.system_scope = Some("all".into())), Verdict::WrongScope);
    assert_eq!(with(|it| it.domain_id = Some("default".into())), Verdict::WrongScope);
    assert_eq!(with(|it| it.domain_id = Some(String::new())), Verdict::Allowed);
}

#[test]
fn the_default_rule_stands_in_for_what_is_not_there() {
    let reshape = "\"placement:reshaper:reshape\": rule:nope";
    assert_eq!(who_may(&policy(true, reshape))[1], "");
    assert_eq!(
        who_may(&policy(true, &format!("default: \"@\"\n{reshape}")))[1],
        "admin service reader"
    );
    let named = Settings {
        default_rule: "placement:resource_providers:list".into(),
        ..settings(true)
    };
    let loaded = load(&named, &[file("f", reshape)]).expect("a policy");
    assert_eq!(who_may(&loaded.policy)[1], "admin service");
}
