//! Native rules follow the rules of OpenStack's routes.

use super::*;

/// The native rules that a service user may use, with this policy file.
fn open_to_services(text: &str) -> Vec<&'static str> {
    let policy = policy(true, text);
    let service = caller("p", &["service"]);
    let open = rules::ALL.iter().filter(|rule| rule.is_native());
    let open = open.filter(|rule| authorize(&policy, rule, &service) == PolicyDecision::Allowed);
    open.map(|rule| rule.name).collect()
}

#[test]
fn hostile_14_a_closed_rule_of_openstack_closes_the_native_routes_that_do_the_same() {
    let all = open_to_services("");
    for (closed, native) in [
        (
            "allocations:update",
            &["placet:claims:create", "placet:workloads:update"][..],
        ),
        (
            "allocations:manage",
            &["placet:claims:create", "placet:workloads:update"],
        ),
        (
            "allocation_candidates:list",
            &[
                "placet:claims:create",
                "placet:candidates:list",
                "placet:capacity:show",
                "placet:explain:show",
                "placet:workloads:update",
            ],
        ),
        ("allocations:delete", &["placet:workloads:delete"]),
        (
            "resource_providers:list",
            &[
                "placet:hosts:list",
                "placet:domains:list",
                "placet:types:list",
                "placet:providers:list",
            ],
        ),
        (
            "resource_providers:show",
            &["placet:hosts:show", "placet:types:show", "placet:providers:show"],
        ),
        (
            "resource_providers:usages",
            &["placet:capacity:show", "placet:domains:list"],
        ),
        (
            "resource_providers:update",
            &[
                "placet:hosts:report",
                "placet:domains:update",
                "placet:domains:delete",
                "placet:types:update",
                "placet:types:delete",
                "placet:providers:update",
            ],
        ),
        (
            "resource_providers:traits:update",
            &["placet:types:update", "placet:types:delete", "placet:providers:update"],
        ),
        (
            "resource_providers:aggregates:list",
            &["placet:domains:list", "placet:domains:show"],
        ),
        (
            "resource_providers:aggregates:update",
            &["placet:domains:update", "placet:domains:delete"],
        ),
        (
            "resource_providers:inventories:list",
            &["placet:explain:show", "placet:limits:list"],
        ),
        ("resource_providers:inventories:show", &["placet:limits:show"]),
        (
            "resource_providers:inventories:update",
            &["placet:hosts:report", "placet:limits:update"],
        ),
        (
            "usages",
            &[
                "placet:workloads:list",
                "placet:workloads:show",
                "placet:violations:list",
                "placet:refusals:list",
                "placet:consumers:list",
                "placet:usages:list",
            ],
        ),
    ] {
        let left = open_to_services(&format!("\"placement:{closed}\": \"!\""));
        let lost: Vec<&str> = all.iter().copied().filter(|name| !left.contains(name)).collect();
        assert_eq!(lost, native, "{closed}");
    }
    // A file with the native rule decides alone.
    let both = "\"placement:allocations:update\": \"!\"\n\"placet:claims:create\": role:service";
    assert!(open_to_services(both).contains(&"placet:claims:create"));
}

#[test]
fn hostile_14_notes_say_which_native_rules_follow_a_file_and_which_are_left() {
    assert_eq!(policy(true, "").native_notes(), Vec::<String>::new());
    let text = "\"placement:allocations:update\": \"!\"\n\"placet:candidates:list\": role:admin";
    let notes = policy(true, text).native_notes();
    let followed = "follows placement:allocations:update (policy.yaml:1)";
    assert_eq!(notes[0], format!("policy: placet:claims:create {followed}"));
    assert_eq!(notes[1], format!("policy: placet:workloads:update {followed}"));
    assert_eq!(notes.len(), 3);
    let names = |name: &str| notes[2].contains(name);
    assert!(names("placet:limits:update") && names("placet:api:use"), "{notes:?}");
    assert!(
        !names("placet:claims:create,") && !names("placet:candidates:list"),
        "{notes:?}"
    );
    let common = policy(true, "admin_or_service_api: role:admin").native_notes();
    assert!(common.contains(&"policy: placet:limits:update follows admin_or_service_api (policy.yaml:1)".to_owned()));
}
