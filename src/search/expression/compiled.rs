//! Evaluates an expression for the 64 providers of a block at a time, with a bit for each provider.
//!
//! Names are looked up once for a search. In a block each comparison is a pass over the few different values of its
//! property. The pass finds the providers whose value has the literal's type, and the providers for which the
//! comparison holds. All comparisons are evaluated, because a missing property rejects a provider in any branch.

use std::sync::Arc;

use super::{Comparison, Expression, Operator};
use crate::search::snapshot::{DescribedLanes, NameId, PropertySource, PropertyValue, Snapshot, lanes_where};

/// An expression, for one version of the snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::search) struct CompiledExpression {
    expression: Arc<Expression>,
    /// By comparison, in the order of the text.
    sources: Vec<PropertySource>,
}

impl CompiledExpression {
    pub fn new(snapshot: &Snapshot, expression: &Arc<Expression>) -> Self {
        let comparisons = expression.comparisons().into_iter();
        Self {
            sources: comparisons
                .map(|comparison| snapshot.property_source(&comparison.name))
                .collect(),
            expression: Arc::clone(expression),
        }
    }

    /// The subset of `lanes` of a block for which the expression is true. `described` has the properties.
    pub fn matching(&self, snapshot: &Snapshot, block: usize, described: &DescribedLanes, lanes: u64) -> u64 {
        let Some(node) = &self.expression.0 else { return lanes };
        let mut scan = Scan {
            snapshot,
            block,
            described,
            sources: self.sources.iter(),
            known: lanes,
        };
        let holding = node.holding(&mut |comparison: &Comparison| scan.comparing(comparison));
        holding & scan.known
    }
}

/// The evaluation in one block.
struct Scan<'a> {
    snapshot: &'a Snapshot,
    block: usize,
    described: &'a DescribedLanes,
    /// The sources of the remaining comparisons.
    sources: std::slice::Iter<'a, PropertySource>,
    /// The lanes that have the properties of all comparisons so far, with the types of their literals.
    known: u64,
}

impl Scan<'_> {
    /// The lanes for which a comparison holds, if they are known at the end.
    fn comparing(&mut self, comparison: &Comparison) -> u64 {
        let (typed, holding) = match self.sources.next() {
            // A lane outside `known` does not match, whatever the rest says.
            _ if self.known == 0 => (0, 0),
            Some(PropertySource::Described(name)) => self.of_described(comparison, *name),
            Some(PropertySource::Nowhere) | None => (0, 0),
            Some(source) => self.of_identity(comparison, *source),
        };
        self.known &= typed;
        holding
    }

    fn of_described(&self, comparison: &Comparison, name: NameId) -> (u64, u64) {
        let (mut typed, mut holding) = (0, 0);
        for (value, lanes) in self.described.values(name) {
            if comparison.has_type_of(value) {
                typed |= lanes;
                holding |= if comparison.holds(value) { lanes } else { 0 };
            }
        }
        (typed, holding)
    }

    /// The name or the uuid of each provider.
    fn of_identity(&self, comparison: &Comparison, source: PropertySource) -> (u64, u64) {
        let PropertyValue::Text(literal) = &comparison.literal else {
            return (0, 0);
        };
        let block = self.snapshot.blocks.get(self.block);
        let texts = match source {
            PropertySource::Name => &block.identity.names,
            _ => &block.identity.uuids,
        };
        let equal = lanes_where(self.known & block.present, |lane| texts.get(lane) == &**literal);
        let is_equality = comparison.operator == Operator::Equal;
        (block.present, if is_equality { equal } else { !equal })
    }
}
