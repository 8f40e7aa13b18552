//! Refusals of wrong descriptions of providers, answers as requests, and patches.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::model::providers::Describe;
use crate::search::Description;
use crate::search::{PropertyValue, ProviderState};
use crate::wire::ListForm;
use crate::wire::tests::compare_nulls;

fn refused(members: &str) -> String {
    let body = format!(r#"{{"generation": null, {members}}}"#);
    read_describe("p", "", body.as_bytes()).unwrap_err().to_string()
}

#[test]
fn every_wrong_member_is_named_by_its_path() {
    let detail = refused(
        r#""properties": {"NodeName": 1, "1st": true},
            "domains": {"host": "a", "fault": "/", "rack": "dc1//r1"}"#,
    );
    for part in [
        "properties.NodeName is built in",
        "properties.1st: a name begins",
        "domains.host is built in",
        "domains.fault has 0 characters",
        "domains.rack: a level of the path is empty",
    ] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
}

#[test]
fn a_member_of_a_wrong_type_is_refused_alone() {
    for (members, sentence) in [
        (
            r#""properties": {"Half": 0.5}"#,
            "properties.Half: 0.5 is not a text, a boolean, a whole number of 64 bits or null.",
        ),
        (
            r#""properties": {"Large": 9223372036854775808}"#,
            "properties.Large: 9223372036854775808 is not a number of 64 bits.",
        ),
        (r#""state": "on""#, "state: \"on\" is none of up, draining, off, lost."),
        (r#""domains": {"fault": 1}"#, "domains.fault: 1 is not a text."),
    ] {
        assert_eq!(refused(members), sentence);
    }
}

#[test]
fn a_list_names_each_provider_once_and_a_path_may_be_repeated() {
    let uuid = "c4000000-0000-4000-8000-000000000001";
    let item = format!(r#"{{"uuid": "{uuid}", "generation": null}}"#);
    let refusal = |body: String| read_describe_all("", body.as_bytes()).unwrap_err().to_string();
    let twice = refusal(format!(r#"{{"providers": [{item}, {item}]}}"#));
    assert_eq!(twice, format!("providers[1].uuid: {uuid} occurs twice."));
    let unnamed = refusal(r#"{"providers": [{"generation": 1}]}"#.to_owned());
    assert_eq!(unnamed, "providers[0].uuid is required.");
    assert!(read_describe(uuid, "", item.as_bytes()).is_ok());
    assert!(read_describe("c4000000-0000-4000-8000-000000000002", "", item.as_bytes()).is_err());
}

#[test]
fn counts_and_lengths_are_bounded() {
    let many: Vec<String> = (0..65).map(|at| format!(r#""P{at}": {at}"#)).collect();
    let detail = refused(&format!(r#""properties": {{{}}}"#, many.join(", ")));
    assert!(detail.contains("properties has 65 items; at most 64"), "{detail}");
    let detail = refused(&format!(r#""domains": {{"fault": "{}"}}"#, "x".repeat(1_025)));
    assert!(detail.contains("domains.fault has 1025 characters"), "{detail}");
    let detail = refused(&format!(r#""type": "{}""#, "x".repeat(256)));
    assert!(detail.contains("is not a text of 1 to 255 characters"), "{detail}");
    assert!(read_describe_all("", br#"{"providers": []}"#).is_err());
}

const HOST: &str = "c4000000-0000-4000-8000-000000000001";

fn shown() -> Described {
    let properties = [
        ("HasSSD", Some(PropertyValue::Boolean(true))),
        ("Hidden", None),
        ("Number", Some(PropertyValue::Integer(i64::MIN))),
    ];
    Described {
        uuid: HOST.to_owned(),
        name: "host1".to_owned(),
        generation: Some(3),
        description: Description {
            kind: Some("NodeType01".into()),
            properties: properties.map(|(name, value)| (name.into(), value)).into(),
            domains: [("fault", "fd:/dc1/r0"), ("upgrade", "UD1")]
                .map(|(dimension, path)| (dimension.into(), path.into()))
                .into(),
            state: ProviderState::Draining,
            is_unknown: false,
        },
        nova_still_claims: false,
    }
}

fn patched(body: &str) -> Result<Describe> {
    read_patch(&shown(), "", body.as_bytes()).map(|(mut command, _)| command.providers.remove(0))
}

#[test]
fn what_is_shown_can_be_sent_back() {
    let sent_back = |command: DescribeAll| {
        let Describe {
            provider,
            name,
            generation,
            description,
        } = command.providers.into_iter().next().unwrap();
        let name = name.unwrap();
        assert_eq!(
            Described {
                uuid: provider,
                name,
                generation,
                description,
                nova_still_claims: false,
            },
            shown()
        );
    };
    sent_back(read_describe(HOST, "", &write_one(&shown())).unwrap().0);
    let with_note = Described {
        nova_still_claims: true,
        ..shown()
    };
    let written = write_one(&with_note);
    assert!(String::from_utf8_lossy(&written).contains(r#""note":"A sharing provider"#));
    sent_back(read_describe(HOST, "", &written).unwrap().0);
    for next in [None, Some(HOST)] {
        sent_back(
            read_describe_all("", &write_list(ListForm::Object, &[shown()], next).text)
                .unwrap()
                .0,
        );
    }
}

#[test]
fn a_patch_changes_the_members_that_it_names() {
    let before = shown().description;
    let same = patched(r#"{"generation": 3}"#).unwrap();
    assert_eq!((same.generation, &same.description), (Some(3), &before));
    assert_eq!(same.name, None, "a name that the client did not send is not compared");
    let named = patched(r#"{"generation": null, "name": "host2"}"#).unwrap();
    assert_eq!((named.generation, named.name.as_deref()), (None, Some("host2")));

    let state = patched(r#"{"generation": 3, "state": "up"}"#).unwrap().description;
    let expected = Description {
        state: ProviderState::Up,
        ..before.clone()
    };
    assert_eq!(state, expected);
}

#[test]
fn null_hides_a_property_and_removes_a_domain_or_the_type() {
    let body = r#"{"generation": 3, "type": null, "properties": {"HasSSD": null, "New": 1},
        "domains": {"upgrade": null, "unknown": null}}"#;
    let description = patched(body).unwrap().description;
    assert_eq!(description.kind, None);
    let properties = [
        ("HasSSD", None),
        ("Hidden", None),
        ("New", Some(PropertyValue::Integer(1))),
        ("Number", Some(PropertyValue::Integer(i64::MIN))),
    ];
    let properties: BTreeMap<Arc<str>, _> = properties.map(|(name, value)| (name.into(), value)).into();
    assert_eq!(description.properties, properties);
    let domains: BTreeMap<Arc<str>, Arc<str>> = [("fault".into(), "fd:/dc1/r0".into())].into();
    assert_eq!(description.domains, domains);
    let none = patched(r#"{"generation": 3, "properties": null, "domains": null, "state": null}"#).unwrap();
    assert!(none.description.properties.is_empty() && none.description.domains.is_empty());
    assert_eq!(none.description.state, ProviderState::Up);
}

#[test]
fn a_patch_has_the_refusals_of_a_put() {
    for (body, sentence) in [
        ("[]", "The body: a list is not an object."),
        (r#"{"state": "up"}"#, "generation is required."),
        (
            r#"{"generation": "3"}"#,
            "generation: \"3\" is not a whole number or null.",
        ),
        (
            r#"{"generation": 3, "state": "on"}"#,
            "state: \"on\" is none of up, draining, off, lost.",
        ),
        (
            r#"{"generation": 3, "domains": ["a"]}"#,
            "domains: a list is not an object.",
        ),
        (
            r#"{"generation": 3, "domains": {"fault": {"a": 1}}}"#,
            "domains.fault: an object is not a text.",
        ),
        (
            r#"{"generation": 3, "colour": null}"#,
            "colour is unknown; the members are uuid, name, generation, type, properties, domains, state, note.",
        ),
        (
            r#"{"generation": 3, "properties": {"NodeName": "a"}}"#,
            "properties.NodeName is built in and cannot be set.",
        ),
        (
            r#"{"generation": 3, "uuid": "c4000000-0000-4000-8000-000000000002"}"#,
            "uuid: c4000000-0000-4000-8000-000000000002 differs from the uuid of the path.",
        ),
    ] {
        assert_eq!(patched(body).unwrap_err().to_string(), sentence, "{body}");
    }
}

#[test]
fn the_description_of_a_patch_has_null_where_null_is_read() {
    compare_nulls::<DescribeBody>(&write_one(&shown()));
}

#[test]
fn the_state_of_a_domain_is_read_with_the_domain() {
    let read = |query: &str, body: &str| -> Result<(String, ProviderState, bool)> {
        let (wanted, is_dry_run) = read_states(query, body.as_bytes())?;
        let domain = format!("{}:{}", wanted.domain.dimension, wanted.domain.path);
        Ok((domain, wanted.state, is_dry_run))
    };
    let body = r#"{"state": "draining"}"#;
    for (query, domain, is_dry_run) in [
        ("in_domain=fault:fd:/dc1/", "fault:fd:/dc1", false),
        (
            "in_domain=host:C4000000000040008000000000000001&dry_run=true",
            "host:c4000000-0000-4000-8000-000000000001",
            true,
        ),
    ] {
        let expected = (domain.to_owned(), ProviderState::Draining, is_dry_run);
        assert_eq!(read(query, body).unwrap(), expected);
    }
    for (query, body, sentence) in [
        ("", body, "in_domain is required."),
        (
            "in_domain=fd",
            body,
            "in_domain: \"fd\" is not dimension:path, such as fault:fd:/dc1 or host:UUID.",
        ),
        (
            "in_domain=fault:/a&in_domain=fault:/b",
            body,
            "in_domain occurs more than once; once is allowed.",
        ),
        ("in_domain=fault:/a", "{}", "state is required."),
        (
            "in_domain=fault:/a",
            r#"{"state": "off", "generation": 1}"#,
            "generation is unknown; the members are state.",
        ),
        ("in_domain=fault:/a", "[]", "The body: a list is not an object."),
    ] {
        assert_eq!(read(query, body).unwrap_err().to_string(), sentence, "{query} {body}");
    }
}

#[test]
fn found_p5_texts_of_a_description_have_one_form() {
    for (members, part) in [
        (
            r#""domains": {"fault": "fd:/a "}"#,
            "domains.fault: a level of the path begins or ends with white space.",
        ),
        (
            r#""domains": {"fault": "fd:/a\u00a0/r0"}"#,
            "domains.fault: a level of the path begins",
        ),
        (
            r#""domains": {"fault ": "fd:/a"}"#,
            "domains.fault : a dimension begins",
        ),
        (r#""type": " Node""#, "type begins or ends with white space."),
        (r#""type": "No\u0007de""#, "type has a control character."),
        (
            r#""properties": {"Room": "Ku\u0308che"}"#,
            "properties.Room is not in normalization form C of Unicode.",
        ),
        (r#""properties": {"Room": "\ta"}"#, "properties.Room begins or ends"),
    ] {
        assert!(refused(members).starts_with(part), "{members}: {}", refused(members));
    }
    let item = format!(r#"{{"uuid": "{HOST}", "generation": null, "type": "a ", "domains": {{"fault": "b "}}}}"#);
    let detail = read_describe_all("", format!(r#"{{"providers": [{item}]}}"#).as_bytes());
    let detail = detail.unwrap_err().to_string();
    for part in ["providers[0].type begins", "providers[0].domains.fault: a level"] {
        assert!(detail.contains(part), "{detail}");
    }
    let state = read_states("in_domain=fault:fd:/a+", br#"{"state": "up"}"#).unwrap_err();
    assert_eq!(
        state.to_string(),
        "in_domain: the text begins or ends with white space."
    );
}

/// A former version stored such texts.
#[test]
fn found_p5_a_patch_keeps_the_texts_that_are_stored() {
    let mut shown = shown();
    shown.description.kind = Some("a ".into());
    shown.description.domains.insert("fault".into(), "fd:/a ".into());
    let text = Some(PropertyValue::Text("\ta".into()));
    shown.description.properties.insert("Room".into(), text);
    let patched = |body: &str| read_patch(&shown, "", body.as_bytes()).map(|(mut all, _)| all.providers.remove(0));
    for body in [
        r#"{"generation": 3, "state": "draining"}"#,
        r#"{"generation": 3, "type": "a "}"#,
    ] {
        assert_eq!(patched(body).unwrap().description, shown.description);
    }
    for body in [
        r#"{"generation": 3, "type": "b "}"#,
        r#"{"generation": 3, "domains": {"upgrade": "fd:/a "}}"#,
        r#"{"generation": 3, "properties": {"Other": "\ta"}}"#,
    ] {
        assert!(patched(body).is_err(), "{body}");
    }
}
