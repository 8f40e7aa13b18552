//! Expressions over the properties of providers, as in `where=HasSSD == true && SomeProperty >= 4`.
//!
//! - `parse` reads a text; an error has the column;
//! - `print` writes an expression as text, in one form for equal expressions;
//! - `judge` decides for one provider by walking the tree: the meaning of the language;
//! - `compiled` decides for 64 providers of a block at a time.
//!
//! Each comparison has a name on the left and a typed literal on the right. A provider matches only if every property
//! named in the expression is present and has the type of the literal. This holds under `!=` and `!` too, and in
//! branches of `||` that are not needed. Without this rule a misspelled name under `!` would match every provider.

mod compiled;
mod judge;
mod parse;
mod print;

use std::sync::Arc;

use super::snapshot::PropertyValue;

pub(super) use compiled::CompiledExpression;
pub use judge::Truth;

/// A condition on one provider. The default is always true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Expression(Option<Node>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    /// At least two.
    Or(Vec<Node>),
    /// At least two.
    And(Vec<Node>),
    Not(Box<Node>),
    Comparison(Comparison),
}

/// A property against a literal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    pub name: Arc<str>,
    operator: Operator,
    literal: PropertyValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operator {
    Equal,
    NotEqual,
    AtLeast,
    AtMost,
    Less,
    Greater,
}

impl Operator {
    /// All operators; no operator is the beginning of a later operator.
    const ALL: [(&'static str, Operator); 6] = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        (">=", Operator::AtLeast),
        ("<=", Operator::AtMost),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];

    fn is_order(self) -> bool {
        !matches!(self, Operator::Equal | Operator::NotEqual)
    }
}

impl Comparison {
    /// Whether a value has the type of the literal.
    fn has_type_of(&self, value: &PropertyValue) -> bool {
        std::mem::discriminant(value) == std::mem::discriminant(&self.literal)
    }

    /// Whether the comparison holds for a value of the literal's type. Texts are compared by code point.
    fn holds(&self, value: &PropertyValue) -> bool {
        match self.operator {
            Operator::Equal => *value == self.literal,
            Operator::NotEqual => *value != self.literal,
            Operator::AtLeast => *value >= self.literal,
            Operator::AtMost => *value <= self.literal,
            Operator::Less => *value < self.literal,
            Operator::Greater => *value > self.literal,
        }
    }

    /// The literal, if it is a text.
    pub fn text(&self) -> Option<&str> {
        match &self.literal {
            PropertyValue::Text(text) => Some(text),
            PropertyValue::Boolean(_) | PropertyValue::Integer(_) => None,
        }
    }

    /// The type of the literal, for messages.
    pub fn type_name(&self) -> &'static str {
        match self.literal {
            PropertyValue::Text(_) => "text",
            PropertyValue::Boolean(_) => "boolean",
            PropertyValue::Integer(_) => "integer",
        }
    }
}

impl Expression {
    /// Whether the expression is true for every provider.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The condition `name == value`, with a text.
    pub fn is_text(name: &str, value: &str) -> Expression {
        Expression(Some(Node::Comparison(Comparison {
            name: name.into(),
            operator: Operator::Equal,
            literal: PropertyValue::Text(value.into()),
        })))
    }

    /// True if both expressions are true.
    pub fn and(self, other: Expression) -> Expression {
        let both: Vec<Node> = [self.0, other.0].into_iter().flatten().collect();
        match both.len() {
            0 | 1 => Expression(both.into_iter().next()),
            _ => Expression(Some(Node::And(both))),
        }
    }

    /// The comparisons, in the order of the text.
    pub fn comparisons(&self) -> Vec<&Comparison> {
        let mut found = Vec::new();
        if let Some(node) = &self.0 {
            node.holding(&mut |comparison| {
                found.push(comparison);
                0
            });
        }
        found
    }
}

impl Node {
    /// The lanes for which the node holds. `compare` returns these lanes for a comparison, and is called for all
    /// comparisons in the order of the text.
    fn holding<'a>(&'a self, compare: &mut impl FnMut(&'a Comparison) -> u64) -> u64 {
        match self {
            Node::Or(all) => all.iter().fold(0, |holding, node| holding | node.holding(compare)),
            Node::And(all) => all
                .iter()
                .fold(u64::MAX, |holding, node| holding & node.holding(compare)),
            Node::Not(node) => !node.holding(compare),
            Node::Comparison(comparison) => compare(comparison),
        }
    }
}

#[cfg(test)]
mod tests;
