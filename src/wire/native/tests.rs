//! Refusals of wrong members and parameters, by path.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::types::{Name, Nullable, PageLimit, Text};
use super::*;
use crate::search::Rank;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    consumers: Vec<Consumer>,
    #[serde(default)]
    atomic: bool,
    #[serde(default)]
    amounts: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Consumer {
    name: Option<Text<1, 4>>,
    generation: Nullable<i64>,
    rank: Option<Name<Rank>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    dry_run: bool,
    after: Option<String>,
}

fn refusal(body: &str) -> String {
    let read: Result<Body> = read_body(body.as_bytes());
    read.map(drop).unwrap_err().to_string()
}

fn refused_parameter(query: &str) -> String {
    let read: Result<Parameters> = read_query(query);
    read.map(drop).unwrap_err().to_string()
}

#[test]
fn a_body_is_read() {
    let body = r#"{"atomic": true, "consumers": [{"generation": 1.0, "rank": "emptiest"}, {"generation": null, "name": "a"}]}"#;
    let body: Body = read_body(body.as_bytes()).unwrap();
    assert!(body.atomic && body.amounts.is_empty());
    assert_eq!(body.consumers[0].generation.0, Some(1));
    assert_eq!(body.consumers[0].rank.map(Name::name), Some("emptiest"));
    assert_eq!(body.consumers[1].generation.0, None);
    assert_eq!(body.consumers[1].name.as_ref().map(|name| name.0.as_str()), Some("a"));
}

#[test]
fn a_wrong_member_is_refused_with_its_path_what_was_given_and_what_is_allowed() {
    for (body, sentence) in [
        ("[]", "The body: a list is not an object."),
        ("{}", "consumers is required."),
        (r#"{"consumers": {}}"#, "consumers: an object is not a list."),
        (r#"{"consumers": [5]}"#, "consumers[0]: 5 is not an object."),
        (r#"{"consumers": [{}]}"#, "consumers[0].generation is required."),
        (
            r#"{"consumers": [{"generation": "1"}]}"#,
            "consumers[0].generation: \"1\" is not a whole number or null.",
        ),
        // A refusal of a stale generation said 9223372036854775807 for each of these numbers.
        (
            r#"{"consumers": [{"generation": 9223372036854775808}]}"#,
            "consumers[0].generation: 9223372036854775808 is not a whole number of 64 bits or null.",
        ),
        (
            r#"{"consumers": [{"generation": 1e19}]}"#,
            "consumers[0].generation: 10000000000000000000 is not a whole number of 64 bits or null.",
        ),
        (
            r#"{"consumers": [{"generation": 1, "rank": "fullist"}]}"#,
            "consumers[0].rank: \"fullist\" is none of fullest, emptiest, tightest, random.",
        ),
        (
            r#"{"consumers": [{"generation": 1, "rank": 5}]}"#,
            "consumers[0].rank: 5 is not a text.",
        ),
        (
            r#"{"consumers": [{"generation": 1, "ranc": "fullest"}]}"#,
            "consumers[0].ranc is unknown; did you mean rank? The members are name, generation, rank.",
        ),
        (
            r#"{"consumers": [{"generation": 1, "colour": "red"}]}"#,
            "consumers[0].colour is unknown; the members are name, generation, rank.",
        ),
        (
            r#"{"consumers": [{"generation": 1, "name": ""}]}"#,
            "consumers[0].name: \"\" is not a text of 1 to 4 characters.",
        ),
        (
            r#"{"consumers": [], "atomic": "yes"}"#,
            "atomic: \"yes\" is not true or false.",
        ),
        (
            r#"{"consumers": [], "amounts": {"VCPU": 0.5}}"#,
            "amounts.VCPU: 0.5 is not a whole number.",
        ),
    ] {
        assert_eq!(refusal(body), sentence, "{body}");
    }
}

/// The last of two members of the same name counted, so that a claim took less than the body says.
#[test]
fn found_u2_a_member_that_occurs_twice_is_refused_by_its_path() {
    let members = (0..20).map(|at| format!(r#""m{at}": {at}, "#));
    let many: String = members.collect();
    for (body, path) in [
        (r#"{"consumers": [], "consumers": []}"#.to_owned(), "consumers"),
        (
            r#"{"consumers": [{"generation": 1}, {"generation": 1, "name": "a", "generation": 2}]}"#.to_owned(),
            "consumers[1].generation",
        ),
        (
            r#"{"consumers": [], "amounts": {"VCPU": 1, "VCPU": 1}}"#.to_owned(),
            "amounts.VCPU",
        ),
        (
            format!(r#"{{"consumers": [], "amounts": {{{many} "m7": 1}}}}"#),
            "amounts.m7",
        ),
        (r#"{"unknown": [[{"": 1, "": 2}]]}"#.to_owned(), "unknown[0][0].\"\""),
    ] {
        let sentence = format!("{path} occurs more than once; once is allowed.");
        assert_eq!(refusal(&body), sentence, "{body}");
    }
    let patched = read_merge_patch::<Shown>(b"{}", br#"{"normal": {"buffer": 1, "buffer": 2}}"#);
    assert_eq!(
        patched.map(drop).unwrap_err().to_string(),
        "normal.buffer occurs more than once; once is allowed."
    );
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Shown {}

impl Patched for Shown {
    const MERGED: &'static [ShownMember] = &[("normal", Null::Removes)];
}

#[test]
fn a_refusal_does_not_repeat_a_long_request() {
    let long = "x".repeat(100_000);
    for body in [
        format!(r#"{{"{long}": "\u0000"}}"#),
        format!(r#"{{"{long}": 1, "{long}": 1}}"#),
        format!(r#"{{"consumers": "{long}"}}"#),
        format!(r#"{{"{long}": 1}}"#),
        format!(r#"{{"consumers": [], "amounts": {{"{long}": true}}}}"#),
    ] {
        assert!(refusal(&body).len() < 1_000, "{}", &body[..40]);
    }
}

#[test]
fn parameters_are_read_from_texts() {
    let read: Parameters = read_query("limit=7&dry_run=true&after=5").unwrap();
    assert_eq!(
        (read.limit.get(), read.dry_run, read.after.as_deref()),
        (7, true, Some("5"))
    );
    let none: Parameters = read_query("").unwrap();
    assert_eq!((none.limit.get(), none.dry_run, none.after), (1_000, false, None));
}

#[test]
fn a_wrong_parameter_is_refused_by_name() {
    for (query, sentence) in [
        ("limit=1001", "limit: 1001 is not a whole number from 1 to 1000."),
        ("limit=0", "limit: 0 is not a whole number from 1 to 1000."),
        ("limit=-1", "limit: \"-1\" is not a whole number."),
        (
            "limit=9223372036854775808",
            "limit: \"9223372036854775808\" is not a whole number of 64 bits.",
        ),
        ("dry_run=yes", "dry_run: \"yes\" is not true or false."),
        (
            "limits=5",
            "limits is unknown; did you mean limit? The parameters are limit, dry_run, after.",
        ),
        ("after=%00", "after: a text has no NUL character."),
        ("limit=1&limit=2", "limit occurs more than once; once is allowed."),
    ] {
        assert_eq!(refused_parameter(query), sentence, "{query}");
    }
    assert!(read_no_parameters("").is_ok());
    let refused = read_no_parameters("limit=1").unwrap_err().to_string();
    assert_eq!(refused, "limit is unknown; there are no parameters.");
}
