//! Bodies of workloads: reading, storing, reading again, and the named member of a refusal.

mod texts;

use super::*;
use crate::model::workloads::{AffinityKind, Mode, SpreadRule, WithinRule};
use crate::wire::tests::compare_nulls;

const UUID: &str = "6f000000-0000-4000-8000-000000000001";
const OTHER: &str = "6f000000-0000-4000-8000-000000000002";

fn defaults() -> Defaults {
    Defaults {
        may_change_others: false,
        project: Some("project".to_owned()),
        user: Some("user".to_owned()),
        rank: None,
    }
}

fn read(body: &str) -> Result<Put> {
    read_put(UUID, "", body.as_bytes(), &defaults())
}

/// The row of a workload with this stored text.
fn row(body: &str) -> WorkloadRow {
    WorkloadRow {
        uuid: UUID.to_owned(),
        name: "w".to_owned(),
        project: "project".to_owned(),
        user: "user".to_owned(),
        generation: 1,
        revision: 1,
        body: body.into(),
        named: 0,
    }
}

/// A workload with these members beside the required members.
fn with(members: &str) -> Result<Put> {
    read(&format!(
        r#"{{"generation": null, "name": "w",
        "roles": [{{"name": "a", "count": 2, "query": "resources=VCPU:1"}}]{members}}}"#
    ))
}

fn refusal(members: &str) -> String {
    with(members).unwrap_err().to_string()
}

#[test]
fn numbers_of_a_payload_are_kept_or_refused() {
    let with_payload = |payload: &str| {
        read(&format!(
            r#"{{"generation": null, "name": "w",
            "roles": [{{"name": "a", "count": 2, "query": "resources=VCPU:1", "payload": {{"n": [{payload}]}}}}]}}"#
        ))
    };
    for kept in ["0", "-9223372036854775808", "0.25", "1.5e300", r#""NaN""#, "null"] {
        let put = with_payload(kept).unwrap();
        assert!(put.body.contains(r#""payload":{"n":["#), "{}", put.body);
        let written: serde_json::Value = serde_json::from_str(&put.body).unwrap();
        let expected: serde_json::Value = serde_json::from_str(kept).unwrap();
        assert_eq!(written["roles"][0]["payload"]["n"][0], expected);
    }
    for refused in ["12345678901234567890123", "1e400", "NaN", "-Infinity"] {
        let error = with_payload(refused).unwrap_err().to_string();
        assert!(error.starts_with("roles[0].payload.n[0]: "), "{error}");
    }
}

#[test]
fn a_stored_text_is_read_as_the_same_spec() {
    let put = with(
        r#", "type": "DB", "quorum": false, "min": 2, "rules": [
        {"rule": "within", "dimension": "zone", "level": "prefer"},
        {"rule": "spread", "dimensions": ["fault", "host"], "mode": "one-each", "strict": true},
        {"rule": "apart", "workload": "6F000000000040008000000000000002", "dimension": "fault"}]"#,
    )
    .unwrap();
    let rules = put.spec.rules.clone().unwrap();
    let expected = SpreadRule {
        level: Level::Hard,
        mode: Mode::OneEach,
        dimensions: vec!["fault".to_owned(), "host".to_owned()],
        strict: true,
    };
    let within = WithinRule {
        level: Level::Prefer,
        dimension: "zone".to_owned(),
    };
    assert_eq!(rules[0], SpecRule::Within(within));
    assert_eq!(rules[1], SpecRule::Spread(expected));
    let SpecRule::Affinity(affinity) = &rules[2] else {
        panic!("{rules:?}")
    };
    assert_eq!(
        (affinity.kind, affinity.workload.as_str(), affinity.dimension.as_str()),
        (AffinityKind::AntiAffinity, OTHER, "fault")
    );
    let again = read_stored(&put.body).unwrap();
    assert_eq!((again.rules.clone(), again.min), (put.spec.rules.clone(), Some(2)));
    assert!(again.is_same_revision(&put.spec));
    assert_eq!(
        (again.quorum, again.consumer_type.as_str(), again.count()),
        (false, "DB", 2)
    );
}

