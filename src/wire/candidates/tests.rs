//! Reads query strings of `GET /v1/candidates`, and queries in bodies.

use super::*;
use crate::error::Error;
use crate::model::explain::QueryText;

fn request(query: &str) -> Result<Request> {
    read_list(&format!("resources=VCPU:1&{query}")).map(|list| list.request)
}

fn refusal(query: &str) -> String {
    request(query).unwrap_err().to_string()
}

/// The request of a query in a body with zero or more of each class.
fn in_body(query: &str) -> Result<Request> {
    let query: GivenQuery = serde_json::from_str(query).expect(query);
    query.read::<0>("roles[0].query")
}

#[test]
fn a_query_has_the_language_of_allocation_candidates_and_a_rank() {
    let query = "resources_A=VCPU:1&required_A=in:B,C&resources=DISK_GB:5&group_policy=none&limit=3";
    let plain = read_list(query).unwrap();
    assert_eq!((plain.rank, plain.has_summaries), (None, true));
    let old = super::super::allocation_candidates::read_list(crate::version::Version::MAX, query);
    let mut old = old.unwrap();
    old.host.only_up = true;
    assert_eq!(plain.request, old);
    for (name, rank) in Rank::ALL {
        let ranked = read_list(&format!("{query}&rank={name}&summaries=false")).unwrap();
        assert_eq!((ranked.rank, ranked.has_summaries), (Some(rank), false));
        assert_eq!(ranked.request, plain.request);
    }
}

#[test]
fn a_query_has_the_same_groups_as_a_query_of_openstack() {
    let (uuid, other) = (
        "0123abcd-4567-89ab-cdef-0123456789ab",
        "0123ABCD-4567-89AB-CDEF-0123456789AB",
    );
    for query in [
        "resources_B=VCPU:1&required_A=T&resources=DISK_GB:1&group_policy=isolate&same_subtree=_A,_B".to_owned(),
        "resources=VCPU:1,DISK_GB:2&required=A,!B&required=in:C,D&required=!E".to_owned(),
        format!("resources=VCPU:1&member_of=in:{uuid},{other}&member_of=!{uuid}&member_of=!in:{other}"),
        format!("resources1=VCPU:1&in_tree1={uuid}&root_required=C,!D"),
        "required_A=X&resources_B=VCPU:1&same_subtree=_B&same_subtree=_A,_B&group_policy=none".to_owned(),
    ] {
        let mut old =
            crate::wire::allocation_candidates::read_list(crate::version::Version::MAX, &query).expect(&query);
        old.host.only_up = true;
        assert_eq!(read_list(&query).expect(&query).request, old, "{query}");
    }
}

#[test]
fn a_parameter_of_one_value_occurs_once() {
    let tree = "in_tree=00000000-0000-0000-0000-000000000001";
    for part in [
        "rank=fullest",
        "purpose=place",
        "summaries=false",
        "limit=1",
        "resources_A=VCPU:1",
        "root_required=A",
        "group_policy=none",
        "where=a",
        tree,
    ] {
        let name = part.split('=').next().unwrap();
        let refused = read_list(&format!("{part}&resources_B=VCPU:1&{part}")).unwrap_err();
        let detail = format!("{name} occurs more than once; once is allowed.");
        assert_eq!(refused, Error::DuplicateQueryKey { detail });
    }
    assert_eq!(
        refusal("resources_A=VCPU:1,DISK_GB:1,VCPU:2"),
        "resources_A: VCPU occurs more than once; once is allowed."
    );
    for part in ["required=A", "not_in_domain=fault:/a"] {
        assert!(request(&format!("{part}&{part}")).is_ok());
    }
}

