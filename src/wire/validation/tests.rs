//! Error sentences, all measured on Python's jsonschema 4.26 with the same schema and body.

use super::super::steps::Steps;
use crate::version::Version;

static PROVIDER: Steps = Steps::of_body(include_str!("../schemas/resource_providers.json"), "post");
static PROVIDERS: Steps = Steps::of_query(include_str!("../schemas/resource_providers.json"), "list");
static INVENTORY: Steps = Steps::of_body(include_str!("../schemas/inventories.json"), "put");
static AGGREGATES: Steps = Steps::of_body(include_str!("../schemas/aggregates.json"), "put");
static CLAIM: Steps = Steps::of_body(include_str!("../schemas/allocations.json"), "put");
static CLAIMS: Steps = Steps::of_body(include_str!("../schemas/allocations.json"), "post");
static TRAITS: Steps = Steps::of_body(include_str!("../schemas/traits.json"), "put");

fn refusal(steps: &Steps, minor: u16, body: &str) -> String {
    let sentence = steps
        .read(Version::new(minor), body.as_bytes())
        .unwrap_err()
        .to_string();
    sentence.strip_prefix("JSON does not validate: ").unwrap().to_owned()
}

/// The message without the schema and the instance.
fn message(steps: &Steps, minor: u16, body: &str) -> String {
    refusal(steps, minor, body).lines().next().unwrap().to_owned()
}

