//! The default rules, their older alternatives, and the scope of tokens.

use super::*;

#[test]
fn only_admin_and_service_are_allowed_by_most_rules() {
    let policy = policy(true, "");
    for (roles, verdict) in [
        (&["admin"][..], PolicyDecision::Allowed),
        (&["SERVICE"], PolicyDecision::Allowed),
        (&["member", "reader"], PolicyDecision::Denied),
        (&[], PolicyDecision::Denied),
    ] {
        assert_eq!(
            authorize(&policy, &rules::PROVIDERS_LIST, &caller("p", roles)),
            verdict,
            "{roles:?}"
        );
    }
}

#[test]
fn a_reader_sees_only_the_usages_of_its_own_project() {
    let (policy, reader) = (policy(true, ""), caller("p", &["reader"]));
    for (project, verdict) in [
        (Some("p"), PolicyDecision::Allowed),
        (Some("q"), PolicyDecision::Denied),
        (None, PolicyDecision::Denied),
    ] {
        assert_eq!(
            policy.authorize(&rules::TOTAL_USAGES, &reader, &Target::Project(project)),
            verdict,
            "{project:?}"
        );
    }
}

#[test]
fn only_the_older_defaults_allow_an_admin_to_reshape() {
    assert_eq!(
        allowed_roles(&policy(true, "")),
        ["admin service", "service", "admin service reader"]
    );
    assert_eq!(
        allowed_roles(&policy(false, "")),
        ["admin service", "admin service", "admin service reader"]
    );
}

#[test]
fn a_rule_in_a_file_has_no_older_alternative() {
    for new in [true, false] {
        assert_eq!(
            allowed_roles(&policy(new, "service_api: role:reader"))[1],
            "reader",
            "new defaults: {new}"
        );
    }
}

#[test]
fn the_older_name_sets_all_rules_that_replaced_it() {
    for new in [true, false] {
        let older = |text| allowed_roles(&policy(new, text));
        assert_eq!(
            older("\"rule:admin_api\": role:reader"),
            ["reader", "reader", "reader"],
            "new defaults: {new}"
        );
        // The newer name takes precedence.
        assert_eq!(
            older("\"rule:admin_api\": role:reader\nservice_api: role:service"),
            ["reader", "service", "reader"]
        );
        // The former default of the older name changes nothing.
        assert_eq!(older("\"rule:admin_api\": role:admin"), allowed_roles(&policy(new, "")));
        // Neither does the name without the prefix.
        assert_eq!(older("admin_api: role:reader"), allowed_roles(&policy(new, "")));
    }
    // A rule in the check keeps its own default.
    assert_eq!(
        allowed_roles(&policy(true, "\"rule:admin_api\": rule:service_api")),
        ["service", "service", "service"]
    );
    assert_eq!(
        allowed_roles(&policy(false, "\"rule:admin_api\": rule:service_api")),
        ["admin service", "admin service", "admin service"]
    );
}

#[test]
fn a_system_or_domain_scoped_token_is_refused_whatever_the_file_says() {
    let policy = policy(true, "\"placement:resource_providers:list\": \"@\"");
    let with = |change: fn(&mut Caller)| {
        let mut caller = caller("p", &["admin"]);
        change(&mut caller);
        authorize(&policy, &rules::PROVIDERS_LIST, &caller)
    };
    assert_eq!(
        with(|caller| caller.system_scope = Some("all".into())),
        PolicyDecision::WrongScope
    );
    assert_eq!(
        with(|caller| caller.domain_id = Some("default".into())),
        PolicyDecision::WrongScope
    );
    assert_eq!(
        with(|caller| caller.domain_id = Some(String::new())),
        PolicyDecision::Allowed
    );
}

#[test]
fn the_default_rule_replaces_a_missing_rule() {
    let reshape = "\"placement:reshaper:reshape\": rule:nope";
    assert_eq!(allowed_roles(&policy(true, reshape))[1], "");
    assert_eq!(
        allowed_roles(&policy(true, &format!("default: \"@\"\n{reshape}")))[1],
        "admin service reader"
    );
    let named = PolicySettings {
        default_rule: "placement:resource_providers:list".into(),
        ..settings(true)
    };
    let loaded = load(&named, &[file("f", reshape)]).expect("a policy");
    assert_eq!(allowed_roles(&loaded.policy)[1], "admin service");
}
