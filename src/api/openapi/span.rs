//! The versions in which a part of the description holds: a range of microversions, or the native API.

use serde_json::{Value, json};

use super::super::route::Family;
use crate::version::Version;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// From the first to the last.
    Microversions(Version, Version),
    Native,
}

impl Span {
    /// Every microversion.
    pub const ALL: Span = Span::Microversions(Version::MIN, Version::MAX);

    pub const fn at(version: Version) -> Span {
        Span::Microversions(version, version)
    }

    /// The versions served by a route.
    pub const fn of(family: Family) -> Span {
        match family {
            Family::Placement { first, last, .. } => Span::Microversions(first, last),
            Family::Native => Span::Native,
        }
    }

    /// The versions in both spans; `None` if the spans have no version in common.
    pub fn intersection(self, other: Span) -> Option<Span> {
        match (self, other) {
            (Span::Microversions(first, last), Span::Microversions(from, until)) => {
                let (first, last) = (first.max(from), last.min(until));
                (first <= last).then_some(Span::Microversions(first, last))
            }
            (Span::Native, Span::Native) => Some(Span::Native),
            _ => None,
        }
    }

    /// The smallest span around both. Both spans are of one family, as the rows of an operation are.
    pub fn join(self, other: Span) -> Span {
        match (self, other) {
            (Span::Microversions(first, last), Span::Microversions(from, until)) => {
                Span::Microversions(first.min(from), last.max(until))
            }
            _ => self,
        }
    }

    /// Whether the span contains `version` or a later version.
    pub fn reaches(self, version: Version) -> bool {
        matches!(self, Span::Microversions(_, last) if last >= version)
    }

    /// Whether the span begins at `version` or later.
    pub fn is_since(self, version: Version) -> bool {
        matches!(self, Span::Microversions(first, _) if first >= version)
    }

    /// The key of a step's schema in this part of the step: the key of the step, or the first version of a later part.
    pub fn key(self, step_key: &str, step: Span) -> String {
        match (self, step) {
            (Span::Microversions(first, _), Span::Microversions(begin, _)) if first > begin => first.to_string(),
            _ => step_key.to_owned(),
        }
    }

    /// The value of `x-openstack`: without `max-ver` if the span reaches the newest microversion; `null` for the native
    /// API.
    pub fn json(self) -> Value {
        let Span::Microversions(first, last) = self else {
            return Value::Null;
        };
        let mut json = json!({"min-ver": first.to_string()});
        if last < Version::MAX {
            json["max-ver"] = last.to_string().into();
        }
        json
    }
}

/// The steps with versions in `span`: the key of the step, the common versions, and the schema. The step of the native
/// API has no version for a key.
pub fn steps(steps: &Value, span: Span) -> Vec<(String, Span, Value)> {
    let steps: Vec<(&String, &Value)> = steps.as_object().into_iter().flatten().collect();
    let version = |at: usize| steps.get(at).and_then(|(key, _)| key.parse::<Version>().ok());
    let found = steps.iter().enumerate().filter_map(|(at, (key, schema))| {
        let step = match version(at) {
            Some(first) => Span::Microversions(first, version(at + 1).map_or(Version::MAX, Version::before)),
            None => Span::Native,
        };
        Some(((*key).clone(), step.intersection(span)?, (*schema).clone()))
    });
    found.collect()
}

/// Merges equal neighbouring steps.
pub fn merged<T: PartialEq>(steps: impl IntoIterator<Item = (Span, T)>) -> Vec<(Span, T)> {
    let mut merged: Vec<(Span, T)> = Vec::new();
    for (span, value) in steps {
        match merged.last_mut() {
            Some((before, same)) if *same == value => *before = before.join(span),
            _ => merged.push((span, value)),
        }
    }
    merged
}

/// A schema for several steps: the only step, or `anyOf` all steps, each with its versions.
pub fn one_of_steps(mut steps: Vec<(Span, Value)>) -> Value {
    if steps.len() == 1 {
        return steps.remove(0).1;
    }
    let steps = steps.into_iter().map(|(span, mut schema)| {
        schema["x-openstack"] = span.json();
        schema
    });
    json!({"anyOf": steps.collect::<Vec<_>>(), "x-openstack": {"discriminator": "microversion"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn span(first: u16, last: u16) -> Span {
        Span::Microversions(Version::new(first), Version::new(last))
    }

    #[test]
    fn spans_intersect_and_neighbours_merge() {
        assert_eq!(span(1, 5).intersection(span(3, 9)), Some(span(3, 5)));
        assert_eq!(span(1, 5).intersection(span(6, 9)), None);
        assert_eq!(Span::ALL.intersection(Span::Native), None);
        let steps = [(span(0, 3), 'a'), (span(4, 6), 'a'), (span(7, 39), 'b')];
        assert_eq!(merged(steps), [(span(0, 6), 'a'), (span(7, 39), 'b')]);
    }

    #[test]
    fn several_steps_are_alternatives_with_their_versions() {
        let one = vec![(span(3, 9), json!({"type": "string"}))];
        assert_eq!(one_of_steps(one), json!({"type": "string"}));
        let two = vec![(span(0, 9), json!({})), (span(10, 39), json!({}))];
        let expected =
            json!([{"x-openstack": {"min-ver": "1.0", "max-ver": "1.9"}}, {"x-openstack": {"min-ver": "1.10"}}]);
        assert_eq!(one_of_steps(two)["anyOf"], expected);
    }
}