/// serde_json's parser rounds these two numbers, and refuses more than 128 levels.
#[test]
fn a_stored_payload_is_shown_and_patched_as_it_was_put() {
    let deep = format!(r#"{}"end"{}"#, r#"{"a":"#.repeat(290), "}".repeat(290));
    for payload in [r#"{"x":31.245270191439438,"y":121.48791951161945}"#, &deep] {
        let put = read(&format!(
            r#"{{"generation": null, "name": "w",
            "roles": [{{"name": "a", "count": 2, "query": "resources=VCPU:1", "payload": {payload}}}]}}"#
        ))
        .unwrap();
        let row = row(&put.body);
        let shown = String::from_utf8(write_spec(&row).unwrap()).unwrap();
        assert!(shown.contains(payload), "{shown}");
        let renamed = read_patch(&row, "", br#"{"generation": 1, "name": "v"}"#, &defaults()).unwrap();
        assert_eq!((renamed.name.as_str(), renamed.body), ("v", put.body));
        assert!(renamed.spec.is_same_revision(&put.spec));
    }
}

/// The description had null for each member, and the reader refused null for `name`, `roles` and others.
#[test]
fn the_description_of_a_patch_has_null_where_null_is_read() {
    let put = with("").unwrap();
    compare_nulls::<PutBody>(&write_spec(&row(&put.body)).unwrap());
}

