//! The printed policy: table and policy file.

use super::super::{table, yaml};
use super::*;

fn routes_of(rule: &str) -> Vec<String> {
    match rule {
        "placement:usages" => vec!["GET /usages".to_owned(), "GET /usages/again".to_owned()],
        _ => Vec::new(),
    }
}

#[test]
fn the_table_lists_all_rules_and_their_routes() {
    let text = table(
        &policy(true, "own: role:x\n\"placement:usages\": rule:own\nadmin_api: ''"),
        routes_of,
    );
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    for line in [
        &["RULE", "CHECK IN FORCE", "DEFAULT", "ROUTES"][..],
        &["admin_api", "\"\"", "(policy.yaml:3)", "role:admin", "nothing"],
        &["service_api", "role:service", "same", "other rules"],
        &[
            "placement:usages",
            "rule:own",
            "(policy.yaml:2)",
            "rule:admin_or_project_reader_or_service_api",
            "GET /usages",
        ],
        &["GET /usages/again"],
        &["own", "role:x", "(policy.yaml:1)", "none", "other rules"],
    ] {
        assert!(lines.iter().any(|found| found == line), "{line:?} in\n{text}");
    }
    assert_eq!(lines.len(), rules::ALL.len() + 3);
}

#[test]
fn a_policy_file_of_defaults_is_all_comments() {
    let text = yaml(&policy(true, ""), routes_of);
    assert!(
        text.lines().all(|line| line.is_empty() || line.starts_with('#')),
        "{text}"
    );
    assert!(text.contains(
        "# List total resource usages for a given project.\n# GET /usages\n# GET /usages/again\n\
         #\"placement:usages\": \"rule:admin_or_project_reader_or_service_api\"\n"
    ));
}

#[test]
fn the_printed_policy_file_reproduces_the_rules_in_force() {
    for (new, text) in [
        (true, "own: role:x\n\"placement:usages\": rule:own\nadmin_api: ''"),
        (false, "\"placement:reshaper:reshape\": [[role:a, role:b], ['@']]"),
        (false, "\"rule:admin_api\": role:reader"),
        (true, "own: 'not (''a\\\"b'':%(x)s or role:y)'"),
    ] {
        let before = policy(new, text);
        let again = policy(true, &yaml(&before, routes_of));
        assert_eq!(allowed_roles(&again), allowed_roles(&before), "{text}");
        assert_eq!(table_without_places(&again), table_without_places(&before), "{text}");
    }
}

fn table_without_places(policy: &Policy) -> Vec<String> {
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let kept = cells.filter(|cell| !cell.is_empty() && !cell.starts_with('('));
        kept.collect::<Vec<_>>().join(" | ")
    };
    table(policy, routes_of).lines().map(cells).collect()
}
