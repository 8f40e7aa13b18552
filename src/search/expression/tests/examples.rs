//! The examples of the requirements, each decided by walking the tree and by scanning a block.

use super::{Expression, Properties, boolean, error, integer, parse, text};
use crate::search::expression::{CompiledExpression, Truth};
use crate::search::snapshot::{Catalog, Description, PropertyValue, ProviderId, ProviderRow, Snapshot, lanes_of};

fn host<const N: usize>(
    name: &'static str,
    properties: [(&'static str, PropertyValue); N],
) -> (&'static str, Properties) {
    (name, properties.into())
}

/// The names of the hosts for which an expression is true.
fn matching(hosts: &[(&'static str, Properties)], expression: &str) -> Vec<&'static str> {
    let expression = parse(expression);
    let walked = hosts
        .iter()
        .filter(|(_, properties)| expression.judge(|name| properties.get(name).cloned()) == Truth::True);
    let walked: Vec<&str> = walked.map(|(name, _)| *name).collect();
    let rows = (1..)
        .zip(hosts)
        .map(|(id, (name, _))| ProviderRow::bare(ProviderId(id), format!("uuid-{name}"), *name));
    let snapshot = Snapshot::build(Catalog::default(), rows.collect());
    let descriptions = (1..)
        .map(ProviderId)
        .zip(hosts.iter().map(|(_, properties)| described(properties)));
    let snapshot = snapshot.with_descriptions(descriptions);
    let compiled = CompiledExpression::new(&snapshot, &expression);
    let present = snapshot.blocks.get(0).present;
    let scanned = compiled.matching(&snapshot, 0, snapshot.described_roots(0), present);
    assert_eq!(lanes_of(scanned).map(|lane| hosts[lane].0).collect::<Vec<_>>(), walked);
    walked
}

fn described(properties: &Properties) -> Description {
    let properties = properties.iter();
    let mut description = Description {
        properties: properties
            .map(|(name, value)| ((*name).into(), Some(value.clone())))
            .collect(),
        ..Description::default()
    };
    if let Some(Some(PropertyValue::Text(kind))) = description.properties.remove("ProviderType") {
        description.kind = Some(kind);
    }
    description
}

#[test]
fn e15_a_property_that_is_missing_or_of_another_type_does_not_match() {
    let hosts = [
        host("p", [("Value", integer(5))]),
        host("q", [("Value", integer(4))]),
        host("r", []),
        host("s", [("Value", text("5"))]),
    ];
    assert_eq!(matching(&hosts, "Value >= 5"), ["p"]);
    assert_eq!(matching(&hosts, "Value == \"5\""), ["s"]);
}

#[test]
fn e16_a_host_without_the_property_matches_neither_unequal_nor_not() {
    let hosts = [
        host("p", [("NodeColor", text("green"))]),
        host("q", [("NodeColor", text("blue"))]),
        host("r", []),
        host("s", [("NodeColor", text("Green"))]),
    ];
    assert_eq!(matching(&hosts, "NodeColor != green"), ["q", "s"]);
    assert_eq!(matching(&hosts, "!(NodeColor == green)"), ["q", "s"]);
}

#[test]
fn e17_a_property_that_a_branch_does_not_need_must_be_there() {
    let hosts = [
        (
            "p",
            [("OneProperty", integer(99)), ("AnotherProperty", boolean(true))].into(),
        ),
        (
            "q",
            [("OneProperty", integer(100)), ("AnotherProperty", boolean(false))].into(),
        ),
        (
            "r",
            [("OneProperty", integer(100)), ("AnotherProperty", boolean(true))].into(),
        ),
        host("s", [("OneProperty", integer(99))]),
        host("t", [("AnotherProperty", boolean(false))]),
    ];
    let third = "((OneProperty < 100) || ((AnotherProperty == false) && (OneProperty >= 100)))";
    assert_eq!(matching(&hosts, third), ["p", "q"]);
}

#[test]
fn e18_and_all_of_a22_hold_for_the_host_that_they_describe() {
    let node = [
        ("HasSSD", boolean(true)),
        ("NodeColor", text("green")),
        ("SomeProperty", integer(5)),
        ("ProviderType", text("NodeType01")),
        ("Value", integer(5)),
        ("OneProperty", integer(99)),
        ("AnotherProperty", boolean(false)),
    ];
    let hosts = [host("n", node.clone())];
    let holds = |expression: &str| {
        // A walk of the tree knows no synonym, so the node gets the property.
        let mut walked: Properties = node.clone().into();
        walked.insert("NodeType", text("NodeType01"));
        parse(expression).judge(|name| walked.get(name).cloned()) == Truth::True
    };
    for (expression, expected) in [
        ("Value >= 5", true),
        ("NodeColor != green", false),
        (
            "((OneProperty < 100) || ((AnotherProperty == false) && (OneProperty >= 100)))",
            true,
        ),
        ("(HasSSD == true && SomeProperty >= 4)", true),
        ("HasSSD == true && SomeProperty >= 4", true),
        ("(NodeType == NodeType03)", false),
        ("NodeType == NodeType01", true),
        ("HasSSD == TRUE", true),
        ("HasSSD == \"true\"", false),
    ] {
        assert_eq!(holds(expression), expected, "{expression}");
        if !expression.contains("NodeType ") {
            assert_eq!(
                matching(&hosts, expression).len(),
                usize::from(expected),
                "{expression}"
            );
        }
    }
}

#[test]
fn built_in_names_are_those_of_the_provider() {
    let rows = (1..4).map(|id| ProviderRow::bare(ProviderId(id), format!("uuid-{id}"), format!("name-{id}")));
    let snapshot = Snapshot::build(Catalog::default(), rows.collect());
    let kind = Description {
        kind: Some("NodeType01".into()),
        ..Description::default()
    };
    let snapshot = snapshot.with_descriptions([(ProviderId(2), kind)]);
    let matching = |expression: &str| {
        let compiled = CompiledExpression::new(&snapshot, &parse(expression));
        let scanned = compiled.matching(&snapshot, 0, snapshot.described_roots(0), 0b111);
        for slot in snapshot.iter() {
            let walked = parse(expression).judge(|name| snapshot.property(slot, name)) == Truth::True;
            assert_eq!(walked, scanned >> slot.lane() & 1 == 1, "{expression}");
        }
        scanned
    };
    assert_eq!(matching("NodeName == name-1"), 0b001);
    assert_eq!(matching("ProviderName != name-1"), 0b110);
    assert_eq!(matching("ProviderUuid == uuid-3"), 0b100);
    assert_eq!(matching("NodeType == NodeType01"), 0b010);
    assert_eq!(matching("ProviderType != other"), 0b010);
    assert_eq!(matching("NodeName == 1"), 0);
    assert_eq!(matching("NodeName != name-1 && Unknown == 1"), 0);
}

#[test]
fn e19_and_binds_tighter_than_or_and_not_is_for_groups() {
    let hosts = [(
        "h",
        [("a", boolean(true)), ("b", boolean(true)), ("c", boolean(false))].into(),
    )];
    let holds = |expression: &str| matching(&hosts, expression).len() == 1;
    assert!(holds("a == true || b == true && c == true"));
    assert!(!holds("(a == true || b == true) && c == true"));
    assert!(holds("!(a == true) || b == true"));
}

#[test]
fn e20_a_wrong_expression_is_refused_at_its_column() {
    for (expression, column) in [
        ("Value >=", 9),
        ("5 <= Value", 1),
        ("Value > green", 9),
        ("!HasSSD == true", 2),
        ("Value == 9223372036854775808", 10),
        ("a == b == c", 8),
        ("HasSSD", 7),
        ("a = 1", 3),
        ("a == 1 & b == 2", 8),
        ("a == 1 &&", 10),
        ("(a == 1", 8),
        ("a == 1)", 7),
        ("()", 2),
        ("a == \"x", 6),
        ("a == \"\\n\"", 7),
        ("a < true", 5),
        ("a == -x", 6),
        ("ä == 1", 1),
        ("a == ä", 6),
    ] {
        assert_eq!(error(expression).0, column, "{expression}: {}", error(expression).1);
    }
    assert!("Value == -9223372036854775808".parse::<Expression>().is_ok());
}

#[test]
fn nothing_is_true_for_every_host() {
    let hosts = [host("p", []), host("q", [("a", integer(1))])];
    assert_eq!(matching(&hosts, ""), ["p", "q"]);
    assert_eq!(matching(&hosts, " \t "), ["p", "q"]);
}

#[test]
fn literals_have_types_and_a_text_is_compared_by_code_point() {
    let hosts = [
        host("integer", [("a", integer(7))]),
        host("text", [("a", text("7"))]),
        host("boolean", [("a", boolean(true))]),
        host("word", [("a", text("true"))]),
        host("path", [("a", text("fd:/dc1/r-0.x"))]),
    ];
    assert_eq!(matching(&hosts, "a == 007"), ["integer"]);
    assert_eq!(matching(&hosts, "a == \"7\""), ["text"]);
    assert_eq!(matching(&hosts, "a == True"), ["boolean"]);
    assert_eq!(matching(&hosts, "a == \"true\""), ["word"]);
    assert_eq!(matching(&hosts, "a == fd:/dc1/r-0.x"), ["path"]);
    assert_eq!(matching(&hosts, "a != FD:/dc1/r-0.x"), ["text", "word", "path"]);
}

#[test]
fn an_expression_is_bounded_in_length_depth_and_comparisons() {
    let nested = |levels: usize| format!("{}a == 1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(nested(64).parse::<Expression>().is_ok());
    assert_eq!(error(&nested(65)).0, 65);
    let joined = |count: usize| vec!["a == 1"; count].join("||");
    assert!(joined(256).parse::<Expression>().is_ok());
    assert_eq!(error(&joined(257)).0, 256 * 8 + 1);
    let padded = |length: usize| format!("{:length$}", "a == 1");
    assert!(padded(4096).parse::<Expression>().is_ok());
    assert_eq!(error(&padded(4097)).0, 4097);
    let named = |length: usize| format!("{} == 1", "n".repeat(length));
    assert!(named(255).parse::<Expression>().is_ok());
    assert_eq!(error(&named(256)).0, 1);
}

#[test]
fn a_verdict_says_which_comparison_had_no_property_or_another_type() {
    let hosts: Properties = [("a", integer(1)), ("b", text("x"))].into();
    let verdict = |expression: &str| parse(expression).judge(|name| hosts.get(name).cloned());
    assert_eq!(verdict("a == 1 || b == 2"), Truth::Type(1));
    assert_eq!(verdict("b == 2 || c == 2"), Truth::Missing(1));
    assert_eq!(verdict("a == 2"), Truth::False);
    assert_eq!(verdict("a == 1"), Truth::True);
}
