//! The language, example by example (places A18 to A24, E15 to E20), and properties of all expressions.

mod examples;
mod properties;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Expression;
use crate::error::Error;
use crate::search::snapshot::PropertyValue;

/// The properties of a provider, by name.
type Properties = BTreeMap<&'static str, PropertyValue>;

fn text(value: &str) -> PropertyValue {
    PropertyValue::Text(value.into())
}

fn integer(value: i64) -> PropertyValue {
    PropertyValue::Integer(value)
}

fn boolean(value: bool) -> PropertyValue {
    PropertyValue::Boolean(value)
}

fn parse(expression: &str) -> Arc<Expression> {
    Arc::new(
        expression
            .parse()
            .unwrap_or_else(|error| panic!("{expression}: {error}")),
    )
}

/// The column of the error, and the text of the error.
fn error(expression: &str) -> (usize, String) {
    match expression.parse::<Expression>() {
        Err(Error::InvalidExpression { column, detail, .. }) => (column, detail),
        other => panic!("{expression}: {other:?}"),
    }
}
