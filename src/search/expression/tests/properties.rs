//! Random expressions: the printed text reads as the same expression, and a scan decides as a walk of the tree does.

use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::search::expression::{Comparison, CompiledExpression, Expression, Node, Operator, Truth};
use crate::search::snapshot::{Catalog, Description, PropertyValue, ProviderId, ProviderRow, Snapshot};

fn literal() -> BoxedStrategy<PropertyValue> {
    prop_oneof![
        3 => (-2i64..3).prop_map(PropertyValue::Integer),
        1 => any::<i64>().prop_map(PropertyValue::Integer),
        2 => any::<bool>().prop_map(PropertyValue::Boolean),
        3 => prop_oneof![Just("x"), Just("y"), Just("true"), Just("-1"), Just("0"), Just("a/b:c"), Just("\\\""), Just("")]
            .prop_map(|text| PropertyValue::Text(text.into())),
        1 => any::<String>().prop_map(|text| PropertyValue::Text(text.into())),
    ]
    .boxed()
}

fn comparison() -> impl Strategy<Value = Node> {
    let names = prop_oneof![9 => "[abc]", 1 => "[A-Za-z_][A-Za-z0-9_.-]{0,9}", 1 => Just("NodeName".to_owned())];
    (names, 0..6usize, literal()).prop_map(|(name, operator, literal)| {
        let is_integer = matches!(literal, PropertyValue::Integer(_));
        let (_, operator) = Operator::ALL[if is_integer { operator } else { operator % 2 }];
        Node::Comparison(Comparison {
            name: name.into(),
            operator,
            literal,
        })
    })
}

fn expression() -> impl Strategy<Value = Expression> {
    let node = comparison().prop_recursive(4, 12, 3, |node| {
        prop_oneof![
            vec(node.clone(), 2..4).prop_map(Node::Or),
            vec(node.clone(), 2..4).prop_map(Node::And),
            node.prop_map(|node| Node::Not(Box::new(node))),
        ]
    });
    prop_oneof![1 => Just(Expression(None)), 20 => node.prop_map(|node| Expression(Some(node)))]
}

fn description() -> impl Strategy<Value = Description> {
    btree_map(
        "[abc]",
        prop_oneof![5 => literal().prop_map(Some), 1 => Just(None)],
        0..4,
    )
    .prop_map(|properties| Description {
        properties: properties
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect(),
        ..Description::default()
    })
}

proptest! {
    #![proptest_config(crate::search::tests::few_cases())]

    #[test]
    fn a_printed_expression_reads_as_the_same(expression in expression()) {
        let printed = expression.to_string();
        prop_assert_eq!(printed.parse::<Expression>().unwrap_or_else(|error| panic!("{printed}: {error}")), expression);
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_column_of_it(text in "[ab1\"\\\\ =!<>&|().-]{0,20}") {
        match text.parse::<Expression>() {
            Ok(expression) => prop_assert_eq!(expression.to_string().parse::<Expression>(), Ok(expression)),
            Err(crate::error::Error::InvalidExpression { column, .. }) => {
                prop_assert!((1..=text.chars().count() + 1).contains(&column));
            }
            Err(error) => panic!("{text}: {error}"),
        }
    }

    #[test]
    fn a_scan_of_a_block_decides_as_a_walk_of_the_tree(
        expression in expression(),
        providers in vec((description(), any::<prop::sample::Index>(), any::<bool>()), 1..6),
    ) {
        let mut rows: Vec<ProviderRow> = Vec::new();
        for (id, (_, parent, is_root)) in (1..).zip(&providers) {
            let mut row = ProviderRow::bare(ProviderId(id), format!("uuid-{id}"), ["x", "y", "0"][id as usize % 3].to_owned() + &id.to_string());
            if !is_root && !rows.is_empty() {
                let above = parent.get(&rows);
                (row.parent, row.root) = (Some(above.id), above.root);
            }
            rows.push(row);
        }
        let descriptions = (1..).map(ProviderId).zip(providers.into_iter().map(|(description, ..)| description));
        let snapshot = Snapshot::build(Catalog::default(), rows).with_descriptions(descriptions);
        let expression = Arc::new(expression);
        let compiled = CompiledExpression::new(&snapshot, &expression);
        let present = snapshot.blocks.get(0).present;
        let scanned = compiled.matching(&snapshot, 0, snapshot.inheriting_lanes(0), present);
        for slot in snapshot.iter() {
            let walked = expression.judge(|name| snapshot.property(slot, name)) == Truth::True;
            prop_assert_eq!(walked, scanned >> slot.lane() & 1 == 1, "{} of {:?}", expression, snapshot.effective_description(slot));
        }
    }
}
