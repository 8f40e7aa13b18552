//! The form of the texts of a workload.

use super::*;

#[test]
fn found_p5_texts_of_a_workload_have_one_form() {
    for (members, named) in [
        (
            r#", "rules": [{"rule": "spread", "dimensions": ["host", "fault "]}]"#,
            "rules[0].dimensions[1]: 'fault ' begins or ends with white space.",
        ),
        (
            r#", "rules": [{"rule": "apart", "workload": "6f000000-0000-4000-8000-000000000002", "dimension": "a\u0001b"}]"#,
            "rules[0].dimension: 'a\\u{1}b' has a control character.",
        ),
        (r#", "ids": ["a", "Ku\u0308"]"#, "ids[1]: "),
    ] {
        assert!(refusal(members).starts_with(named), "{members}: {}", refusal(members));
    }
    let asked = |name: &str, query: &str| {
        read(&format!(
            r#"{{"generation": null, "name": "w", "roles": [{{"name": "{name}", "count": 1, "query": {query}}}]}}"#
        ))
    };
    assert!(asked("a b", r#"{"resources": "VCPU:1", "where": "Rack == \"a b\""}"#).is_ok());
    for (name, query, start) in [
        ("a ", r#""resources=VCPU:1""#, "roles[0].name: 'a '"),
        (
            "a",
            r#"{"resources": "VCPU:1", "where": "Rack == \"a \""}"#,
            "roles[0].query: where: Invalid expression at column 9: the text begins",
        ),
        (
            "a",
            r#"{"resources": "VCPU:1", "in_domain": ["fault:fd:/a", "fault:fd:/b "]}"#,
            "roles[0].query: in_domain: 'fault:fd:/b '",
        ),
    ] {
        let refused = asked(name, query).unwrap_err().to_string();
        assert!(refused.starts_with(start), "{refused}");
    }
    for query in ["name=w%20", "name=Ku%CC%88"] {
        assert!(
            read_list(query).unwrap_err().to_string().starts_with("name: "),
            "{query}"
        );
    }
}

/// A former version stored such texts. The workload can be read, and changed elsewhere.
#[test]
fn found_p5_a_patch_keeps_the_texts_that_are_stored() {
    let role = r#"{"name":"a ","count":1,"query":{"resources":"VCPU:1","where":"Rack == \"a \""}}"#;
    let rule = r#"{"rule":"spread","dimensions":["fault "]}"#;
    let stored = format!(r#"{{"type":"INSTANCE","quorum":true,"roles":[{role}],"rules":[{rule}]}}"#);
    assert!(read_stored(&stored).is_ok());
    let row = WorkloadRow {
        name: "w ".to_owned(),
        ..row(&stored)
    };
    let patched = |body: &str| read_patch(&row, "", body.as_bytes(), &defaults());
    assert_eq!(patched(r#"{"generation": 1, "quorum": false}"#).unwrap().name, "w ");
    let scaled = role.replace(r#""count":1"#, r#""count":2"#);
    assert!(patched(&format!(r#"{{"generation": 1, "roles": [{scaled}]}}"#)).is_ok());
    let other = role.replace("VCPU:1", "VCPU:2");
    for body in [
        r#"{"generation": 1, "name": "v "}"#.to_owned(),
        format!(r#"{{"generation": 1, "roles": [{other}]}}"#),
        r#"{"generation": 1, "rules": [{"rule": "spread", "dimensions": ["rack "]}]}"#.to_owned(),
    ] {
        assert!(patched(&body).is_err(), "{body}");
    }
}
