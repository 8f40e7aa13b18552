//! The declarations of operators about names: normal limits of classes, properties of types, and aggregates as domains.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::descriptions::{Properties, is_in_domain};
use super::limits::NormalLimit;

/// The declarations of a catalog.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declarations {
    /// By the name of the class. A name without a class has no effect.
    pub limits: BTreeMap<Arc<str>, NormalLimit>,
    /// By type: the properties of all providers of the type. A provider may set or hide the property.
    pub types: BTreeMap<Arc<str>, Properties>,
    /// By dimension and path: the uuid of the aggregate whose members are in the domain.
    pub domains: Arc<BTreeMap<DomainKey, Arc<str>>>,
}

/// The dimension and the path of a domain.
pub type DomainKey = (Arc<str>, Arc<str>);

/// The path of a provider whose aggregates are several domains of a dimension: the first by text of the innermost
/// paths. So a rack counts before the zone around the rack.
pub fn counted_path(mut paths: Vec<&Arc<str>>) -> Option<&Arc<str>> {
    // In this order a path inside a path follows at once.
    paths.sort_unstable_by(|one, other| by_levels(one).cmp(by_levels(other)));
    paths.dedup();
    let innermost = paths.iter().enumerate().filter(|(at, path)| {
        let next = paths.get(at + 1);
        !next.is_some_and(|next| is_in_domain(next, path))
    });
    innermost.map(|(_, path)| *path).min()
}

/// A path as bytes whose order puts the paths in a domain next to each other. By its own bytes, `/a-b` would be between
/// `/a` and `/a/b`. No path has a NUL.
pub fn by_levels(path: &str) -> impl Iterator<Item = u8> {
    path.bytes().map(|byte| if byte == b'/' { 0 } else { byte })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_paths_the_deepest_counts_and_of_those_the_first() {
        for (paths, counted) in [
            (&["az1"][..], Some("az1")),
            (&["az1", "az1/r1"], Some("az1/r1")),
            (&["az2/r1", "az1/r1", "az1", "az2"], Some("az1/r1")),
            (&["az2", "az10"], Some("az10")),
            (&["az1", "az1", "az10"], Some("az1")),
            (&["az1", "az1-b", "az1/r1"], Some("az1-b")),
            (&[], None),
        ] {
            let paths: Vec<Arc<str>> = paths.iter().map(|path| Arc::from(*path)).collect();
            for all in [paths.iter().collect(), paths.iter().rev().collect::<Vec<_>>()] {
                assert_eq!(counted_path(all).map(|path| &**path), counted, "{paths:?}");
            }
        }
    }
}
