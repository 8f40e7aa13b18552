//! From which version to which something holds.

use serde_json::{Value, json};

use crate::version::Version;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub first: Version,
    pub last: Version,
}

impl Span {
    pub const ALL: Span = Span {
        first: Version::MIN,
        last: Version::MAX,
    };

    pub const fn at(version: Version) -> Span {
        Span {
            first: version,
            last: version,
        }
    }

    pub const fn since(first: Version) -> Span {
        Span {
            first,
            last: Version::MAX,
        }
    }

    /// What both have; `None` where they do not meet.
    pub fn meet(self, other: Span) -> Option<Span> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (first <= last).then_some(Span { first, last })
    }

    /// Both, and what is between them.
    pub fn join(self, other: Span) -> Span {
        Span {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    /// As `x-openstack` has it; what still holds has no `max-ver`.
    pub fn json(self) -> Value {
        let mut json = json!({"min-ver": self.first.to_string()});
        if self.last < Version::MAX {
            json["max-ver"] = self.last.to_string().into();
        }
        json
    }
}

/// Puts neighbours together that hold the same.
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

/// One schema of several steps: the only one, or any of them, each with its versions.
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
        Span {
            first: Version::new(first),
            last: Version::new(last),
        }
    }

    #[test]
    fn spans_meet_and_neighbours_merge() {
        assert_eq!(span(1, 5).meet(span(3, 9)), Some(span(3, 5)));
        assert_eq!(span(1, 5).meet(span(6, 9)), None);
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
