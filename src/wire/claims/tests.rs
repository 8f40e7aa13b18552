//! Requests and answers of `/v1/claims`.

use super::*;
use crate::error::{Error, Reason, ReasonCode};
use crate::model::allocations::ProviderShare;
use crate::model::claims::{ClaimedConsumer, PlacedCall};

const PROVIDER: &str = "11111111-1111-4111-8111-111111111111";
const CONSUMER: &str = "22222222-2222-4222-8222-222222222222";

fn defaults() -> Defaults {
    Defaults {
        may_change_others: true,
        project: Some("p".to_owned()),
        user: Some("u".to_owned()),
        rank: Some(Rank::Emptiest),
    }
}

fn read_consumers(consumers: &str) -> Result<PlaceRequest> {
    read("", format!(r#"{{"consumers": [{consumers}]}}"#).as_bytes(), &defaults())
}

/// A consumer with these further members.
fn consumer(members: &str) -> String {
    format!(r#"{{"uuid": "{CONSUMER}", {members}}}"#)
}

fn refusal(consumers: &str) -> String {
    read_consumers(consumers).unwrap_err().to_string()
}

#[test]
fn what_a_consumer_leaves_out_is_taken_from_the_token_and_the_options() {
    let request = read_consumers(&consumer(r#""query": "resources=VCPU:1""#)).unwrap();
    let claim = &request.consumers[0].claim;
    let owner = claim
        .owner
        .as_ref()
        .map(|owner| (owner.project.as_str(), owner.user.as_str()));
    assert_eq!((owner, &claim.generation), (Some(("p", "u")), &Expected::New));
    assert_eq!(claim.consumer_type.as_deref(), Some("INSTANCE"));
    assert_eq!(request.queries[0].rank, Some(Rank::Emptiest));
    assert!(request.is_atomic && !request.is_dry_run);
    let body = format!(
        r#"{{"consumers": [{}], "atomic": false}}"#,
        consumer(r#""query": "resources=VCPU:1""#)
    );
    let request = read("dry_run=true", body.as_bytes(), &defaults()).unwrap();
    assert!(!request.is_atomic && request.is_dry_run);
    let error = read(
        "",
        body.as_bytes(),
        &Defaults {
            project: None,
            ..defaults()
        },
    )
    .unwrap_err()
    .to_string();
    assert_eq!(
        error,
        "consumers[0].project_id is required, because the token has none."
    );
}

#[test]
fn a_call_with_an_id_is_known_by_its_project_and_its_body() {
    let body = |id: &str, amount: u32| {
        let consumer = consumer(&format!(r#""query": "resources=VCPU:{amount}""#));
        format!(r#"{{"id": "{id}", "consumers": [{consumer}]}}"#)
    };
    let call = |body: &str| read("", body.as_bytes(), &defaults()).unwrap().repeatable.unwrap();
    let first = call(&body("33333333-3333-4333-8333-33333333333A", 1));
    assert_eq!(
        (first.id.id.as_str(), first.id.project.as_str()),
        ("33333333-3333-4333-8333-33333333333a", "p")
    );
    let same = call(&body("33333333-3333-4333-8333-33333333333A", 1));
    let other = call(&body("33333333-3333-4333-8333-33333333333A", 2));
    assert_eq!(
        (first.digest == same.digest, first.digest == other.digest),
        (true, false)
    );
    let spelled = format!(
        "{{ \"consumers\": [{{\"query\": \"resources=VCPU:\\u0031\",\n \"uuid\": \"{CONSUMER}\"}}], \"id\": \"{}\"}}",
        "33333333-3333-4333-8333-33333333333A"
    );
    let spelled = call(&spelled);
    assert_eq!(spelled.digest, first.digest);
    assert_ne!(spelled.digest_of_bytes, first.digest_of_bytes);
    assert!(
        read_consumers(&consumer(r#""query": "resources=VCPU:1""#))
            .unwrap()
            .repeatable
            .is_none()
    );
    let error = read("", body("3", 1).as_bytes(), &defaults()).unwrap_err().to_string();
    assert_eq!(error, "id: \"3\" is not a uuid.");
}

#[test]
fn a_query_is_a_string_or_an_object_and_equal_ones_are_read_once() {
    let object = r#""query": {"resources": "VCPU:2", "required": ["A", "in:B,C"]}, "rank": "fullest""#;
    let string = r#""query": "resources=VCPU:2&required=A&required=in:B,C", "rank": "fullest""#;
    let others = [1, 2].map(|n| {
        let members = [object, string][n - 1];
        format!(r#"{{"uuid": "{n}3333333-2222-4222-8222-222222222222", {members}}}"#)
    });
    let request = read_consumers(&format!("{}, {}", consumer(object), others.join(", "))).unwrap();
    let query = |at: usize| match request.consumers[at].wanted {
        Wanted::Query(query) => query,
        Wanted::Candidates(_) => panic!("it has a query"),
    };
    assert_eq!([query(0), query(1), query(2)], [0, 0, 1]);
    assert_eq!(request.queries[0], request.queries[1]);
    assert_eq!(request.queries[0].rank, Some(Rank::Fullest));
}

#[test]
fn candidates_are_those_of_allocation_candidates() {
    let candidate = format!(
        r#"{{"allocations": {{"{PROVIDER}": {{"resources": {{"VCPU": 2}}}}}}, "mappings": {{"": ["{PROVIDER}"]}}}}"#
    );
    let request = read_consumers(&consumer(&format!(r#""candidates": [{candidate}]"#))).unwrap();
    let Wanted::Candidates(candidates) = &request.consumers[0].wanted else {
        panic!("it has candidates");
    };
    let expected = ClaimCandidate {
        allocations: vec![(PROVIDER.to_owned(), vec![("VCPU".to_owned(), 2)])],
        mappings: Some(vec![(String::new(), vec![PROVIDER.to_owned()])]),
    };
    assert_eq!(**candidates, [expected]);
}

#[test]
fn a_wrong_member_is_named_by_its_path() {
    let query = r#""query": "resources=VCPU:1""#;
    let cases = [
        (
            consumer(r#""type": "A""#),
            "consumers[0] needs either 'candidates' or 'query', and not both.",
        ),
        (
            format!("{}, {}", consumer(query), consumer(query)),
            "consumers[1].uuid: 22222222-2222-4222-8222-222222222222 occurs twice; a call names each consumer once.",
        ),
        (
            consumer(r#""query": "resources=VCPU:1&limit=3""#),
            "consumers[0].query: 'limit' has no meaning here: one candidate is claimed.",
        ),
        (
            consumer(r#""query": "resources=VCPU:1&rank=fullest""#),
            "consumers[0].query: 'rank' stands beside 'query', not in it.",
        ),
        (
            consumer(r#""query": {"resources": "VCPU:1", "rank": "fullest"}"#),
            "consumers[0].query: 'rank' stands beside 'query', not in it.",
        ),
        (
            consumer(r#""query": {"resources": "VCPU"}"#),
            "consumers[0].query: resources: \"VCPU\" is not CLASS:AMOUNT with an amount from 1 to 9223372036854775807, \
             such as VCPU:2,MEMORY_MB:512.",
        ),
    ];
    for (consumers, expected) in cases {
        assert_eq!(refusal(&consumers), expected);
    }
    for (members, expected) in [
        (
            r#""query": 5"#,
            "consumers[0].query: 5 is not a query string or an object of parameters.",
        ),
        (
            r#""query": {}"#,
            "consumers[0].query: an object without members; at least one is required.",
        ),
        (
            r#""query": {"required": ["A", 5]}"#,
            "consumers[0].query.required[1]: 5 is not a text.",
        ),
        (
            r#""query": "resources=VCPU:1", "rank": "best""#,
            "consumers[0].rank: \"best\" is none of fullest, emptiest, tightest, random.",
        ),
        (
            r#""candidates": [{"allocations": {}}]"#,
            "consumers[0].candidates[0].allocations: an object without members; at least one is required.",
        ),
        (
            r#""candidates": [{"allocations": {"x": {}}}]"#,
            "consumers[0].candidates[0].allocations.x: \"x\" is not a uuid with four dashes.",
        ),
    ] {
        assert_eq!(refusal(&consumer(members)), expected);
    }
    let unknown = refusal(&consumer(r#""query": {"size": "1"}"#));
    assert!(unknown.starts_with("consumers[0].query: size is unknown; the parameters are "));
}

#[test]
fn an_error_in_a_query_keeps_its_kind_and_says_which_query_it_is() {
    let query = r#""query": "resources=VCPU:1&root_required=A,!A""#;
    let error = read_consumers(&consumer(query)).unwrap_err();
    let Error::InMember { path, error } = error else {
        panic!("{error}");
    };
    assert_eq!(path, "consumers[0].query");
    assert!(matches!(*error, Error::BadQueryValue { .. }), "{error}");
}

#[test]
fn a_parameter_that_occurs_twice_is_refused() {
    let body = format!(r#"{{"consumers": [{}]}}"#, consumer(r#""query": "resources=VCPU:1""#));
    for query in ["dry_run=true&dry_run=false", "dry_run=true&dry_run=true"] {
        let error = read(query, body.as_bytes(), &defaults()).unwrap_err();
        assert!(matches!(error, Error::DuplicateQueryKey { .. }), "{error}");
    }
}

/// Consumers with this many candidates each.
fn consumers_with(candidates: &[usize]) -> String {
    let candidate = format!(r#"{{"allocations": {{"{PROVIDER}": {{"resources": {{"VCPU": 2}}}}}}}}"#);
    let consumers = candidates.iter().enumerate().map(|(at, count)| {
        let list = vec![candidate.as_str(); *count].join(",");
        format!(r#"{{"uuid": "{at:08}-2222-4222-8222-222222222222", "candidates": [{list}]}}"#)
    });
    consumers.collect::<Vec<_>>().join(",")
}

#[test]
fn the_candidates_of_a_consumer_and_of_a_call_are_limited() {
    assert!(read_consumers(&consumers_with(&[1000])).is_ok());
    assert_eq!(
        refusal(&consumers_with(&[1, 1001])),
        "consumers[1].candidates: 1001 items; from 1 to 1000 are allowed."
    );
    let most = [1000; 20];
    assert!(read_consumers(&consumers_with(&most)).is_ok());
    assert_eq!(
        refusal(&consumers_with(&[&most[..], &[1]].concat())),
        "consumers[20].candidates: a call has at most 20000 candidates of all consumers together."
    );
}

/// These spellings were read, although the description excludes them, and named a provider that does not exist.
#[test]
fn a_provider_of_a_candidate_is_spelled_as_the_description_says() {
    let with_provider = |provider: &str| {
        let resources = r#"{"resources": {"VCPU": 2}}"#;
        consumer(&format!(
            r#""candidates": [{{"allocations": {{"{provider}": {resources}}}}}]"#
        ))
    };
    let digits = PROVIDER.replace('-', "");
    assert!(read_consumers(&with_provider(&PROVIDER.to_uppercase())).is_ok());
    for spelling in [
        digits.clone(),
        format!("urn:{digits}"),
        format!("urn:uuid:{PROVIDER}"),
        format!("{{{PROVIDER}}}"),
        PROVIDER.replacen('-', "", 1),
    ] {
        let expected =
            format!("consumers[0].candidates[0].allocations.{spelling}: {spelling:?} is not a uuid with four dashes.");
        assert_eq!(refusal(&with_provider(&spelling)), expected);
    }
}

#[test]
fn mappings_have_suffixes_and_lists_of_providers() {
    let candidate = |mappings: &str| {
        let allocations = format!(r#""allocations": {{"{PROVIDER}": {{"resources": {{"VCPU": 2}}}}}}"#);
        consumer(&format!(r#""candidates": [{{{allocations}, "mappings": {mappings}}}]"#))
    };
    // A group without resources has a provider that is not in `allocations`.
    let all = format!(r#"{{"": ["{PROVIDER}"], "_A": ["{PROVIDER}", "{CONSUMER}"]}}"#);
    assert!(read_consumers(&candidate(&all)).is_ok());
    for (wrong, named) in [
        (r#"{"": 5}"#, "mappings.\"\": 5 is not a list"),
        (r#"{"": "x"}"#, "mappings.\"\": \"x\" is not a list"),
        (r#"{"": []}"#, "mappings.\"\": 0 items"),
        (r#"{"": [5]}"#, "mappings.\"\"[0]: 5 is not a text"),
        (r#"{"_A": ["x"]}"#, "mappings._A[0]: \"x\" is not a uuid"),
        (r#"{"x y!": []}"#, "\"x y!\" is not a suffix"),
        ("{}", "mappings: an object without members"),
    ] {
        let refused = refusal(&candidate(wrong));
        assert!(refused.contains(named), "{wrong}: {refused}");
    }
}

#[test]
fn a_call_has_at_most_a_thousand_consumers() {
    let query = r#""query": "resources=VCPU:1""#;
    let consumers: Vec<String> = (0..1001)
        .map(|n| format!(r#"{{"uuid": "{n:08}-2222-4222-8222-222222222222", {query}}}"#))
        .collect();
    assert!(read_consumers(&consumers[..1000].join(",")).is_ok());
    assert_eq!(
        refusal(&consumers.join(",")),
        "consumers: 1001 items; from 1 to 1000 are allowed."
    );
}

#[test]
fn the_answer_says_what_each_consumer_got() {
    let mut request = read_consumers(&consumer(r#""query": "resources=VCPU:2""#)).unwrap();
    request.is_atomic = false;
    let claimed = ClaimedConsumer {
        consumer: CONSUMER.to_owned(),
        candidate: 3,
        over_normal: Vec::new(),
        mappings: Some(vec![(String::new(), vec![PROVIDER.to_owned()])]),
        generation: 1,
        providers: vec![ProviderShare {
            provider: PROVIDER.into(),
            name: Some("host1".into()),
            generation: 7,
            resources: vec![("VCPU".into(), 2)],
        }],
    };
    let placed = |outcome| PlacedCall {
        consumers: vec![outcome],
        is_exact: true,
    };
    let text = |outcome| String::from_utf8(write(&request, &placed(outcome))).unwrap();
    assert_eq!(
        text(Ok(claimed)),
        format!(
            r#"{{"granted":1,"refused":0,"dry_run":false,"exact":true,"consumers":[{{"uuid":"{CONSUMER}","granted":true,"generation":1,"mappings":{{"":["{PROVIDER}"]}},"allocations":{{"{PROVIDER}":{{"name":"host1","generation":7,"resources":{{"VCPU":2}}}}}}}}]}}"#
        )
    );
    let reason = Reason::new(ReasonCode::NoCandidate, "None.".to_owned());
    assert_eq!(
        text(Err(reason.into())),
        format!(
            r#"{{"granted":0,"refused":1,"dry_run":false,"exact":true,"consumers":[{{"uuid":"{CONSUMER}","granted":false,"reasons":[{{"code":"placet.no_candidate","detail":"None."}}],"counts":{{"placet.no_candidate":1}}}}]}}"#
        )
    );
}