#[test]
fn found_u2_a_wrong_parameter_is_refused_by_name_with_what_was_given_and_what_is_allowed() {
    let amounts = "is not CLASS:AMOUNT with an amount from 1 to 9223372036854775807, such as VCPU:2,MEMORY_MB:512.";
    for (wrong, sentence) in [
        ("limit=x", "limit: \"x\" is not a whole number.".to_owned()),
        (
            "limit=0",
            "limit: 0 is not a whole number from 1 to 9223372036854775807.".to_owned(),
        ),
        (
            "limit=9223372036854775808",
            "limit: \"9223372036854775808\" is not a whole number of 64 bits.".to_owned(),
        ),
        (
            "rank=best",
            "rank: \"best\" is none of fullest, emptiest, tightest, random.".to_owned(),
        ),
        (
            "rank=",
            "rank: \"\" is none of fullest, emptiest, tightest, random.".to_owned(),
        ),
        ("summaries=no", "summaries: \"no\" is not true or false.".to_owned()),
        (
            "group_policy=all",
            "group_policy: \"all\" is none of none, isolate.".to_owned(),
        ),
        ("resources_A=", format!("resources_A: \"\" {amounts}")),
        ("resources_A=VCPU", format!("resources_A: \"VCPU\" {amounts}")),
        ("resources_A=VCPU:1,:2", format!("resources_A: \":2\" {amounts}")),
        ("resources_A=VCPU:0", format!("resources_A: \"VCPU:0\" {amounts}")),
        ("resources_A=VCPU:%2B1", format!("resources_A: \"VCPU:+1\" {amounts}")),
        (
            "resources_A=VCPU:9223372036854775808",
            format!("resources_A: \"VCPU:9223372036854775808\" {amounts}"),
        ),
        (
            "required=A,",
            "required: \"A,\" is not names of traits, such as TRAIT,!TRAIT or in:TRAIT,TRAIT.".to_owned(),
        ),
        (
            "root_required=in:A,B",
            "root_required: \"in:A,B\" is not names of traits, such as TRAIT,!TRAIT.".to_owned(),
        ),
        (
            "required=A&required=",
            "required: \"\" is not names of traits, such as TRAIT,!TRAIT or in:TRAIT,TRAIT.".to_owned(),
        ),
        (
            "member_of=rack",
            "member_of: \"rack\" is not UUID or in:UUID,UUID, with or without a leading !.".to_owned(),
        ),
        (
            "in_tree=host",
            "in_tree: \"host\" is not a uuid with four dashes.".to_owned(),
        ),
        (
            "same_subtree=_A,",
            "same_subtree: \"_A,\" is not suffixes of groups, such as _A,_B.".to_owned(),
        ),
        (
            "in_domain=fd",
            "in_domain: \"fd\" is not dimension:path, such as fault:fd:/dc1 or host:UUID.".to_owned(),
        ),
        (
            "where_a.b=c",
            "where_a.b: \"_a.b\" is not a suffix of at most 64 letters, digits, _ and -.".to_owned(),
        ),
        ("required=%00", "required: a text has no NUL character.".to_owned()),
    ] {
        assert_eq!(refusal(wrong), sentence, "{wrong}");
    }
}

#[test]
fn an_unknown_parameter_is_refused_with_the_name_that_was_meant() {
    let known = "group_policy, in_domain, in_tree, limit, member_of, not_in_domain, purpose, rank, required, resources, \
                 root_required, same_subtree, summaries, where.";
    for (wrong, start) in [
        ("order=x", "order is unknown; the parameters are ".to_owned()),
        (
            "limits=1",
            "limits is unknown; did you mean limit? The parameters are ".to_owned(),
        ),
        (
            "requird=A",
            "requird is unknown; did you mean required? The parameters are ".to_owned(),
        ),
        (
            "resources_GPU=VGPU:1&requird_GPU=A",
            "requird_GPU is unknown; did you mean required_GPU? The parameters are ".to_owned(),
        ),
    ] {
        assert_eq!(refusal(wrong), format!("{start}{known}"), "{wrong}");
    }
}