#[test]
fn an_unknown_property_is_refused() {
    assert_eq!(
        refusal(&PROVIDER, 0, r#"{"name": "a", "c": 1, "b": 2}"#),
        "Additional properties are not allowed ('b', 'c' were unexpected)

Failed validating 'additionalProperties' in schema:
    {'type': 'object',
     'properties': {'name': {'type': 'string', 'maxLength': 200},
                    'uuid': {'type': 'string', 'format': 'uuid'}},
     'required': ['name'],
     'additionalProperties': False}

On instance:
    {'name': 'a', 'c': 1, 'b': 2}"
    );
}

#[test]
fn the_alternative_that_fits_best_is_reported() {
    assert_eq!(
        refusal(&PROVIDER, 14, r#"{"name": "a", "parent_provider_uuid": "junk"}"#),
        "'junk' is not a 'uuid'

Failed validating 'format' in schema[0]:
    {'type': 'string', 'format': 'uuid'}

On instance:
    'junk'"
    );
}

#[test]
fn without_a_best_alternative_all_are_reported() {
    assert_eq!(
        refusal(&PROVIDER, 14, r#"{"name": "a", "parent_provider_uuid": 5}"#),
        "5 is not valid under any of the given schemas

Failed validating 'anyOf' in schema['properties']['parent_provider_uuid']:
    {'anyOf': [{'type': 'string', 'format': 'uuid'}, {'type': 'null'}]}

On instance['parent_provider_uuid']:
    5"
    );
}

#[test]
fn the_path_to_an_item_of_a_list_is_reported() {
    assert_eq!(
        refusal(
            &TRAITS,
            6,
            r#"{"traits": ["a", ""], "resource_provider_generation": 1}"#
        ),
        "'' should be non-empty

Failed validating 'minLength' in schema['properties']['traits']['items']:
    {'type': 'string', 'minLength': 1, 'maxLength': 255}

On instance['traits'][1]:
    ''"
    );
}

#[test]
fn the_violation_nearest_to_the_root_is_reported_and_then_the_last() {
    let body = r#"{"allocations": {"x": 1}, "project_id": "", "user_id": "u"}"#;
    assert_eq!(message(&CLAIM, 12, body), "'' should be non-empty");
    let body = r#"{"allocations": {"x": 1}, "user_id": "u"}"#;
    assert_eq!(message(&CLAIM, 12, body), "'project_id' is a required property");
    assert_eq!(
        message(&AGGREGATES, 1, r#"["x", "x"]"#),
        "['x', 'x'] has non-unique elements"
    );
    assert_eq!(message(&AGGREGATES, 1, r#"["x", "y"]"#), "'y' is not a 'uuid'");
}

#[test]
fn numbers_of_every_kind_are_validated() {
    let inventory = |total: &str| {
        INVENTORY.read(
            Version::new(0),
            format!("{{\"total\": {total}, \"resource_provider_generation\": 1}}").as_bytes(),
        )
    };
    let message = |total: &str| {
        let sentence = inventory(total).unwrap_err().to_string();
        sentence
            .lines()
            .next()
            .unwrap()
            .trim_start_matches("JSON does not validate: ")
            .to_owned()
    };
    assert!(inventory("10").is_ok());
    assert!(inventory("10.0").is_ok());
    assert!(inventory("1e1").is_ok());
    assert_eq!(
        message("1000000000000000000000"),
        "1000000000000000000000 is greater than the maximum of 2147483647"
    );
    assert_eq!(
        message("-1000000000000000000000"),
        "-1000000000000000000000 is less than the minimum of 1"
    );
    assert_eq!(message("1.5"), "1.5 is not of type 'integer'");
    assert_eq!(message("true"), "True is not of type 'integer'");
    assert_eq!(message("NaN"), "nan is not of type 'integer'");
    assert_eq!(message("0"), "0 is less than the minimum of 1");
}

#[test]
fn keys_that_match_no_pattern_are_refused() {
    assert_eq!(
        message(&CLAIMS, 13, r#"{"x": {}, "y": {}}"#),
        "'x', 'y' do not match any of the regexes: '^[0-9a-fA-F-]{36}$'"
    );
    assert_eq!(message(&CLAIMS, 13, "{}"), "{} should be non-empty");
    assert_eq!(message(&CLAIMS, 13, "[]"), "[] is not of type 'object'");
}

#[test]
fn equal_values_are_not_unique_whatever_their_form() {
    for body in [
        "[1, 1.0]",
        "[{\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1}]",
        "[[\"x\"], [\"x\"]]",
    ] {
        assert!(
            message(&AGGREGATES, 1, body).ends_with("has non-unique elements"),
            "{body}"
        );
    }
    for body in ["[1, true]", "[\"1\", 1]", "[[1], [2]]"] {
        assert!(
            !message(&AGGREGATES, 1, body).ends_with("has non-unique elements"),
            "{body}"
        );
    }
}

#[test]
fn only_the_last_of_equal_parameters_is_validated() {
    let read = |raw| super::super::query::Query::read(&PROVIDERS, Version::new(14), raw);
    assert!(read("in_tree=junk&in_tree=0123abcd-4567-89ab-cdef-0123456789ab").is_ok());
    let sentence = read("in_tree=0123abcd456789abcdef0123456789ab")
        .unwrap_err()
        .to_string();
    assert!(
        sentence.starts_with("Invalid query string parameters: '0123abcd456789abcdef0123456789ab' is not a 'uuid'"),
        "{sentence}"
    );
}

#[test]
fn a_step_is_in_force_until_the_next_one() {
    let body = r#"{"name": "a", "parent_provider_uuid": null}"#;
    assert!(PROVIDER.read(Version::new(13), body.as_bytes()).is_err());
    assert!(PROVIDER.read(Version::new(14), body.as_bytes()).is_ok());
    assert!(PROVIDER.read(Version::MAX, body.as_bytes()).is_ok());
}

#[test]
fn a_body_with_millions_of_violations_gets_one_short_answer() {
    let items = vec!["1"; 100_000].join(",");
    let body = format!("{{\"traits\": [{items}], \"resource_provider_generation\": 1}}");
    assert_eq!(message(&TRAITS, 6, &body), "1 is not of type 'string'");
    assert!(refusal(&AGGREGATES, 1, &format!("[{items}]")).len() < 100_000);
}
