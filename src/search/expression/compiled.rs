//! Evaluates an expression for the 64 providers of a block at a time, with a bit for each provider.
//!
//! Names are looked up once for a search. In a block each comparison is a pass over the few different values of its
//! property. The pass finds the providers whose value has the literal's type, and the providers for which the
//! comparison holds. All comparisons are evaluated, because a missing property rejects a provider in any branch.

use std::sync::Arc;

use super::{Comparison, Expression, Node, PROVIDER_TYPE};
use crate::search::snapshot::{DescribedLanes, NameId, PropertyValue, Snapshot, lanes_of};

/// An expression, for one version of the snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::search) struct CompiledExpression {
    expression: Arc<Expression>,
    /// By comparison, in the order of the text.
    sources: Vec<Source>,
}

/// The place of a property's value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// No provider ever had a property of this name.
    Nowhere,
    Described(NameId),
    Name,
    Uuid,
}

impl CompiledExpression {
    pub fn new(snapshot: &Snapshot, expression: &Arc<Expression>) -> Self {
        let source = |comparison: &&Comparison| match &*comparison.name {
            "ProviderName" | "NodeName" => Source::Name,
            "ProviderUuid" => Source::Uuid,
            "NodeType" => described(snapshot, PROVIDER_TYPE),
            name => described(snapshot, name),
        };
        Self {
            sources: expression.comparisons().iter().map(source).collect(),
            expression: Arc::clone(expression),
        }
    }

    pub fn expression(&self) -> &Expression {
        &self.expression
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
        let holding = scan.holding(node);
        holding & scan.known
    }
}

fn described(snapshot: &Snapshot, name: &str) -> Source {
    snapshot.property_name(name).map_or(Source::Nowhere, Source::Described)
}

/// The evaluation in one block.
struct Scan<'a> {
    snapshot: &'a Snapshot,
    block: usize,
    described: &'a DescribedLanes,
    /// The sources of the remaining comparisons.
    sources: std::slice::Iter<'a, Source>,
    /// The lanes that have the properties of all comparisons so far, with the types of their literals.
    known: u64,
}

impl Scan<'_> {
    /// The lanes for which a node holds, if they are known at the end.
    fn holding(&mut self, node: &Node) -> u64 {
        // A lane outside `known` does not match, whatever the rest says.
        if self.known == 0 {
            return 0;
        }
        match node {
            Node::Or(all) => all.iter().fold(0, |holding, node| holding | self.holding(node)),
            Node::And(all) => all.iter().fold(u64::MAX, |holding, node| holding & self.holding(node)),
            Node::Not(node) => !self.holding(node),
            Node::Comparison(comparison) => self.comparing(comparison),
        }
    }

    fn comparing(&mut self, comparison: &Comparison) -> u64 {
        let (typed, holding) = match self.sources.next() {
            Some(Source::Described(name)) => self.of_described(comparison, *name),
            Some(source @ (Source::Name | Source::Uuid)) => self.of_identity(comparison, *source),
            Some(Source::Nowhere) | None => (0, 0),
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
    fn of_identity(&self, comparison: &Comparison, source: Source) -> (u64, u64) {
        let PropertyValue::Text(literal) = &comparison.literal else {
            return (0, 0);
        };
        let block = self.snapshot.blocks().get(self.block);
        let texts = match source {
            Source::Name => &block.identity.names,
            _ => &block.identity.uuids,
        };
        let equal = lanes_of(self.known & block.present).filter(|&lane| texts.get(lane) == &**literal);
        let equal = equal.fold(0, |lanes, lane| lanes | 1 << lane);
        let is_equality = comparison.operator == super::Operator::Equal;
        (block.present, if is_equality { equal } else { !equal })
    }
}
