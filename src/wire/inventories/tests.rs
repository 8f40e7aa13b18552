//! Reads and writes inventories.

use std::sync::Arc;

use super::*;

const DEFAULTS: Inventory = Inventory {
    total: 10,
    reserved: 0,
    min_unit: 1,
    max_unit: i32::MAX,
    step_size: 1,
    allocation_ratio: 1.0,
};

#[test]
fn missing_fields_have_defaults() {
    let body = br#"{"resource_provider_generation": 7, "inventories": {"VCPU": {"total": 10}, "CUSTOM_A":
        {"total": 10, "reserved": 2, "min_unit": 3, "max_unit": 4, "step_size": 5, "allocation_ratio": 16}}}"#;
    let (replace, _) = read_replace(Version::new(25), "p", body).unwrap();
    assert_eq!(
        (
            replace.provider.as_str(),
            replace.generation,
            replace.reserved_may_equal_total
        ),
        ("p", 7, false)
    );
    let custom = Inventory {
        reserved: 2,
        min_unit: 3,
        max_unit: 4,
        step_size: 5,
        allocation_ratio: 16.0,
        ..DEFAULTS
    };
    assert_eq!(
        replace.inventories,
        [("VCPU".to_owned(), DEFAULTS), ("CUSTOM_A".to_owned(), custom)]
    );
}

#[test]
fn one_is_added_or_updated() {
    let (add, raw) = read_add(Version::new(26), "p", br#"{"resource_class": "VCPU", "total": 10.0}"#).unwrap();
    assert_eq!(
        (add.class.as_str(), add.inventory, add.reserved_may_equal_total),
        ("VCPU", DEFAULTS, true)
    );
    let answer = write_one(&written("VCPU", add.inventory), Some(&raw)).unwrap();
    assert!(
        answer.starts_with(br#"{"total":10.0,"reserved":0,"#),
        "numbers are repeated as they were sent"
    );
    let body = br#"{"resource_provider_generation": 99999999999999999999, "total": 10}"#;
    let (update, _) = read_update(Version::new(26), "p", "VCPU", body).unwrap();
    assert_eq!(
        (update.class.as_str(), update.generation, update.inventory),
        ("VCPU", i64::MAX, DEFAULTS)
    );
}

#[test]
fn the_answer_repeats_numbers_as_they_were_sent() {
    let body = br#"{"resource_provider_generation": 1, "inventories": {"VCPU":
        {"total": 1e1, "reserved": -0.0, "min_unit": 1.0, "allocation_ratio": 9223372036854775808}}}"#;
    let (replace, raw) = read_replace(Version::MAX, "p", body).unwrap();
    let answer = write_all(&written("VCPU", replace.inventories[0].1), Some(&raw));
    let numbers = r#""total":10.0,"reserved":-0.0,"min_unit":1.0,"max_unit":2147483647,"step_size":1,"#;
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        format!(
            r#"{{"resource_provider_generation":1,"inventories":{{"VCPU":{{{numbers}"allocation_ratio":9223372036854775808}}}}}}"#
        )
    );
}

fn written(class: &str, inventory: Inventory) -> Inventories {
    Inventories {
        provider: Arc::from("p"),
        generation: 1,
        inventories: vec![(Arc::from(class), inventory)],
        modified: None,
    }
}

#[test]
fn a_ratio_has_a_maximum() {
    let body = r#"{"resource_class": "VCPU", "total": 1, "allocation_ratio": 3.5e38}"#;
    let refusal = read_add(Version::MAX, "p", body.as_bytes()).unwrap_err().to_string();
    assert!(
        refusal.starts_with("JSON does not validate: 3.5e+38 is greater than the maximum of 3.40282e+38"),
        "{refusal}"
    );
}

#[test]
fn the_value_of_an_invalid_class_name_is_not_validated() {
    let body = br#"{"resource_provider_generation": 1, "inventories": {"vcpu": "junk"}}"#;
    assert_eq!(
        read_replace(Version::MAX, "p", body).unwrap().0.inventories[0].0,
        "vcpu"
    );
}

#[test]
fn writes_inventories() {
    let view = |generation| Inventories {
        provider: Arc::from("p"),
        generation,
        inventories: vec![(Arc::from("VCPU"), DEFAULTS)],
        modified: None,
    };
    let inner = r#"{"total":10,"reserved":0,"min_unit":1,"max_unit":2147483647,"step_size":1,"allocation_ratio":1.0"#;
    let one = |generation| String::from_utf8(write_one(&view(generation), None).unwrap()).unwrap();
    assert_eq!(one(2), format!(r#"{inner},"resource_provider_generation":2}}"#));
    assert_eq!(one(0), format!("{inner}}}"), "a generation of 0 is omitted");
    assert_eq!(
        String::from_utf8(write_all(&view(0), None)).unwrap(),
        format!(r#"{{"resource_provider_generation":0,"inventories":{{"VCPU":{inner}}}}}}}"#)
    );
    assert_eq!(
        write_one(
            &Inventories {
                inventories: Vec::new(),
                ..view(0)
            },
            None
        ),
        None
    );
}