#[test]
fn a_patch_of_an_unreadable_spec_is_an_error_of_placet() {
    let unreadable = read_patch(&row("{"), "", br#"{"generation": 1, "name": "v"}"#, &defaults()).unwrap_err();
    assert!(matches!(unreadable, Error::Internal { .. }), "{unreadable}");
}

#[test]
fn another_query_or_payload_is_another_revision() {
    let role = |role: &str| {
        let body = format!(r#"{{"generation": 1, "name": "w", "roles": [{{"name": "a", {role}}}]}}"#);
        read(&body).unwrap().spec
    };
    let first = role(r#""count": 2, "query": "resources=VCPU:1""#);
    assert!(first.is_same_revision(&role(r#""count": 3, "query": "resources=VCPU:1""#)));
    assert!(!first.is_same_revision(&role(r#""count": 2, "query": "resources=VCPU:2""#)));
    assert!(!first.is_same_revision(&role(
        r#""count": 2, "query": "resources=VCPU:1", "payload": {"image": 1}"#
    )));
}

#[test]
fn a_member_that_is_wrong_is_named() {
    for (members, named) in [
        (r#", "ids": ["a"]"#, "ids"),
        (r#", "ids": ["a", "a"]"#, "ids"),
        (r#", "swap": [["0"]]"#, "swap"),
        (r#", "swap": [["0", "0"]]"#, "swap[0]"),
        (r#", "rules": [{"rule": "spread"}]"#, "rules[0].dimensions"),
        (
            r#", "rules": [{"rule": "spread", "dimensions": ["a", "a"]}]"#,
            "rules[0].dimensions",
        ),
        (
            r#", "rules": [{"rule": "spread", "dimensions": ["a"], "level": "soft", "strict": true}]"#,
            "rules[0].strict",
        ),
        (r#", "min": 0"#, "min"),
        (r#", "min": 3"#, "min: 3 replicas are more than the 2 of all roles"),
        (r#", "rules": [{"rule": "within"}]"#, "rules[0].dimension"),
        (
            r#", "rules": [{"rule": "within", "dimension": "zone", "mode": "one-each"}]"#,
            "rules[0].mode",
        ),
        (
            r#", "rules": [{"rule": "within", "dimension": "zone"}, {"rule": "within", "dimension": "rack"}]"#,
            "rules[1].rule",
        ),
        (r#", "rules": [{"rule": "apart"}]"#, "rules[0].workload"),
        (
            r#", "rules": [{"rule": "apart", "workload": "6f000000-0000-4000-8000-000000000002", "mode": "one-each"}]"#,
            "rules[0].mode",
        ),
        (
            r#", "rules": [{"rule": "together", "workload": "6f000000-0000-4000-8000-000000000001"}]"#,
            "rules",
        ),
        (r#", "rules": [{"rule": "near"}]"#, "near"),
        (r#", "other": 1"#, "other"),
    ] {
        let refusal = refusal(members);
        assert!(refusal.contains(named), "{members}: {refusal}");
    }
    let twice = r#"{"generation": null, "name": "w", "roles": [
        {"name": "a", "count": 1, "query": "resources=VCPU:1"}, {"name": "a", "count": 1, "query": "resources=VCPU:1"}]}"#;
    assert!(read(twice).unwrap_err().to_string().contains("roles[1].name"));
    let wrong = r#"{"generation": null, "name": "w", "roles": [{"name": "a", "count": 1, "query": "resources=VCPU"}]}"#;
    assert!(read(wrong).unwrap_err().to_string().contains("roles[0].query"));
    let many =
        r#"{"generation": null, "name": "w", "roles": [{"name": "a", "count": 1001, "query": "resources=VCPU:1"}]}"#;
    assert!(read(many).unwrap_err().to_string().contains("1001"));
}

#[test]
fn a_load_of_0_in_a_role_asks_for_nothing_of_its_class() {
    let read_role = |query: &str| {
        read(&format!(
            r#"{{"generation": null, "name": "w", "roles": [{{"name": "a", "count": 1, "query": {query}}}]}}"#
        ))
    };
    for query in [
        r#""resources=VCPU:1,CUSTOM_LOAD:0""#,
        r#"{"resources": "CUSTOM_LOAD:0,VCPU:1"}"#,
    ] {
        let put = read_role(query).unwrap();
        let resources = |spec: &Spec| spec.roles[0].query.request.groups[0].resources.clone();
        assert_eq!(resources(&put.spec), [("VCPU".to_owned(), 1)]);
        assert_eq!(resources(&read_stored(&put.body).unwrap()), [("VCPU".to_owned(), 1)]);
    }
    for nothing in [
        r#""resources=CUSTOM_LOAD:0""#,
        r#""resources=VCPU:-1""#,
        r#""resources=VCPU:1,VCPU:0""#,
    ] {
        assert!(read_role(nothing).unwrap_err().to_string().contains("roles[0].query"));
    }
}

#[test]
fn an_answer_can_be_sent_back() {
    let shown = format!(
        r#", "uuid": "{UUID}", "revision": 1, "placed": 2, "pending": 0, "safe": null,
        "quorum_lost": null, "survives": {{}}, "spread": [], "replicas": [{{}}],
        "violations": [], "exact": true, "reasons": [], "counts": {{}}, "notes": [], "rules": null"#
    );
    assert!(with(&shown).unwrap().adopted.is_empty());
    let other = refusal(&format!(r#", "uuid": "{OTHER}""#));
    assert_eq!(other, format!("uuid: {OTHER} differs from the uuid of the path."));
}

#[test]
fn names_and_ids_neither_begin_nor_end_with_white_space() {
    for (members, named) in [
        (r#", "ids": ["a", "a "]"#, "ids[1]: 'a '"),
        (r#", "ids": ["\u00a0a", "b"]"#, "ids[0]: "),
        (
            r#", "adopt": [{"consumer": "6f000000-0000-4000-8000-000000000002", "id": "\ta"}]"#,
            "adopt[0].id: ",
        ),
        (r#", "project_id": "p ""#, "project_id: 'p '"),
    ] {
        let refusal = refusal(members);
        assert!(refusal.starts_with(named), "{members}: {refusal}");
        assert!(refusal.contains("begins or ends with white space"), "{refusal}");
    }
    let named = |name: &str| {
        read(&format!(
            r#"{{"generation": null, "name": "{name}", "roles": [{{"name": "a", "count": 1, "query": "resources=VCPU:1"}}]}}"#
        ))
    };
    for name in ["w ", " w", " ", "w\\n"] {
        let refusal = named(name).unwrap_err().to_string();
        assert!(refusal.starts_with("name: "), "{refusal}");
    }
    assert_eq!(named("my sql").unwrap().name, "my sql");
    assert!(with(r#", "ids": ["a b", "c"], "project_id": "p q""#).is_ok());
}

/// A body with this number of rules and of roles.
fn sized(rules: usize, roles: usize) -> String {
    let rules = vec![r#"{"rule": "spread", "dimensions": ["fault"]}"#; rules];
    let roles = (0..roles).map(|at| format!(r#"{{"name": "{at}", "count": 0, "query": "resources=VCPU:1"}}"#));
    let roles: Vec<String> = roles.collect();
    format!(
        r#"{{"generation": null, "name": "w", "rules": [{}], "roles": [{}]}}"#,
        rules.join(","),
        roles.join(",")
    )
}

#[test]
fn rules_and_roles_are_bounded_and_what_was_stored_before_is_read() {
    assert!(read(&sized(64, 1)).is_ok() && read(&sized(0, 1_000)).is_ok());
    for (body, sentence) in [
        (sized(65, 1), "rules: 65 items; from 0 to 64 are allowed."),
        (sized(0, 1_001), "roles: 1001 items; from 1 to 1000 are allowed."),
    ] {
        assert_eq!(read(&body).unwrap_err().to_string(), sentence);
        let spec = read_stored(&body).unwrap();
        let counts = (spec.rules.map_or(0, |rules| rules.len()), spec.roles.len());
        assert!(counts == (65, 1) || counts == (0, 1_001), "{counts:?}");
    }
}

#[test]
fn a_group_whose_amounts_are_all_0_is_as_if_it_were_not_there() {
    let groups = |query: &str| {
        let body = format!(
            r#"{{"generation": null, "name": "w", "roles": [{{"name": "a", "count": 1, "query": "{query}"}}]}}"#
        );
        read(&body).map(|put| put.spec.roles[0].query.request.groups.clone())
    };
    let suffixes = |query: &str| -> Vec<String> {
        let groups = groups(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        groups.into_iter().map(|group| group.suffix).collect()
    };
    assert_eq!(suffixes("resources=VCPU:1&resources_A=CUSTOM_LOAD:0"), [""]);
    assert_eq!(suffixes("resources=CUSTOM_LOAD:0&resources_A=VCPU:1"), ["_A"]);
    // A group with further conditions needs a class, or a subtree.
    let in_subtree =
        "resources=VCPU:1&resources_A=VCPU:1&resources_B=CUSTOM_LOAD:0&same_subtree=_A,_B&group_policy=none";
    assert_eq!(suffixes(in_subtree), ["", "_A", "_B"]);
    let refused = groups("resources=VCPU:1&resources_A=CUSTOM_LOAD:0&required_A=HW_GPU");
    assert!(refused.unwrap_err().to_string().contains("same_subtree"));
    assert!(groups("resources=CUSTOM_LOAD:0&resources_A=CUSTOM_LOAD:0").is_err());
}

/// Found by a hostile reader: a body of a megabyte named 150,000 dimensions, each of which was listed for all hosts.
#[test]
fn rules_name_at_most_16_dimensions() {
    let rules = |number: usize| {
        let names: Vec<String> = (0..number).map(|n| format!(r#""d{n}""#)).collect();
        let (one, other) = names.split_at(number / 2);
        let rule = |names: &[String]| format!(r#"{{"rule": "spread", "dimensions": ["host", {}]}}"#, names.join(", "));
        with(&format!(r#", "rules": [{}, {}]"#, rule(one), rule(other)))
    };
    assert!(rules(16).is_ok());
    let refused = rules(17).unwrap_err().to_string();
    assert!(refused.starts_with("rules: they name 17 dimensions"), "{refused}");
}

#[test]
fn lost_after_is_stored_and_replace_is_not() {
    let body = |lost_after: &str| {
        format!(
            r#"{{"generation": null, "name": "w", "lost_after": {lost_after},
            "roles": [{{"name": "a", "count": 1, "query": "resources=VCPU:1"}}]}}"#
        )
    };
    let put = read_put(OTHER, "replace=lost", body("600").as_bytes(), &defaults()).unwrap();
    assert_eq!((put.replaces_lost, put.spec.lost_after), (true, Some(600)));
    assert_eq!(read_stored(&put.body).unwrap().lost_after, Some(600));
    let patched = read_patch(&row(&put.body), "", br#"{"generation": 1}"#, &defaults()).unwrap();
    assert_eq!((patched.replaces_lost, patched.spec.lost_after), (false, Some(600)));
    let without = read(&body("null")).unwrap();
    assert!(
        !without.body.contains("lost_after"),
        "a body of before stays: {}",
        without.body
    );
    for wrong in ["-1", "31536001", "0.5", "\"600\""] {
        assert!(read(&body(wrong)).is_err(), "{wrong}");
    }
}
