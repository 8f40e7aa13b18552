//! Writes an expression so that reading gives an equal expression: with no more parentheses than needed.

use std::fmt::{self, Display};

use super::parse::bare;
use super::{Comparison, Expression, Node, Operator};
use crate::search::snapshot::PropertyValue;

impl Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|node| node.fmt(f))
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Or(all) => list(f, all, " || ", |node| matches!(node, Node::Or(_))),
            Node::And(all) => list(f, all, " && ", |node| matches!(node, Node::Or(_) | Node::And(_))),
            Node::Not(node) if matches!(**node, Node::Not(_)) => write!(f, "!{node}"),
            Node::Not(node) => write!(f, "!({node})"),
            Node::Comparison(comparison) => comparison.fmt(f),
        }
    }
}

fn list(
    f: &mut fmt::Formatter<'_>,
    all: &[Node],
    separator: &str,
    needs_parentheses: fn(&Node) -> bool,
) -> fmt::Result {
    for (at, node) in all.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        if needs_parentheses(node) {
            write!(f, "({node})")?;
        } else {
            node.fmt(f)?;
        }
    }
    Ok(())
}

impl Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Operator::ALL.iter().find(|(_, operator)| *operator == self.operator);
        let token = found.map_or("", |(token, _)| token);
        write!(f, "{} {token} ", self.name)?;
        match &self.literal {
            PropertyValue::Integer(integer) => write!(f, "{integer}"),
            PropertyValue::Boolean(boolean) => write!(f, "{boolean}"),
            PropertyValue::Text(text) if is_bare(text) => f.write_str(text),
            PropertyValue::Text(text) => {
                write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
        }
    }
}

/// Whether a text without quotation marks is read as this text.
fn is_bare(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-');
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    begins && text.chars().all(is_part) && matches!(bare(text), Some(PropertyValue::Text(_)))
}