#[test]
fn a_query_in_a_body_is_refused_with_the_path_of_the_member() {
    for (query, sentence) in [
        (
            r#""resources=VCPU""#,
            "roles[0].query: resources: \"VCPU\" is not CLASS:AMOUNT with an amount from 0 to 9223372036854775807, such \
             as VCPU:2,MEMORY_MB:512.",
        ),
        (
            r#"{"resources": "VCPU:1", "group_policy": ["none", "isolate"]}"#,
            "roles[0].query: group_policy occurs more than once; once is allowed.",
        ),
        (
            r#""resources=VCPU:1&in_domian=fault:/a""#,
            "roles[0].query: in_domian is unknown; did you mean in_domain? The parameters are group_policy, in_domain, \
             in_tree, member_of, not_in_domain, required, resources, root_required, same_subtree, where.",
        ),
        (
            r#""resources=VCPU:1&rank=fullest""#,
            "roles[0].query: 'rank' stands beside 'query', not in it.",
        ),
        (
            r#"{"resources": "VCPU:1", "limit": "1"}"#,
            "roles[0].query: 'limit' has no meaning here: one candidate is claimed.",
        ),
    ] {
        assert_eq!(in_body(query).unwrap_err().to_string(), sentence, "{query}");
    }
}

#[test]
fn an_amount_of_0_leaves_the_class_out_of_a_query_in_a_role() {
    let query = in_body(r#""resources=VCPU:1,DISK_GB:0&resources_A=VGPU:0""#).unwrap();
    let groups = query
        .groups
        .iter()
        .map(|group| (group.suffix.as_str(), group.resources.len()));
    assert_eq!(groups.collect::<Vec<_>>(), [("", 1)]);
}

#[test]
fn a_query_has_a_limited_number_of_groups() {
    let groups = |count: usize| -> String {
        let groups = (0..count).map(|at| format!("&resources{at}=VCPU:1"));
        format!("group_policy=none{}", groups.collect::<String>())
    };
    assert!(read_list(&groups(1_000)).is_ok());
    let refused = read_list(&groups(1_001)).unwrap_err().to_string();
    assert_eq!(
        refused,
        "A query has at most 1000 groups: parameters with the same suffix."
    );
    let subtrees = "&same_subtree=0".repeat(1_001);
    let refused = read_list(&format!("resources0=VCPU:1{subtrees}"))
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        "same_subtree: the parameter occurs 1001 times; at most 1000 times are allowed."
    );
}

#[test]
fn a_request_as_a_query_string_is_read_as_the_same_request() {
    for query in [
        "resources=VCPU:2,MEMORY_MB:512",
        "resources=VCPU:2&required=HW_CPU_X86_AVX2,!CUSTOM_OLD&required=in:CUSTOM_A,CUSTOM_B",
        "resources=VCPU:2&member_of=in:6f000000-0000-4000-8000-00000000000a,6f000000-0000-4000-8000-00000000000b\
         &member_of=!6f000000-0000-4000-8000-00000000000c&in_tree=6f000000-0000-4000-8000-00000000000d",
        "resources_A=VCPU:2&resources_B=VCPU:3&group_policy=isolate&same_subtree=_A,_B&required_B=CUSTOM_B",
        "resources=VCPU:1&root_required=CUSTOM_A,!CUSTOM_B",
        "resources=VCPU:1&where=Name%20%3D%3D%20%22a%20b%26c%2B%25%23%3B%22%20%7C%7C%20!(Speed%20%3C%205)",
        "resources_1=VCPU:1&where_1=Speed%20%3E%3D%205",
        "resources=VCPU:1&in_domain=fault:fd:/dc1&in_domain=fault:fd:/dc2&not_in_domain=upgrade:UD%201",
    ] {
        let read = |query: &str| read_list(query).unwrap().request;
        let written = QueryText::of(&read(query), usize::MAX);
        assert_eq!(read(&written.text), read(query), "{}", written.text);
    }
}
