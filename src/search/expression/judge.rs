//! Decides for one provider by walking the tree of an expression.

use super::{Comparison, Expression};
use crate::search::snapshot::PropertyValue;

/// The result of an expression for one provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    True,
    False,
    /// The provider lacks the property of the comparison with this index.
    Missing(usize),
    /// The provider's property and the literal of the comparison with this index have different types.
    Type(usize),
}

impl Expression {
    /// Decides for a provider with these properties. The first comparison without a property, or else with a property
    /// of a different type, decides before any comparison is evaluated.
    pub fn judge(&self, property: impl Fn(&str) -> Option<PropertyValue>) -> Truth {
        let comparisons = self.comparisons();
        let values = comparisons.iter().map(|comparison| property(&comparison.name));
        let values: Vec<Option<PropertyValue>> = values.collect();
        if let Some(missing) = values.iter().position(Option::is_none) {
            return Truth::Missing(missing);
        }
        let values: Vec<PropertyValue> = values.into_iter().flatten().collect();
        let mut pairs = comparisons.iter().zip(&values);
        if let Some(other) = pairs.position(|(comparison, value)| !comparison.has_type_of(value)) {
            return Truth::Type(other);
        }
        let mut values = values.iter();
        let mut holds = |comparison: &Comparison| values.next().is_some_and(|value| comparison.holds(value));
        let mut compare = |comparison: &Comparison| if holds(comparison) { u64::MAX } else { 0 };
        if self.0.as_ref().is_none_or(|node| node.holding(&mut compare) != 0) {
            Truth::True
        } else {
            Truth::False
        }
    }
}
