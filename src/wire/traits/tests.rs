//! Reads and writes traits.

use std::sync::Arc;

use super::*;
use crate::error::Error;
use crate::model::Moment;

fn detail(refusal: Error) -> String {
    match refusal {
        Error::BadRequest { detail } => detail,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_custom_traits_can_be_created() {
    assert_eq!(read_ensure(Version::MAX, "CUSTOM_A").unwrap().name, "CUSTOM_A");
    for name in [
        "HW_CPU",
        "CUSTOM_",
        "CUSTOM_a",
        "",
        &format!("CUSTOM_{}", "A".repeat(249)),
    ] {
        let refusal = detail(read_ensure(Version::MAX, name).unwrap_err());
        assert!(
            refusal.starts_with("The trait is invalid. A valid trait must be no longer than 255"),
            "{refusal}"
        );
    }
}

#[test]
fn a_list_is_filtered() {
    let read = |query| read_list(Version::MAX, query);
    let filter = read("name=in:A,B&associated=TRUE").unwrap();
    assert_eq!(filter.names, Some(vec!["A".to_owned(), "B".to_owned()]));
    assert_eq!((filter.prefix, filter.associated), (None, Some(true)));
    let filter = read("name=startswith:CUSTOM").unwrap();
    assert_eq!(
        (filter.names, filter.prefix.as_deref(), filter.associated),
        (None, Some("CUSTOM"), None)
    );
    let filter = read("name=other:A&associated=false").unwrap();
    assert_eq!(
        (filter.names, filter.prefix, filter.associated),
        (None, None, Some(false))
    );
    assert_eq!(
        detail(read("name=A").unwrap_err()),
        "Badly formatted name parameter. Expected name query string parameter in form: \
         ?name=[in|startswith]:[name1,name2|prefix]. Got: \"A\""
    );
    assert_eq!(
        detail(read("associated=yes").unwrap_err()),
        "The query parameter \"associated\" only accepts \"true\" or \"false\""
    );
}

#[test]
fn duplicate_traits_are_removed() {
    let body = br#"{"traits": ["B", "A", "B"], "resource_provider_generation": 5}"#;
    let replace = read_replace(Version::MAX, "p", body).unwrap();
    assert_eq!((replace.provider.as_str(), replace.generation), ("p", 5));
    assert_eq!(replace.traits, ["B", "A"]);
}

#[test]
fn writes_traits() {
    let traits = vec![Trait {
        name: Arc::from("A"),
        modified: Moment::UNIX_EPOCH,
    }];
    assert_eq!(String::from_utf8(write_list(&traits)).unwrap(), r#"{"traits":["A"]}"#);
    assert_eq!(
        String::from_utf8(write_provider(&ProviderTraits { generation: 0, traits })).unwrap(),
        r#"{"traits":["A"],"resource_provider_generation":0}"#
    );
}
